// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

var (
	inSeed = running{
		mode:    mode{chart: provider, namespace: "extension-running", gardener: seed},
		account: provider, class: extensionsv1alpha1.ExtensionClassSeed,
	}
	inGarden = running{
		mode:    mode{chart: provider, namespace: "runtime-extension-running", gardener: garden},
		account: provider + "-runtime", class: extensionsv1alpha1.ExtensionClassGarden,
	}
)

// running is the extension as a process, with the arguments, environment and permissions of its pod.
type running struct {
	mode    mode
	account string
	class   extensionsv1alpha1.ExtensionClass

	objects []*unstructured.Unstructured
	health  int
}

// account is the name of who the extension is for the apiserver.
func account(r running) string {
	return "system:serviceaccount:" + r.mode.namespace + ":" + r.account
}

// start creates what the extension needs and starts it.
func (r *running) start(ctx context.Context, binary string) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	ports, err := landscape.FreePorts(3)
	Expect(err).NotTo(HaveOccurred())
	m := r.mode
	m.values = map[string]any{
		"usablePorts": []any{ports[0], ports[1], ports[2]},
		"controllers": map[string]any{"heartbeat": map[string]any{"renewIntervalSeconds": 1}},
	}
	r.health, r.objects = ports[1], objectsOf(m)
	namespace(ctx, m.namespace)
	for _, o := range r.objects {
		if o.GetKind() == "ServiceAccount" || o.GroupVersionKind().Group == "rbac.authorization.k8s.io" {
			created := o.DeepCopy()
			Expect(apiServer.Create(ctx, created)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(apiServer.Delete(ctx, created)).To(Succeed()) })
		}
	}
	// The webhooks' certificates replace an old one.
	Expect(apiServer.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "old-certificate",
		Labels: map[string]string{
			secretsmanager.LabelKeyManagedBy:       secretsmanager.LabelValueSecretsManager,
			secretsmanager.LabelKeyManagerIdentity: r.account + "-webhook", secretsmanager.LabelKeyName: "old-certificate",
		}}})).To(Succeed())
	kubeconfig := filepath.Join(dir, "kubeconfig")
	Expect(rendering.WriteKubeconfig(ctx, cluster.Config, m.namespace, r.account, kubeconfig)).To(Succeed())

	container := deploymentOf(r.objects).Spec.Template.Spec.Containers[0]
	process := &landscape.Process{
		Name: r.account, Path: binary, LogFile: filepath.Join(dir, "log"),
		Args: append(container.Args, "--kubeconfig="+kubeconfig, "--webhook-config-cert-dir="+filepath.Join(dir, "certificates")),
	}
	for _, variable := range container.Env {
		value := m.namespace
		if from := variable.ValueFrom.ResourceFieldRef; from != nil {
			Expect(from.Resource).To(Equal("limits.memory"))
			value = strconv.FormatInt(container.Resources.Limits.Memory().Value(), 10)
		} else {
			Expect(variable.ValueFrom.FieldRef.FieldPath).To(Equal("metadata.namespace"))
		}
		process.Env = append(process.Env, variable.Name+"="+value)
	}
	Expect(process.Start()).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		AddReportEntry(r.account, process.Tail(60), ReportEntryVisibilityFailureOrVerbose)
		Expect(process.Check()).To(Succeed())
		process.Stop(ctx)
	})
}

// ready returns an error if the readiness probe of the pod fails.
func (r *running) ready() error {
	container := deploymentOf(r.objects).Spec.Template.Spec.Containers[0]
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", r.health, container.ReadinessProbe.HTTPGet.Path)) //nolint:noctx // a probe
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("readiness probe: %s", response.Status)
	}
	return nil
}

// record creates a DNSRecord on a server that does not answer.
func (r *running) record(ctx context.Context) *extensionsv1alpha1.DNSRecord {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Name: "record-" + string(r.class), Namespace: v1beta1constants.GardenNamespace}
	Expect(apiServer.Create(ctx, &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{
		"server": "127.0.0.1:1", "tsigKeyName": "gardener", "tsigSecret": "bm90LWEtc2VjcmV0LW5vdC1hLXNlY3JldC0wMTIzNDU=",
		"tsigAlgorithm": "hmac-sha256",
	}})).To(Succeed())
	record := &extensionsv1alpha1.DNSRecord{ObjectMeta: meta, Spec: extensionsv1alpha1.DNSRecordSpec{
		DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.DNSTypeRFC2136, Class: &r.class},
		SecretRef:   corev1.SecretReference{Name: meta.Name, Namespace: meta.Namespace},
		Name:        "api.example.test", RecordType: extensionsv1alpha1.DNSRecordTypeA, Values: []string{"192.0.2.10"},
	}}
	record.Annotations = map[string]string{v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationReconcile}
	Expect(apiServer.Create(ctx, record)).To(Succeed())
	return record
}

