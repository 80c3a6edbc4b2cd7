// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/miekg/dns"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
)

const (
	patience = 90 * time.Second
	interval = 100 * time.Millisecond
)

func designateKeys() map[string]string {
	keys := maps.Clone(access.SiteCredentials())
	keys["authURL"], keys["region"] = access.AuthURL, access.Region
	return keys
}

func updateKeys(key nameserver.Key) map[string]string {
	return map[string]string{"server": front.Address, "tsigKeyName": key.Name, "tsigSecret": key.Secret, "tsigAlgorithm": key.Algorithm}
}

func makeSecret(ctx context.Context, namespace, name string, keys map[string]string) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: keys}
	Expect(seed.Client.Create(ctx, secret)).To(Succeed())
}

// makeCluster makes the shoot of example/, whose site cloud is OpenStack behind the proxy.
func makeCluster(ctx context.Context) {
	shootNamespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(shootNamespace), shootNamespace)).To(Succeed())
	shootNamespace.Labels = map[string]string{v1beta1constants.GardenRole: v1beta1constants.GardenRoleShoot}
	Expect(seed.Client.Update(ctx, shootNamespace)).To(Succeed())

	content, err := os.ReadFile(filepath.Join(landscape.Root(), "example", "30-cluster.yaml"))
	Expect(err).NotTo(HaveOccurred())
	cluster := &extensionsv1alpha1.Cluster{}
	Expect(yaml.Unmarshal(content, cluster)).To(Succeed())
	profile := &gardencorev1beta1.CloudProfile{}
	Expect(yaml.Unmarshal(cluster.Spec.CloudProfile.Raw, profile)).To(Succeed())
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
	Expect(err).NotTo(HaveOccurred())
	config.Sites[0].OpenStack.AuthURL, config.Sites[0].OpenStack.Region = access.AuthURL, access.Region
	profile.Spec.ProviderConfig, err = codec.Encode(config)
	Expect(err).NotTo(HaveOccurred())
	profile.APIVersion, profile.Kind = gardencorev1beta1.SchemeGroupVersion.String(), "CloudProfile"
	cluster.Spec.CloudProfile = runtime.RawExtension{Object: profile}
	Expect(seed.Client.Create(ctx, cluster)).To(Succeed())
}

// record describes a DNSRecord in the zone of the backend. The name is that of the domain before the zone.
func (b *backend) record(object, name string, kind extensionsv1alpha1.DNSRecordType, values ...string) *extensionsv1alpha1.DNSRecord {
	return &extensionsv1alpha1.DNSRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: b.secret + "-" + object,
			Annotations: operation(v1beta1constants.GardenerOperationReconcile)},
		Spec: extensionsv1alpha1.DNSRecordSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: b.kind},
			SecretRef:   corev1.SecretReference{Namespace: namespace, Name: b.secret},
			Name:        name + "." + b.zone,
			RecordType:  kind,
			Values:      values,
		},
	}
}

func operation(value string) map[string]string {
	return map[string]string{v1beta1constants.GardenerOperation: value}
}

// create creates the DNSRecord, and deletes it after the spec.
func create(ctx context.Context, record *extensionsv1alpha1.DNSRecord) {
	GinkgoHelper()
	Expect(seed.Client.Create(ctx, record)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { remove(ctx, record) }, NodeTimeout(patience))
}

func get(ctx context.Context, record *extensionsv1alpha1.DNSRecord) {
	GinkgoHelper()
	Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(record), record)).To(Succeed())
}

// succeed waits until the last operation succeeded on the current generation.
func succeed(ctx context.Context, records ...*extensionsv1alpha1.DNSRecord) {
	GinkgoHelper()
	for _, record := range records {
		Eventually(ctx, func(g Gomega) {
			g.Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(record), record)).To(Succeed())
			g.Expect(record.Status.LastError).To(BeNil())
			g.Expect(record.Annotations).NotTo(HaveKey(v1beta1constants.GardenerOperation))
			g.Expect(record.Status.ObservedGeneration).To(Equal(record.Generation))
			g.Expect(record.Status.LastOperation.State).To(Equal(gardencorev1beta1.LastOperationStateSucceeded))
		}).WithTimeout(patience).WithPolling(interval).Should(Succeed(), record.Name)
	}
}

