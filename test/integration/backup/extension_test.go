// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubernetesclient "github.com/gardener/gardener/pkg/client/kubernetes"
	"github.com/minio/minio-go/v7"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/objectstore"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

// seed runs the extension, on whose objects it works.
var seed *landscape.Landscape

var _ = specs.ShowTails(func() []*landscape.Process { return seed.Processes() })

var _ = Describe("The extension", Ordered, func() {
	const (
		// ours is a shoot on a seed with backups of type hybrid, and theirs one on a seed with others.
		ours, theirs = "shoot--local--ours", "shoot--local--theirs"
		entryName    = ours + "--4711"
		bucketName   = "b5f3c1d2-seed"
		registration = "gardener-extension-provider-hybrid"
		soon         = 30 * time.Second
	)
	var (
		peer    *versity
		c       client.Client
		metrics string
	)

	BeforeAll(func(ctx SpecContext) {
		peer = newVersity(ctx)
		own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/gardener-extension-provider-hybrid")
		Expect(err).NotTo(HaveOccurred())
		ports, err := landscape.FreePorts(1)
		Expect(err).NotTo(HaveOccurred())
		metrics = "127.0.0.1:" + strconv.Itoa(ports[0])
		seed, err = landscape.New(landscape.Options{Dir: GinkgoT().TempDir(), Namespace: ours,
			Binaries: landscape.DefaultBinaries().WithOwn(own), ExtensionArgs: []string{
				"--controllers=backupbucket,backupentry,backupusage", "--disable-webhooks=controlplane,network,seedprovider",
				"--metrics-bind-address=" + metrics}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { seed.Stop() })
		Expect(seed.StartCluster(ctx)).To(Succeed())
		c, err = client.New(seed.Cluster.Config, client.Options{Scheme: kubernetesclient.SeedScheme})
		Expect(err).NotTo(HaveOccurred())

		label := func(name, provider string) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			Expect(client.IgnoreAlreadyExists(c.Create(ctx, namespace.DeepCopy()))).To(Succeed())
			Expect(c.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)).To(Succeed())
			metav1.SetMetaDataLabel(&namespace.ObjectMeta, v1beta1constants.LabelBackupProvider, provider)
			Expect(c.Update(ctx, namespace)).To(Succeed())
		}
		label(ours, v1alpha1.ProviderType)
		label(theirs, "aws")
		Expect(seed.Extension.Start()).To(Succeed())
		Eventually(func(g Gomega) {
			Expect(seed.Check()).To(Succeed())
			config := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: registration}}
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(config), config)).To(Succeed())
			g.Expect(config.Webhooks).To(And(HaveLen(3), HaveEach(HaveField("ClientConfig.CABundle", Not(BeEmpty())))))
		}).WithTimeout(time.Minute).WithPolling(200 * time.Millisecond).Should(Succeed())
	}, NodeTimeout(10*time.Minute))

	AfterEach(func() { Expect(seed.Check()).To(Succeed()) })

	// makeSecret creates what gardenlet copies from the garden.
	makeSecret := func(ctx context.Context, name string) corev1.SecretReference {
		GinkgoHelper()
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: v1beta1constants.GardenNamespace},
			Data: peer.access().Credentials}
		Expect(c.Create(ctx, secret)).To(Succeed())
		return corev1.SecretReference{Name: name, Namespace: secret.Namespace}
	}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationReconcile}}
	}
	makeBucket := func(ctx context.Context, name string, change func(*v1alpha1.BackupBucketConfig)) *extensionsv1alpha1.BackupBucket {
		GinkgoHelper()
		config := peer.access().Config
		change(config)
		raw, err := codec.Encode(config)
		Expect(err).NotTo(HaveOccurred())
		bucket := &extensionsv1alpha1.BackupBucket{ObjectMeta: meta(name), Spec: extensionsv1alpha1.BackupBucketSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType, ProviderConfig: raw}, Region: "racks",
			SecretRef: makeSecret(ctx, "bucket-"+name),
		}}
		Expect(c.Create(ctx, bucket)).To(Succeed())
		return bucket
	}
	makeEntry := func(ctx context.Context, name string, bucket *extensionsv1alpha1.BackupBucket) *extensionsv1alpha1.BackupEntry {
		GinkgoHelper()
		entry := &extensionsv1alpha1.BackupEntry{ObjectMeta: meta(name), Spec: extensionsv1alpha1.BackupEntrySpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType}, Region: "racks", BucketName: bucket.Name,
			SecretRef: makeSecret(ctx, "entry-"+name), BackupBucketProviderStatus: bucket.Status.ProviderStatus,
		}}
		Expect(c.Create(ctx, entry)).To(Succeed())
		return entry
	}
	// await waits until the object was reconciled.
	await := func(ctx context.Context, object extensionsv1alpha1.Object) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
			g.Expect(object.GetExtensionStatus().GetLastError()).To(BeNil())
			g.Expect(object.GetExtensionStatus().GetLastOperation()).To(HaveValue(HaveField("State", gardencorev1beta1.LastOperationStateSucceeded)))
			g.Expect(object.GetAnnotations()).NotTo(HaveKey(v1beta1constants.GardenerOperation))
		}).WithTimeout(soon).Should(Succeed())
	}
	awaitError := func(ctx context.Context, object extensionsv1alpha1.Object, message string) *gardencorev1beta1.LastError {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
			g.Expect(object.GetExtensionStatus().GetLastError()).To(HaveValue(HaveField("Description", ContainSubstring(message))))
		}).WithTimeout(soon).Should(Succeed())
		return object.GetExtensionStatus().GetLastError()
	}
	remove := func(ctx context.Context, object client.Object) {
		GinkgoHelper()
		Expect(c.Delete(ctx, object)).To(Succeed())
		Eventually(func() error { return c.Get(ctx, client.ObjectKeyFromObject(object), object) }).WithTimeout(soon).
			Should(MatchError(apierrors.IsNotFound, "not found"))
	}
	same := func(*v1alpha1.BackupBucketConfig) {}

	Describe("with a bucket and an entry", Ordered, func() {
		var (
			bucket *extensionsv1alpha1.BackupBucket
			entry  *extensionsv1alpha1.BackupEntry
			secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: v1beta1constants.BackupSecretName, Namespace: ours}}
		)

		It("should create the bucket, and say where it is", func(ctx SpecContext) {
			bucket = makeBucket(ctx, bucketName, same)
			await(ctx, bucket)
			Expect(peer.has(ctx, bucketName)).To(BeTrue())
			status, err := codec.Decode[v1alpha1.BackupBucketStatus](bucket.Status.ProviderStatus)
			Expect(err).NotTo(HaveOccurred())
			Expect(status.Config.S3).To(HaveValue(HaveField("Region", objectstore.Region)))
		})

		It("should write the Secret with which etcd-backup-restore gets into the bucket", func(ctx SpecContext) {
			entry = makeEntry(ctx, entryName, bucket)
			await(ctx, entry)
			Expect(c.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
			Expect(secret.Data).To(And(HaveKeyWithValue("store", []byte("S3")), HaveKeyWithValue("bucketName", []byte(bucketName)),
				HaveKeyWithValue("endpoint", []byte(peer.access().Config.S3.Endpoint)), HaveKey("trustedCaCert")))
		})

		It("should pass rotated credentials on", func(ctx SpecContext) {
			source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: entry.Spec.SecretRef.Name, Namespace: entry.Spec.SecretRef.Namespace}}
			rotate := func(value []byte) {
				GinkgoHelper()
				Expect(c.Get(ctx, client.ObjectKeyFromObject(source), source)).To(Succeed())
				source.Data["secretAccessKey"] = value
				Expect(c.Update(ctx, source)).To(Succeed())
				Expect(c.Get(ctx, client.ObjectKeyFromObject(entry), entry)).To(Succeed())
				patch := client.MergeFrom(entry.DeepCopy())
				entry.Annotations = meta("").Annotations
				Expect(c.Patch(ctx, entry, patch)).To(Succeed())
				Eventually(func(g Gomega) { // the annotation is removed before the reconciliation, and the status has the last success until then
					g.Expect(c.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
					g.Expect(secret.Data).To(HaveKeyWithValue("secretAccessKey", value))
				}).WithTimeout(soon).Should(Succeed())
				await(ctx, entry)
			}
			rotate([]byte("another"))
			rotate(peer.access().Credentials["secretAccessKey"])
		})

		It("should measure the backups", func(ctx SpecContext) {
			peer.put(ctx, bucketName, entryName+"/etcd-main/v2/Full-1", []byte("snapshot"))
			Expect(c.Get(ctx, client.ObjectKeyFromObject(entry), entry)).To(Succeed())
			patch := client.MergeFrom(entry.DeepCopy())
			entry.Spec.Region = "racks-2" // another generation is measured at once
			Expect(c.Patch(ctx, entry, patch)).To(Succeed())
			labels := fmt.Sprintf(`{backup_entry=%q,bucket=%q,state="stored"}`, entryName, bucketName)
			Eventually(func(g Gomega) {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metrics+"/metrics", nil)
				g.Expect(err).NotTo(HaveOccurred())
				response, err := http.DefaultClient.Do(request)
				g.Expect(err).NotTo(HaveOccurred())
				defer response.Body.Close()
				content, err := io.ReadAll(response.Body)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(content)).To(And(ContainSubstring("hybrid_backup_objects"+labels+" 1\n"),
					ContainSubstring("hybrid_backup_bytes"+labels+" 8\n"), ContainSubstring("hybrid_backup_last_change_timestamp_seconds{")))
			}).WithTimeout(soon).Should(Succeed())
		})

		It("should delete the entry's backups with their versions alone, although it is killed meanwhile", func(ctx SpecContext) {
			for i := range 30 {
				peer.put(ctx, bucketName, fmt.Sprintf("%s/etcd-main/v2/Incr-%d", entryName, i%20), []byte("delta"))
			}
			peer.put(ctx, bucketName, "other/Full-1", []byte("snapshot"))
			Expect(c.Delete(ctx, entry)).To(Succeed())
			seed.Extension.Kill()
			Expect(seed.Extension.Start()).To(Succeed())
			Eventually(func() error { return c.Get(ctx, client.ObjectKeyFromObject(entry), entry) }).WithTimeout(time.Minute).
				Should(MatchError(apierrors.IsNotFound, "not found"))
			Expect(peer.keys(ctx, bucketName)).To(ContainElement("other/Full-1"))
			Expect(peer.keys(ctx, bucketName)).NotTo(ContainElement(HavePrefix(entryName)))
			Expect(c.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(MatchError(apierrors.IsNotFound, "not found"))
		})

		It("should delete the bucket with all that is in it", func(ctx SpecContext) {
			remove(ctx, bucket)
			Expect(peer.has(ctx, bucketName)).To(BeFalse())
		})
	})

	It("should leave the bucket of somebody else alone, and say so", func(ctx SpecContext) {
		const name = "foreign-bucket"
		peer.makeBucket(ctx, name)
		peer.put(ctx, name, "photo", []byte("cat"))
		bucket := makeBucket(ctx, name, same)
		lastError := awaitError(ctx, bucket, name)
		Expect(lastError.Codes).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
		remove(ctx, bucket)
		Expect(peer.keys(ctx, name)).To(ContainElement("photo"))
		Eventually(func(g Gomega) {
			events := &corev1.EventList{}
			g.Expect(c.List(ctx, events)).To(Succeed())
			g.Expect(events.Items).To(ContainElement(HaveField("Reason", "BucketKept")))
		}).WithTimeout(soon).Should(Succeed())
	})

	It("should wait for the retention of locked backups, and say until when", func(ctx SpecContext) {
		const name, entryName = "locked-bucket", ours + "--4712"
		bucket := makeBucket(ctx, name, func(config *v1alpha1.BackupBucketConfig) {
			config.S3.Immutability = &v1alpha1.BackupImmutability{RetentionType: v1alpha1.BackupRetentionTypeBucket,
				RetentionPeriod: metav1.Duration{Duration: 24 * time.Hour}, Mode: v1alpha1.BackupRetentionModeGovernance}
		})
		await(ctx, bucket)
		entry := makeEntry(ctx, entryName, bucket)
		await(ctx, entry)
		peer.put(ctx, name, entryName+"/etcd-main/v2/Full-1", []byte("snapshot"))
		Expect(c.Delete(ctx, entry)).To(Succeed())
		lastError := awaitError(ctx, entry, "locked until "+time.Now().UTC().Add(24*time.Hour).Format("2006-01-02"))
		Expect(v1beta1helper.HasNonRetryableErrorCode(*lastError)).To(BeFalse())
		Expect(peer.keys(ctx, name)).To(ContainElement(entryName + "/etcd-main/v2/Full-1"))

		By("ending the retention, and reconciling again")
		for object := range peer.client.ListObjectsIter(ctx, name, minio.ListObjectsOptions{Recursive: true, WithVersions: true}) {
			Expect(peer.client.RemoveObject(ctx, name, object.Key, minio.RemoveObjectOptions{VersionID: object.VersionID,
				GovernanceBypass: true})).To(Succeed())
		}
		patch := client.MergeFrom(entry.DeepCopy())
		entry.Annotations = meta("").Annotations
		Expect(c.Patch(ctx, entry, patch)).To(Succeed())
		Eventually(func() error { return c.Get(ctx, client.ObjectKeyFromObject(entry), entry) }).WithTimeout(soon).
			Should(MatchError(apierrors.IsNotFound, "not found"))
		remove(ctx, bucket)
	})

	Describe("as a webhook", Ordered, func() {
		storeOf := func(provider, secret string) druidcorev1alpha1.StoreSpec {
			return druidcorev1alpha1.StoreSpec{Provider: new(druidcorev1alpha1.StorageProvider(provider)), Container: new("bucket"),
				SecretRef: &corev1.SecretReference{Name: secret}, Prefix: entryName + "/etcd-main"}
		}
		etcd := func(namespace, name, provider, secret string) *druidcorev1alpha1.Etcd {
			labels := map[string]string{"app": name}
			return &druidcorev1alpha1.Etcd{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: druidcorev1alpha1.EtcdSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels}, Labels: labels, Replicas: 1,
				Backup: druidcorev1alpha1.BackupSpec{Store: new(storeOf(provider, secret))},
			}}
		}
		task := func(namespace, name, source, target string) *druidcorev1alpha1.EtcdCopyBackupsTask {
			return &druidcorev1alpha1.EtcdCopyBackupsTask{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
				Spec: druidcorev1alpha1.EtcdCopyBackupsTaskSpec{SourceStore: storeOf(source, "source-etcd-backup"),
					TargetStore: storeOf(target, "etcd-backup")}}
		}

		BeforeAll(func(ctx SpecContext) {
			for _, namespace := range []string{ours, theirs, v1beta1constants.GardenNamespace, metav1.NamespaceSystem} {
				for name, store := range map[string]string{"etcd-backup": "S3", "source-etcd-backup": "Swift"} {
					Expect(c.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
						Data: map[string][]byte{"store": []byte(store)}})).To(Succeed())
				}
			}
		})

		for _, namespace := range []string{ours, v1beta1constants.GardenNamespace, metav1.NamespaceSystem} {
			It("should name the store of an Etcd in "+namespace+", and change nothing when it is deployed again", func(ctx SpecContext) {
				wanted := etcd(namespace, "etcd-main", v1alpha1.ProviderType, "etcd-backup")
				object := wanted.DeepCopy()
				Expect(c.Create(ctx, object)).To(Succeed())
				expected := wanted.Spec.DeepCopy()
				expected.Backup.Store.Provider = new(druidcorev1alpha1.StorageProvider("S3"))
				Expect(object.Spec.Backup).To(Equal(expected.Backup))

				patch := client.MergeFrom(object.DeepCopy())
				object.Spec.Backup.Store = wanted.Spec.Backup.Store
				Expect(c.Patch(ctx, object, patch)).To(Succeed())
				Expect(object.Spec.Backup).To(Equal(expected.Backup))
				Expect(object.Generation).To(BeEquivalentTo(1))
			})
		}

		It("should leave other providers alone", func(ctx SpecContext) {
			for _, namespace := range []string{ours, theirs, v1beta1constants.GardenNamespace} {
				object := etcd(namespace, "etcd-other", "aws", "missing")
				Expect(c.Create(ctx, object)).To(Succeed())
				Expect(object.Spec.Backup.Store.Provider).To(HaveValue(BeEquivalentTo("aws")))
			}
		})

		It("should name both stores of a copy, also to and from another provider", func(ctx SpecContext) {
			for _, t := range []struct{ namespace, source, target, expectedSource, expectedTarget string }{
				{ours, "hybrid", "hybrid", "Swift", "S3"}, {ours, "openstack", "hybrid", "openstack", "S3"},
				{theirs, "hybrid", "aws", "Swift", "aws"}, {theirs, "gcp", "aws", "gcp", "aws"},
			} {
				object := task(t.namespace, "from-"+t.source+"-to-"+t.target, t.source, t.target)
				Expect(c.Create(ctx, object)).To(Succeed())
				Expect(object.Spec.SourceStore.Provider).To(HaveValue(BeEquivalentTo(t.expectedSource)))
				Expect(object.Spec.TargetStore.Provider).To(HaveValue(BeEquivalentTo(t.expectedTarget)))
			}
		})

		It("should refuse an Etcd whose Secret is not there yet", func(ctx SpecContext) {
			Expect(c.Create(ctx, etcd(ours, "etcd-early", v1alpha1.ProviderType, "missing"))).To(MatchError(ContainSubstring(
				"could not read the Secret of the store")))
		})

		It("should not keep Etcds of other providers from being written while it is down", func(ctx SpecContext) {
			seed.Extension.Stop(ctx)
			for _, namespace := range []string{theirs, v1beta1constants.GardenNamespace, metav1.NamespaceSystem} {
				Expect(c.Create(ctx, etcd(namespace, "etcd-down", "aws", "missing"))).To(Succeed())
				Expect(c.Create(ctx, task(namespace, "copy-down", "gcp", "aws"))).To(Succeed())
			}
			Expect(c.Create(ctx, etcd(ours, "etcd-down", v1alpha1.ProviderType, "etcd-backup"))).To(
				MatchError(ContainSubstring("failed calling webhook")))
			Expect(seed.Extension.Start()).To(Succeed())
			Eventually(func() error {
				return c.Create(ctx, etcd(ours, "etcd-down", v1alpha1.ProviderType, "etcd-backup"))
			}).WithTimeout(soon).Should(Succeed())
		})
	})
})
