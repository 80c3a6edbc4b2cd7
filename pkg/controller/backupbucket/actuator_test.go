// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backupbucket_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/backupbucket"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	reconcilerutils "github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupbucket"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupstore"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/playedstore"
)

var _ = Describe("Actuator", func() {
	const name = "b5f3"
	var (
		store    *playedstore.Store
		secret   *corev1.Secret
		bucket   *extensionsv1alpha1.BackupBucket
		config   *v1alpha1.BackupBucketConfig
		c        client.Client
		recorder *events.FakeRecorder
		a        backupbucket.Actuator
		log      = logr.Discard()
	)

	BeforeEach(func() {
		store = playedstore.New()
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "bucket-" + name},
			Data: map[string][]byte{"accessKeyID": []byte("a"), "secretAccessKey": []byte("hush")}}
		bucket = &extensionsv1alpha1.BackupBucket{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: extensionsv1alpha1.BackupBucketSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType},
			Region:      "racks", SecretRef: corev1.SecretReference{Namespace: secret.Namespace, Name: secret.Name},
		}}
		config = &v1alpha1.BackupBucketConfig{Store: v1alpha1.BackupStoreS3, S3: &v1alpha1.S3BackupStore{Endpoint: "https://s3.example.test",
			Immutability: &v1alpha1.BackupImmutability{RetentionType: v1alpha1.BackupRetentionTypeBucket,
				RetentionPeriod: metav1.Duration{Duration: 48 * time.Hour}, Mode: v1alpha1.BackupRetentionModeCompliance}}}
		recorder = events.NewFakeRecorder(10)
		c = fakeclient.NewClientBuilder().WithScheme(kubernetes.SeedScheme).WithStatusSubresource(&extensionsv1alpha1.BackupBucket{}).
			WithObjects(secret, bucket).Build()
		a = NewActuator(c, backupstore.Opener{Reader: c, Stores: backup.Stores{v1alpha1.BackupStoreS3: store}}, recorder)
	})

	reconcile := func(ctx context.Context) error {
		GinkgoHelper()
		raw, err := codec.Encode(config)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Get(ctx, client.ObjectKeyFromObject(bucket), bucket)).To(Succeed())
		bucket.Spec.ProviderConfig = raw
		return a.Reconcile(ctx, log, bucket)
	}
	applied := func(ctx context.Context) *v1alpha1.BackupBucketConfig {
		GinkgoHelper()
		Expect(c.Get(ctx, client.ObjectKeyFromObject(bucket), bucket)).To(Succeed())
		if bucket.Status.ProviderStatus == nil {
			return nil
		}
		status, err := codec.Decode[v1alpha1.BackupBucketStatus](bucket.Status.ProviderStatus)
		Expect(err).NotTo(HaveOccurred())
		return &status.Config
	}
	haveCode := func(code gardencorev1beta1.ErrorCode) func(error) bool {
		return func(err error) bool { return slices.Contains(v1beta1helper.ExtractErrorCodes(err), code) }
	}

	It("should create the bucket for itself, and write the configuration with its defaults to the status once", func(ctx SpecContext) {
		Expect(reconcile(ctx)).To(Succeed())
		Expect(store.Buckets).To(HaveKeyWithValue(name, HaveField("Owner", name)))
		Expect(store.Access.Credentials).To(Equal(secret.Data))
		Expect(applied(ctx).S3).To(And(HaveField("Region", "racks"), HaveField("Endpoint", "https://s3.example.test")))
		Expect(store.Access.Config.S3.Region).To(Equal("racks"))

		version := bucket.ResourceVersion
		Expect(reconcile(ctx)).To(Succeed())
		Expect(bucket.ResourceVersion).To(Equal(version))
		Expect(recorder.Events).To(BeEmpty())
	})

	It("should use rotated credentials", func(ctx SpecContext) {
		Expect(reconcile(ctx)).To(Succeed())
		secret.Data["secretAccessKey"] = []byte("hush again")
		Expect(c.Update(ctx, secret)).To(Succeed())
		Expect(reconcile(ctx)).To(Succeed())
		Expect(store.Access.Credentials).To(HaveKeyWithValue("secretAccessKey", []byte("hush again")))
	})

	It("should say what the store does not support", func(ctx SpecContext) {
		store.Warnings = []string{"there is no lifecycle"}
		Expect(reconcile(ctx)).To(Succeed())
		Expect(recorder.Events).To(Receive(Equal("Warning NotSupportedByStore there is no lifecycle")))
	})

	It("should write the configuration before the bucket, so that the bucket can be deleted in any case", func(ctx SpecContext) {
		store.Err, store.Partial = platform.NewError(platform.ClassTransient, "no answer"), true
		Expect(reconcile(ctx)).To(MatchError("no answer"))
		Expect(store.Buckets).To(HaveKey(name))
		Expect(applied(ctx)).NotTo(BeNil())
		store.Err = nil
		Expect(a.Delete(ctx, log, bucket)).To(Succeed())
		Expect(store.Buckets).To(BeEmpty())
	})

	DescribeTable("should have codes for errors that waiting does not solve",
		func(ctx SpecContext, change func(ctx context.Context), code gardencorev1beta1.ErrorCode, message string) {
			Expect(reconcile(ctx)).To(Succeed())
			calls := store.Calls
			change(ctx)
			err := reconcile(ctx)
			Expect(err).To(And(MatchError(And(ContainSubstring(message), Not(ContainSubstring("hush")))), Satisfy(haveCode(code))))
			Expect(store.Calls - calls).To(BeNumerically("<=", 1))
		},
		Entry("an invalid configuration", func(context.Context) { config.S3.Endpoint = "http://s3.example.test" },
			gardencorev1beta1.ErrorConfigurationProblem, "spec.providerConfig.s3.endpoint"),
		Entry("a weaker retention", func(context.Context) { config.S3.Immutability = nil }, gardencorev1beta1.ErrorConfigurationProblem,
			"spec.providerConfig.s3.immutability"),
		Entry("another store", func(context.Context) {
			config.Store, config.S3, config.Swift = v1alpha1.BackupStoreSwift, nil, &v1alpha1.SwiftBackupStore{AuthURL: "https://keystone.test/v3"}
		}, gardencorev1beta1.ErrorConfigurationProblem, "spec.providerConfig.store"),
		Entry("invalid credentials", func(ctx context.Context) {
			delete(secret.Data, "accessKeyID")
			Expect(c.Update(ctx, secret)).To(Succeed())
		}, gardencorev1beta1.ErrorConfigurationProblem, "Secret garden/bucket-b5f3: data[accessKeyID]"),
		Entry("no Secret", func(ctx context.Context) { Expect(c.Delete(ctx, secret)).To(Succeed()) },
			gardencorev1beta1.ErrorRetryableConfigurationProblem, "spec.secretRef"),
		Entry("refused credentials", func(context.Context) {
			store.OpenErr = platform.NewError(platform.ClassUnauthenticated, "InvalidAccessKeyId")
		}, gardencorev1beta1.ErrorInfraUnauthenticated, "InvalidAccessKeyId"),
		Entry("the bucket of somebody else", func(context.Context) { store.Buckets[name].Owner = "else" },
			gardencorev1beta1.ErrorConfigurationProblem, "belongs to"),
	)

	Describe("Delete", func() {
		BeforeEach(func(ctx SpecContext) {
			Expect(reconcile(ctx)).To(Succeed())
			store.Buckets[name].Objects["some"] = playedstore.Object{Size: 7}
		})

		It("should delete the bucket with what was applied, whatever the configuration is now", func(ctx SpecContext) {
			bucket.Spec.ProviderConfig = nil
			Expect(a.Delete(ctx, log, bucket)).To(Succeed())
			Expect(store.Buckets).To(BeEmpty())
			Expect(a.Delete(ctx, log, bucket)).To(Succeed(), "a second time")
			Expect(recorder.Events).To(BeEmpty())
		})

		It("should keep a bucket that is not its own, and say so", func(ctx SpecContext) {
			store.Buckets[name].Owner = "else"
			Expect(a.Delete(ctx, log, bucket)).To(Succeed())
			Expect(store.Buckets[name].Objects).To(HaveLen(1))
			Expect(recorder.Events).To(Receive(HavePrefix("Warning BucketKept")))
		})

		It("should ask nothing of a store if nothing was applied", func(ctx SpecContext) {
			bucket.Status.ProviderStatus, store.Calls, store.Opened = nil, 0, 0
			Expect(a.Delete(ctx, log, bucket)).To(Succeed())
			Expect(store.Calls + store.Opened).To(BeZero())
		})

		It("should wait for the end of a retention", func(ctx SpecContext) {
			until := time.Now().Add(30 * time.Minute)
			store.Buckets[name].Objects["locked"] = playedstore.Object{Size: 5, LockedUntil: until}
			var later *reconcilerutils.RequeueAfterError
			err := a.Delete(ctx, log, bucket)
			Expect(errors.As(err, &later)).To(BeTrue())
			Expect(later.RequeueAfter).To(BeNumerically("~", 30*time.Minute, time.Minute))
			Expect(later.Cause).To(MatchError(And(ContainSubstring("1 versions are locked until "),
				ContainSubstring(until.UTC().Format(time.RFC3339)))))
			Expect(store.Buckets[name].Objects).To(HaveLen(1))
		})

		It("should go on soon with a deletion that is in progress", func(ctx SpecContext) {
			store.Err, store.Partial = platform.NewProgress("20000 objects were deleted"), true
			var later *reconcilerutils.RequeueAfterError
			Expect(errors.As(a.Delete(ctx, log, bucket), &later)).To(BeTrue())
			Expect(later.RequeueAfter).To(Equal(5 * time.Second))
			store.Err = nil
			Expect(a.Delete(ctx, log, bucket)).To(Succeed())
			Expect(store.Buckets).To(BeEmpty())
		})

		It("should not believe a document that it did not write", func(ctx SpecContext) {
			bucket.Status.ProviderStatus.Raw = []byte(`{"kind":"Other"}`)
			Expect(a.Delete(ctx, log, bucket)).To(MatchError(ContainSubstring("status.providerStatus")))
			Expect(store.Buckets).To(HaveKey(name))
		})
	})
})