// fail waits until the last operation failed with the codes, and returns the message.
func fail(ctx context.Context, record *extensionsv1alpha1.DNSRecord, codes ...gardencorev1beta1.ErrorCode) string {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(record), record)).To(Succeed())
		g.Expect(record.Status.LastError).NotTo(BeNil())
		g.Expect(record.Status.LastError.Codes).To(ConsistOf(codes))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	return record.Status.LastError.Description
}

// change changes the DNSRecord and has it reconciled.
func change(ctx context.Context, record *extensionsv1alpha1.DNSRecord, do func(*extensionsv1alpha1.DNSRecord)) {
	GinkgoHelper()
	order(ctx, record, v1beta1constants.GardenerOperationReconcile, do)
	succeed(ctx, record)
}

// order asks for an operation and waits until it was begun.
func order(ctx context.Context, record *extensionsv1alpha1.DNSRecord, what string, do func(*extensionsv1alpha1.DNSRecord)) {
	GinkgoHelper()
	get(ctx, record)
	before := time.Now().Add(-time.Hour).Truncate(time.Second)
	if record.Status.LastOperation != nil { // in seconds: two operations would have the same time
		status := client.MergeFrom(record.DeepCopy())
		record.Status.LastOperation.LastUpdateTime = metav1.NewTime(before)
		Expect(seed.Client.Status().Patch(ctx, record, status)).To(Succeed())
	}
	patch := client.MergeFrom(record.DeepCopy())
	record.Annotations = operation(what)
	if do != nil {
		do(record)
	}
	Expect(seed.Client.Patch(ctx, record, patch)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		err := seed.Client.Get(ctx, client.ObjectKeyFromObject(record), record)
		if apierrors.IsNotFound(err) {
			return
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(record.Status.LastOperation).NotTo(BeNil())
		g.Expect(record.Status.LastOperation.LastUpdateTime.Time).To(BeTemporally(">", before))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// remove deletes the DNSRecords and waits until they are gone.
func remove(ctx context.Context, records ...*extensionsv1alpha1.DNSRecord) {
	GinkgoHelper()
	for _, record := range records {
		Expect(client.IgnoreNotFound(seed.Client.Delete(ctx, record))).To(Succeed())
	}
	for _, record := range records {
		Eventually(ctx, func() error {
			return seed.Client.Get(ctx, client.ObjectKeyFromObject(record), record)
		}).WithTimeout(patience).WithPolling(interval).Should(MatchError(apierrors.IsNotFound, "not found"), record.Name)
	}
}

// answers asks the server of the backend for a name before its zone.
func (b *backend) answers(ctx context.Context, name string, kind uint16) nameserver.Answer {
	GinkgoHelper()
	answer, err := nameserver.Ask(ctx, b.server, name+"."+b.zone, kind)
	Expect(err).NotTo(HaveOccurred())
	return answer
}

// expectGone expects that a name has no addresses any more. Designate deletes a record set from its database at once, and tells its name
// servers then.
func (b *backend) expectGone(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(func() []string { return b.answers(ctx, name, dns.TypeA).Values }).WithContext(ctx).Within(time.Minute).Should(BeEmpty())
}

// operations are the messages that the BIND that takes updates got about a name.
func operations(messages []nameserver.Message) []string {
	var result []string
	for _, m := range messages {
		result = append(result, m.Operation)
	}
	slices.Sort(result)
	return result
}

// forceDeletion says whether the shoot is deleted by force.
func forceDeletion(ctx context.Context, wanted bool) {
	GinkgoHelper()
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	shoot := &gardencorev1beta1.Shoot{}
	Expect(yaml.Unmarshal(cluster.Spec.Shoot.Raw, shoot)).To(Succeed())
	shoot.Annotations, shoot.DeletionTimestamp = nil, nil
	if wanted {
		shoot.Annotations = map[string]string{v1beta1constants.AnnotationConfirmationForceDeletion: "true"}
		shoot.DeletionTimestamp = new(metav1.Now())
	}
	shoot.APIVersion, shoot.Kind = gardencorev1beta1.SchemeGroupVersion.String(), "Shoot"
	cluster.Spec.Shoot = runtime.RawExtension{Object: shoot}
	Expect(seed.Client.Update(ctx, cluster)).To(Succeed())
}