// waiting creates a Bastion and a SelfHostedShootExposure of a shoot that has no Infrastructure yet.
func (r *running) waiting(ctx context.Context) {
	GinkgoHelper()
	const namespace = "shoot--charts--waiting"
	Expect(apiServer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	empty := runtime.RawExtension{Raw: []byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"CloudProfile"}`)}
	Expect(apiServer.Create(ctx, &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: extensionsv1alpha1.ClusterSpec{CloudProfile: empty,
			Seed:  &runtime.RawExtension{Raw: []byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Seed"}`)},
			Shoot: runtime.RawExtension{Raw: []byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot"}`)}}})).To(Succeed())
	meta := metav1.ObjectMeta{Name: "cli", Namespace: namespace,
		Annotations: map[string]string{v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationReconcile}}
	ofType := extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType}
	for _, object := range []extensionsv1alpha1.Object{
		&extensionsv1alpha1.Bastion{ObjectMeta: meta, Spec: extensionsv1alpha1.BastionSpec{
			DefaultSpec: ofType,
			UserData:    []byte("#!/bin/bash\n"),
			Ingress:     []extensionsv1alpha1.BastionIngressPolicy{{IPBlock: networkingv1.IPBlock{CIDR: "203.0.113.0/24"}}},
		}},
		&extensionsv1alpha1.SelfHostedShootExposure{ObjectMeta: meta, Spec: extensionsv1alpha1.SelfHostedShootExposureSpec{
			DefaultSpec: ofType,
			Port:        443,
			Endpoints: []extensionsv1alpha1.ControlPlaneEndpoint{{NodeName: "n1",
				Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.250.0.10"}}}},
		}},
	} {
		Expect(apiServer.Create(ctx, object)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
			g.Expect(object.GetExtensionStatus().GetLastError()).To(
				HaveValue(HaveField("Description", ContainSubstring("has no Infrastructure"))))
		}).WithTimeout(time.Minute).Should(Succeed())
		Expect(apiServer.Delete(ctx, object)).To(Succeed())
		Eventually(func() error {
			return apiServer.Get(ctx, client.ObjectKeyFromObject(object), object)
		}).WithTimeout(time.Minute).Should(MatchError(ContainSubstring("not found")))
	}
}

// movedBackups deletes the source of a BackupEntry in the same bucket, as after the move of a control plane.
func (r *running) movedBackups(ctx context.Context) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "moved-backup", Namespace: v1beta1constants.GardenNamespace},
		StringData: map[string]string{"accessKeyID": "a", "secretAccessKey": "b"}}
	Expect(apiServer.Create(ctx, secret)).To(Succeed())
	entry := func(name string) *extensionsv1alpha1.BackupEntry {
		return &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: extensionsv1alpha1.BackupEntrySpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType}, Region: "racks", BucketName: "moved",
			SecretRef: corev1.SecretReference{Name: secret.Name, Namespace: secret.Namespace},
		}}
	}
	const name = "shoot--charts--moved--1"
	source := entry(v1beta1constants.BackupSourcePrefix + "-" + name)
	Expect(apiServer.Create(ctx, entry(name))).To(Succeed())
	Expect(apiServer.Create(ctx, source)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(source), source)).To(Succeed())
		g.Expect(source.Finalizers).NotTo(BeEmpty())
	}).WithTimeout(time.Minute).Should(Succeed())
	Expect(apiServer.Delete(ctx, source)).To(Succeed())
	Eventually(func() error {
		return apiServer.Get(ctx, client.ObjectKeyFromObject(source), source)
	}).WithTimeout(time.Minute).Should(MatchError(ContainSubstring("not found")))
}

