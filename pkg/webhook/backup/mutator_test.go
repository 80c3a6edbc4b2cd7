// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/backup"
)

// fakeManager is a manager with a client.
type fakeManager struct {
	manager.Manager

	client client.Client
}

func (m fakeManager) GetClient() client.Client    { return m.client }
func (m fakeManager) GetAPIReader() client.Reader { return m.client }
func (m fakeManager) GetScheme() *runtime.Scheme  { return kubernetes.SeedScheme }
func (m fakeManager) GetLogger() logr.Logger      { return logr.Discard() }

var _ = Describe("Backup", func() {
	const namespace = "shoot--a--b"

	secret := func(name, store string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"store": []byte(store)}}
	}
	reader := fakeclient.NewClientBuilder().WithScheme(kubernetes.SeedScheme).WithObjects(secret("etcd-backup", "S3"),
		secret("source-etcd-backup", "Swift"), secret("other", "GCS")).Build()
	store := func(provider, secret string) druidcorev1alpha1.StoreSpec {
		return druidcorev1alpha1.StoreSpec{
			Provider: new(druidcorev1alpha1.StorageProvider(provider)), SecretRef: &corev1.SecretReference{Name: secret}, Prefix: "p/etcd-main",
			Container: new("bucket"),
		}
	}
	etcd := func(store *druidcorev1alpha1.StoreSpec) *druidcorev1alpha1.Etcd {
		return &druidcorev1alpha1.Etcd{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "etcd-main"},
			Spec: druidcorev1alpha1.EtcdSpec{Backup: druidcorev1alpha1.BackupSpec{Store: store, DeltaSnapshotPeriod: &metav1.Duration{Duration: 1}}}}
	}
	mutated := func(object client.Object) error { return NewMutator(reader).Mutate(GinkgoT().Context(), object, nil) }

	DescribeTable("should name the store of an Etcd and change nothing else",
		func(provider, secret, expected string) {
			given, wanted := store(provider, secret), store(expected, secret)
			object := etcd(&given)
			Expect(mutated(object)).To(Succeed())
			Expect(object).To(Equal(etcd(&wanted)))
		},
		Entry("S3", "hybrid", "etcd-backup", "S3"),
		Entry("Swift", "hybrid", "source-etcd-backup", "Swift"),
		Entry("one that is named already", "S3", "missing", "S3"),
		Entry("one of another provider", "gcp", "missing", "gcp"),
	)

	It("should leave an Etcd without backups, and one that is deleted", func() {
		object := etcd(nil)
		Expect(mutated(object)).To(Succeed())
		Expect(object).To(Equal(etcd(nil)))

		given := store("hybrid", "missing")
		object = etcd(&given)
		object.DeletionTimestamp = new(metav1.Now())
		Expect(mutated(object)).To(Succeed())
		Expect(*object.Spec.Backup.Store.Provider).To(BeEquivalentTo("hybrid"))
	})

	DescribeTable("should name both stores of a copy",
		func(source, target, expectedSource, expectedTarget string) {
			task := &druidcorev1alpha1.EtcdCopyBackupsTask{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "copy"},
				Spec: druidcorev1alpha1.EtcdCopyBackupsTaskSpec{SourceStore: store(source, "source-etcd-backup"),
					TargetStore: store(target, "etcd-backup")}}
			Expect(mutated(task)).To(Succeed())
			Expect(*task.Spec.SourceStore.Provider).To(BeEquivalentTo(expectedSource))
			Expect(*task.Spec.TargetStore.Provider).To(BeEquivalentTo(expectedTarget))
		},
		Entry("between two stores", "hybrid", "hybrid", "Swift", "S3"),
		Entry("from another provider", "openstack", "hybrid", "openstack", "S3"),
		Entry("to another provider", "hybrid", "aws", "Swift", "aws"),
	)

	DescribeTable("should say what is missing",
		func(change func(*druidcorev1alpha1.StoreSpec), expected string) {
			given := store("hybrid", "etcd-backup")
			change(&given)
			Expect(mutated(etcd(&given))).To(MatchError(ContainSubstring(expected)))
		},
		Entry("the Secret", func(s *druidcorev1alpha1.StoreSpec) { s.SecretRef.Name = "missing" }, "could not read the Secret"),
		Entry("the reference", func(s *druidcorev1alpha1.StoreSpec) { s.SecretRef = nil }, "has no Secret"),
		Entry("a store", func(s *druidcorev1alpha1.StoreSpec) { s.SecretRef.Name = "other" }, "reconcile the BackupEntry"),
	)

	It("should refuse other kinds", func() {
		Expect(mutated(&corev1.Pod{})).To(MatchError(ContainSubstring("expected an Etcd")))
	})

	DescribeTable("should be called where it is needed",
		func(create func(manager.Manager) (*extensionswebhook.Webhook, error), policy admissionregistrationv1.FailurePolicyType, kinds int,
			selected ...labels.Set) {
			webhook, err := create(fakeManager{client: reader})
			Expect(err).NotTo(HaveOccurred())
			Expect(webhook.Target).To(Equal(extensionswebhook.TargetSeed))
			Expect(webhook.FailurePolicy).To(HaveValue(Equal(policy)))
			Expect(webhook.Types).To(HaveLen(kinds))
			selector, err := metav1.LabelSelectorAsSelector(webhook.NamespaceSelector)
			Expect(err).NotTo(HaveOccurred())
			var found []labels.Set
			for _, set := range []labels.Set{
				{"backup.gardener.cloud/provider": "hybrid", "kubernetes.io/metadata.name": namespace},
				{"backup.gardener.cloud/provider": "aws", "kubernetes.io/metadata.name": namespace},
				{"kubernetes.io/metadata.name": "garden"},
				{"kubernetes.io/metadata.name": "kube-system"},
				{"kubernetes.io/metadata.name": "default"},
			} {
				if selector.Matches(set) {
					found = append(found, set)
				}
			}
			Expect(found).To(Equal(selected))
		},
		Entry("shoots", New, admissionregistrationv1.Fail, 2,
			labels.Set{"backup.gardener.cloud/provider": "hybrid", "kubernetes.io/metadata.name": namespace}),
		Entry("shoots that come", NewForCopies, admissionregistrationv1.Ignore, 1,
			labels.Set{"backup.gardener.cloud/provider": "aws", "kubernetes.io/metadata.name": namespace}),
		Entry("gardens", NewForGardens, admissionregistrationv1.Ignore, 2,
			labels.Set{"kubernetes.io/metadata.name": "garden"}, labels.Set{"kubernetes.io/metadata.name": "kube-system"}),
	)
})
