// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backupentry

import (
	"context"
	"errors"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/backupentry"
	"github.com/gardener/gardener/extensions/pkg/controller/backupentry/genericactuator"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	reconcilerutils "github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupstore"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/playedstore"
)

// fakeManager is a manager with a cache that is older than what the API server has.
type fakeManager struct {
	manager.Manager

	cache  client.Client
	reader client.Reader
}

func (m fakeManager) GetClient() client.Client    { return m.cache }
func (m fakeManager) GetAPIReader() client.Reader { return m.reader }

var _ = Describe("BackupEntry", func() {
	const (
		shoot      = "shoot--foo--bar"
		name       = shoot + "--4711"
		bucketName = "b5f3"
	)
	var (
		store    *playedstore.Store
		entry    *extensionsv1alpha1.BackupEntry
		secret   *corev1.Secret
		objects  []client.Object
		c        client.Client
		opener   backupstore.Opener
		recorder *events.FakeRecorder
		a        backupentry.Actuator
		log      = logr.Discard()
	)

	BeforeEach(func() {
		store = playedstore.New()
		store.Buckets[bucketName] = &playedstore.Bucket{Owner: bucketName, Objects: map[string]playedstore.Object{
			name + "/etcd-main/v2/full": {Size: 7, Written: time.Unix(1_000, 0)},
			name + "/etcd-main/v2/incr": {Size: 5, Written: time.Unix(2_000, 0)},
			name + "0/etcd-main/full":   {Size: 1},
			"other/full":                {Size: 1},
		}}
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "entry-" + name},
			Data: map[string][]byte{"accessKeyID": []byte("a"), "secretAccessKey": []byte("hush")}}
		raw, err := codec.Encode(&v1alpha1.BackupBucketStatus{Config: v1alpha1.BackupBucketConfig{Store: v1alpha1.BackupStoreS3,
			S3: &v1alpha1.S3BackupStore{Endpoint: "https://s3.example.test", Region: "racks"}}})
		Expect(err).NotTo(HaveOccurred())
		entry = &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: extensionsv1alpha1.BackupEntrySpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType}, Region: "racks", BucketName: bucketName,
			SecretRef: corev1.SecretReference{Namespace: secret.Namespace, Name: secret.Name}, BackupBucketProviderStatus: raw,
		}}
		objects = []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shoot}}}
		recorder = events.NewFakeRecorder(10)
	})

	JustBeforeEach(func() {
		stale := secret.DeepCopy()
		stale.Data["secretAccessKey"] = []byte("hush before")
		c = fakeclient.NewClientBuilder().WithScheme(kubernetes.SeedScheme).WithObjects(append(objects, entry, secret)...).Build()
		opener = backupstore.Opener{Reader: c, Stores: backup.Stores{v1alpha1.BackupStoreS3: store}}
		a = genericactuator.NewActuator(secretManager{fakeManager{cache: staleClient{c, stale}, reader: c}}, NewDelegate(opener, recorder))
	})

	written := func(ctx context.Context, name string) map[string][]byte {
		GinkgoHelper()
		s := &corev1.Secret{}
		Expect(c.Get(ctx, client.ObjectKey{Namespace: shoot, Name: name}, s)).To(Succeed())
		return s.Data
	}
	keys := func(bucket string) []string {
		var keys []string
		for key := range store.Buckets[bucket].Objects {
			keys = append(keys, key)
		}
		return keys
	}

	Describe("Reconcile", func() {
		It("should write what etcd-backup-restore and the webhook read, and nothing else, without asking the store", func(ctx SpecContext) {
			Expect(a.Reconcile(ctx, log, entry)).To(Succeed())
			Expect(written(ctx, "etcd-backup")).To(Equal(map[string][]byte{
				"accessKeyID": []byte("a"), "secretAccessKey": []byte("hush"), "bucketName": []byte(bucketName), "store": []byte("S3"),
			}))
			Expect(store.Opened + store.Calls).To(BeZero())
		})

		It("should write rotated credentials", func(ctx SpecContext) {
			Expect(a.Reconcile(ctx, log, entry)).To(Succeed())
			secret.Data["secretAccessKey"] = []byte("hush again")
			Expect(c.Update(ctx, secret)).To(Succeed())
			Expect(a.Reconcile(ctx, log, entry)).To(Succeed())
			Expect(written(ctx, "etcd-backup")).To(HaveKeyWithValue("secretAccessKey", []byte("hush again")))
		})

		It("should write another Secret for a source, and the same after a restoration", func(ctx SpecContext) {
			entry.Name = "source-" + name
			Expect(a.Restore(ctx, log, entry)).To(Succeed())
			Expect(written(ctx, "source-etcd-backup")).To(HaveKeyWithValue("bucketName", []byte(bucketName)))
		})

		It("should say what to do if the store is not known", func(ctx SpecContext) {
			entry.Spec.BackupBucketProviderStatus = nil
			err := a.Reconcile(ctx, log, entry)
			Expect(err).To(MatchError(ContainSubstring("spec.backupBucketProviderStatus is missing: reconcile BackupBucket b5f3")))
			Expect(v1beta1helper.ExtractErrorCodes(err)).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
		})

		It("should refuse credentials that are not those of the store", func(ctx SpecContext) {
			secret.Data["endpoint"] = []byte("hush")
			Expect(c.Update(ctx, secret)).To(Succeed())
			Expect(a.Reconcile(ctx, log, entry)).To(MatchError(And(ContainSubstring("data[endpoint]"), Not(ContainSubstring("hush")))))
		})
	})

	Describe("Delete", func() {
		It("should delete the backups of the entry alone", func(ctx SpecContext) {
			Expect(a.Reconcile(ctx, log, entry)).To(Succeed())
			Expect(a.Delete(ctx, log, entry)).To(Succeed())
			Expect(keys(bucketName)).To(ConsistOf(name+"0/etcd-main/full", "other/full"))
			Expect(a.Delete(ctx, log, entry)).To(Succeed(), "a second time")
			delete(store.Buckets, bucketName)
			Expect(a.Delete(ctx, log, entry)).To(Succeed(), "without a bucket")
		})

		It("should delete nothing if the store is not known", func(ctx SpecContext) {
			entry.Spec.BackupBucketProviderStatus = nil
			Expect(a.Delete(ctx, log, entry)).To(MatchError(ContainSubstring("reconcile BackupBucket b5f3")))
			Expect(keys(bucketName)).To(HaveLen(4))
		})

		It("should wait for the end of a retention, say until when, and measure what is left", func(ctx SpecContext) {
			locked := store.Buckets[bucketName].Objects[name+"/etcd-main/v2/full"]
			locked.LockedUntil = time.Now().Add(90 * time.Minute)
			store.Buckets[bucketName].Objects[name+"/etcd-main/v2/full"] = locked
			var later *reconcilerutils.RequeueAfterError
			Expect(errors.As(a.Delete(ctx, log, entry), &later)).To(BeTrue())
			Expect(later.RequeueAfter).To(Equal(time.Hour))
			Expect(later.Cause).To(MatchError(ContainSubstring("locked until " + locked.LockedUntil.UTC().Format(time.RFC3339))))
			Expect(keys(bucketName)).To(ContainElement(name + "/etcd-main/v2/full"))
			Expect(measured(name)).To(Equal(map[string]float64{"hybrid_backup_objects deleting": 1, "hybrid_backup_bytes deleting": 7}))

			locked.LockedUntil = time.Time{}
			store.Buckets[bucketName].Objects[name+"/etcd-main/v2/full"] = locked
			Expect(a.Delete(ctx, log, entry)).To(Succeed())
			Expect(measured(name)).To(BeEmpty())
		})

		It("should end with the error of the store, and go on where it ended", func(ctx SpecContext) {
			store.Err, store.Partial = platform.NewError(platform.ClassTransient, "no answer"), true
			Expect(a.Delete(ctx, log, entry)).To(MatchError("no answer"))
			store.Err = nil
			Expect(a.Delete(ctx, log, entry)).To(Succeed())
			Expect(keys(bucketName)).To(HaveLen(2))
		})

		Describe("of a source", func() {
			var target *extensionsv1alpha1.BackupEntry

			BeforeEach(func() {
				target = entry.DeepCopy()
				entry.Name = "source-" + name
				objects = append(objects, target)
			})

			It("should keep the backups if they are those of the entry that they were copied to", func(ctx SpecContext) {
				Expect(a.Delete(ctx, log, entry)).To(Succeed())
				Expect(keys(bucketName)).To(HaveLen(4))
				Expect(recorder.Events).To(Receive(HavePrefix("Warning BackupsKept")))
			})

			It("should delete them if the copy is in another bucket", func(ctx SpecContext) {
				target.Spec.BucketName = "another"
				Expect(c.Update(ctx, target)).To(Succeed())
				Expect(a.Delete(ctx, log, entry)).To(Succeed())
				Expect(keys(bucketName)).To(HaveLen(2))
			})

			It("should not wait for the end of a retention", func(ctx SpecContext) {
				target.Spec.BucketName = "another"
				Expect(c.Update(ctx, target)).To(Succeed())
				locked := store.Buckets[bucketName].Objects[name+"/etcd-main/v2/full"]
				locked.LockedUntil = time.Now().Add(time.Hour)
				store.Buckets[bucketName].Objects[name+"/etcd-main/v2/full"] = locked
				Expect(a.Delete(ctx, log, entry)).To(Succeed())
				Expect(keys(bucketName)).To(ConsistOf(name+"/etcd-main/v2/full", name+"0/etcd-main/full", "other/full"))
				Expect(recorder.Events).To(Receive(And(HavePrefix("Warning BackupsKept"), ContainSubstring("locked until"))))
				Expect(measured("source-" + name)).To(BeEmpty())
			})
		})
	})

	Describe("Usage", func() {
		measure := func(ctx context.Context) time.Duration {
			GinkgoHelper()
			r := &usageReconciler{client: c, opener: opener}
			result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(entry)})
			Expect(err).NotTo(HaveOccurred())
			return result.RequeueAfter
		}

		It("should be measured every hour until the entry is gone", func(ctx SpecContext) {
			Expect(measure(ctx)).To(And(BeNumerically(">=", time.Hour), BeNumerically("<=", 72*time.Minute)))
			Expect(measured(name)).To(Equal(map[string]float64{"hybrid_backup_objects stored": 2, "hybrid_backup_bytes stored": 12,
				"hybrid_backup_last_change_timestamp_seconds": 2_000}))

			store.OpenErr = platform.NewError(platform.ClassTransient, "no answer")
			Expect(measure(ctx)).To(BeNumerically(">=", time.Hour))
			Expect(measured(name)).To(HaveLen(3))

			Expect(c.Delete(ctx, entry)).To(Succeed())
			Expect(measure(ctx)).To(BeZero())
			Expect(measured(name)).To(BeEmpty())
		})

		It("should not be measured of an entry without a store", func(ctx SpecContext) {
			entry.Spec.BackupBucketProviderStatus = nil
			Expect(c.Update(ctx, entry)).To(Succeed())
			Expect(measure(ctx)).To(BeZero())
			Expect(store.Opened).To(BeZero())
		})
	})
})

// staleClient reads a Secret as it was before.
type staleClient struct {
	client.Client

	secret *corev1.Secret
}

func (c staleClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if s, ok := object.(*corev1.Secret); ok && key == client.ObjectKeyFromObject(c.secret) {
		c.secret.DeepCopyInto(s)
		return nil
	}
	return c.Client.Get(ctx, key, object, options...)
}

// measured returns the metrics of an entry by their names and states.
func measured(entry string) map[string]float64 {
	GinkgoHelper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(backupstore.Collectors()...)
	families, err := registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			name, ours := family.GetName(), false
			for _, label := range metric.Label {
				ours = ours || label.GetName() == "backup_entry" && label.GetValue() == entry
				if label.GetName() == "state" {
					name += " " + label.GetValue()
				}
			}
			if ours {
				values[name] = metric.Gauge.GetValue()
			}
		}
	}
	return values
}