// backups creates a BackupBucket and a BackupEntry of the garden in a store that does not answer, gives them other credentials, and deletes
// them.
func (r *running) backups(ctx context.Context) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "backup", Namespace: v1beta1constants.GardenNamespace},
		StringData: map[string]string{"accessKeyID": "a", "secretAccessKey": "first"}}
	Expect(apiServer.Create(ctx, secret)).To(Succeed())
	ref := corev1.SecretReference{Name: secret.Name, Namespace: secret.Namespace}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationReconcile}}
	}
	config := v1alpha1.BackupBucketConfig{Store: v1alpha1.BackupStoreS3, S3: &v1alpha1.S3BackupStore{Endpoint: "https://127.0.0.1:1",
		Region: "racks"}}
	rawConfig, err := codec.Encode(&config)
	Expect(err).NotTo(HaveOccurred())
	rawStatus, err := codec.Encode(&v1alpha1.BackupBucketStatus{Config: config})
	Expect(err).NotTo(HaveOccurred())

	bucket := &extensionsv1alpha1.BackupBucket{ObjectMeta: meta("bucket-" + string(r.class)), Spec: extensionsv1alpha1.BackupBucketSpec{
		DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType, Class: &r.class, ProviderConfig: rawConfig},
		Region:      "racks", SecretRef: ref,
	}}
	entry := &extensionsv1alpha1.BackupEntry{ObjectMeta: meta("garden--" + string(r.class)), Spec: extensionsv1alpha1.BackupEntrySpec{
		DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType, Class: &r.class}, Region: "racks", SecretRef: ref,
		BucketName: bucket.Name, BackupBucketProviderStatus: rawStatus,
	}}
	Expect(apiServer.Create(ctx, bucket)).To(Succeed())
	Expect(apiServer.Create(ctx, entry)).To(Succeed())
	written := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: v1beta1constants.BackupSecretName, Namespace: secret.Namespace}}
	has := func(value string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(written), written)).To(Succeed())
			g.Expect(written.Data).To(HaveKeyWithValue("secretAccessKey", []byte(value)))
		}).WithTimeout(time.Minute).Should(Succeed())
	}
	has("first")
	Eventually(func(g Gomega) {
		g.Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(bucket), bucket)).To(Succeed())
		g.Expect(bucket.Status.LastError).NotTo(BeNil())
	}).WithTimeout(time.Minute).Should(Succeed())

	patch := client.MergeFrom(secret.DeepCopy())
	secret.StringData = map[string]string{"secretAccessKey": "second"}
	Expect(apiServer.Patch(ctx, secret, patch)).To(Succeed())
	Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(entry), entry)).To(Succeed())
	entryPatch := client.MergeFrom(entry.DeepCopy())
	entry.Annotations = meta("").Annotations
	Expect(apiServer.Patch(ctx, entry, entryPatch)).To(Succeed())
	has("second")

	Expect(apiServer.Delete(ctx, entry)).To(Succeed())
	Eventually(func() error {
		return apiServer.Get(ctx, client.ObjectKeyFromObject(written), written)
	}).WithTimeout(time.Minute).Should(MatchError(ContainSubstring("not found")))
}

// unused are the permissions of the chart that it had no use for.
func (r *running) unused(ctx context.Context) []rbacaudit.Permission {
	GinkgoHelper()
	permissions, err := rbacaudit.Permissions(r.objects)
	Expect(err).NotTo(HaveOccurred())
	requests, err := rbacaudit.ReadFile(auditLog, account(*r))
	Expect(err).NotTo(HaveOccurred())
	Expect(rbacaudit.Refused(ctx, apiServer, account(*r), requests)).To(BeEmpty())
	return rbacaudit.Unused(permissions, requests)
}

var _ = Describe("The extension that runs as its chart says", Ordered, func() {
	var binary string

	BeforeAll(func(ctx SpecContext) {
		binary = filepath.Join(GinkgoT().TempDir(), provider)
		build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/"+provider) // #nosec G204 -- constant arguments
		build.Dir = landscape.Root()
		build.Stdout, build.Stderr = GinkgoWriter, GinkgoWriter
		Expect(build.Run()).To(Succeed())
	})

	for name, r := range maps.All(map[string]*running{"a seed": &inSeed, "a garden": &inGarden}) {
		It("should be ready, lead, send a heartbeat and reconcile in "+name+", and try nothing that it may not", func(ctx SpecContext) {
			r.start(ctx, binary)
			Eventually(r.ready).WithTimeout(time.Minute).Should(Succeed())
			record := r.record(ctx)
			Eventually(func(g Gomega) {
				g.Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(record), record)).To(Succeed())
				g.Expect(record.Status.LastError).NotTo(BeNil())
			}).WithTimeout(time.Minute).Should(Succeed())

			unused := func() []string {
				var texts []string
				for _, p := range r.unused(ctx) {
					if p.Resource != "events" { // there is not always something to tell
						texts = append(texts, p.String())
					}
				}
				return texts
			}
			if r == &inGarden {
				r.backups(ctx)
				Eventually(unused).WithTimeout(time.Minute).Should(BeEmpty())
				return
			}
			r.waiting(ctx)
			r.movedBackups(ctx)
			Eventually(func() []rbacaudit.Permission { return rbacaudit.Charts.Missing(r.unused(ctx)) }).WithTimeout(time.Minute).Should(BeEmpty())
			Eventually(unused).WithTimeout(time.Minute).
				ShouldNot(ContainElement(MatchRegexp(` (leases|dnsrecords|mutatingwebhookconfigurations|namespaces)[./]`)))
		})
	}
})
