// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator_test

import (
	"context"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Backups", func() {
	type change = func(*v1alpha1.BackupBucketConfig)

	secret := func(name string, keys ...string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: name}, Data: map[string][]byte{}}
		for _, key := range keys {
			s.Data[key] = []byte("hush")
		}
		return s
	}
	mgr := newManager(secret("backup", "accessKeyID", "secretAccessKey"), secret("other", "accessKeyID", "secretAccessKey", "kubeconfig"),
		secret("swift", "domainName", "tenantName", "username", "password"))

	seedWith := func(changes ...change) *gardencorev1beta1.Seed {
		config := &v1alpha1.BackupBucketConfig{Store: v1alpha1.BackupStoreS3, S3: &v1alpha1.S3BackupStore{
			Endpoint: "https://s3.example.test", Immutability: &v1alpha1.BackupImmutability{RetentionType: v1alpha1.BackupRetentionTypeBucket,
				RetentionPeriod: metav1.Duration{Duration: 96 * 3600e9}, Mode: v1alpha1.BackupRetentionModeCompliance}}}
		for _, c := range changes {
			c(config)
		}
		raw, err := codec.Encode(config)
		Expect(err).NotTo(HaveOccurred())
		return &gardencorev1beta1.Seed{Spec: gardencorev1beta1.SeedSpec{
			Provider: gardencorev1beta1.SeedProvider{Type: "local", Region: "racks"},
			Backup: &gardencorev1beta1.Backup{Provider: v1alpha1.ProviderType, ProviderConfig: raw,
				CredentialsRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: "garden", Name: "backup"}},
		}}
	}
	swift := func(c *v1alpha1.BackupBucketConfig) {
		c.Store, c.S3, c.Swift = v1alpha1.BackupStoreSwift, nil, &v1alpha1.SwiftBackupStore{AuthURL: "https://keystone.example.test/v3"}
	}
	plain := func(c *v1alpha1.BackupBucketConfig) { c.S3.Endpoint = "http://s3.example.test" }
	elsewhere := func(c *v1alpha1.BackupBucketConfig) { c.S3.Endpoint = "https://s3.example.org" }
	mutable := func(c *v1alpha1.BackupBucketConfig) { c.S3.Immutability = nil }
	refer := func(seed *gardencorev1beta1.Seed, kind, name string) *gardencorev1beta1.Seed {
		seed.Spec.Backup.CredentialsRef.Kind, seed.Spec.Backup.CredentialsRef.Name = kind, name
		return seed
	}
	undecodable := func(seed *gardencorev1beta1.Seed) *gardencorev1beta1.Seed {
		seed.Spec.Backup.ProviderConfig = broken()
		return seed
	}
	bucketOf := func(seed *gardencorev1beta1.Seed) *gardencorev1beta1.BackupBucket {
		return &gardencorev1beta1.BackupBucket{Spec: gardencorev1beta1.BackupBucketSpec{
			Provider:       gardencorev1beta1.BackupBucketProvider{Type: seed.Spec.Backup.Provider, Region: "racks"},
			ProviderConfig: seed.Spec.Backup.ProviderConfig,
		}}
	}

	DescribeTable("of a Seed and its BackupBucket",
		func(ctx SpecContext, seed, old *gardencorev1beta1.Seed, expected string) {
			var err, bucketErr error
			if old == nil {
				err, bucketErr = NewSeedValidator(mgr).Validate(ctx, seed, nil), NewBackupBucketValidator().Validate(ctx, bucketOf(seed), nil)
			} else {
				err = NewSeedValidator(mgr).Validate(ctx, seed, old)
				bucketErr = NewBackupBucketValidator().Validate(ctx, bucketOf(seed), bucketOf(old))
			}
			if expected == "" {
				Expect(err).NotTo(HaveOccurred())
				Expect(bucketErr).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(And(ContainSubstring("spec.backup."+expected), Not(ContainSubstring("hush")))))
			if expected[0] == 'p' {
				Expect(bucketErr).To(MatchError(ContainSubstring("spec." + expected)))
			}
		},
		Entry("valid", seedWith(), nil, ""),
		Entry("no change", seedWith(), seedWith(), ""),
		Entry("of another type", func() *gardencorev1beta1.Seed {
			seed := undecodable(seedWith())
			seed.Spec.Backup.Provider = "other"
			return seed
		}(), nil, ""),
		Entry("without TLS", seedWith(plain), nil, "providerConfig.s3.endpoint: Invalid value"),
		Entry("that were invalid before", seedWith(plain), seedWith(plain), ""),
		Entry("not decodable", undecodable(seedWith()), nil, "providerConfig: Invalid value"),
		Entry("decodable at last", seedWith(), undecodable(seedWith()), ""),
		Entry("no configuration", func() *gardencorev1beta1.Seed {
			seed := seedWith()
			seed.Spec.Backup.ProviderConfig = nil
			return seed
		}(), seedWith(), "providerConfig: Required value"),
		Entry("another store", seedWith(swift), seedWith(), "providerConfig.store: Invalid value"),
		Entry("a weaker retention", seedWith(mutable), seedWith(), "providerConfig.s3.immutability: Required value"),
		Entry("a new retention", seedWith(), seedWith(mutable), ""),
		Entry("another Secret", refer(seedWith(), "Secret", "other"), seedWith(), "credentialsRef: Forbidden: the Secret must have exactly "+
			"the keys accessKeyID, secretAccessKey"),
		Entry("a Secret for another store", refer(seedWith(), "Secret", "swift"), nil, "credentialsRef: Forbidden"),
		Entry("Swift", refer(seedWith(swift), "Secret", "swift"), nil, ""),
		Entry("a Secret that is not there", refer(seedWith(), "Secret", "missing"), nil, "credentialsRef: Forbidden"),
		Entry("a WorkloadIdentity", refer(seedWith(), "WorkloadIdentity", "backup"), nil, "credentialsRef.kind: Unsupported value"),
	)

	It("does not stand in the way of a deletion", func(ctx SpecContext) {
		seed, now := seedWith(plain), metav1.Now()
		seed.DeletionTimestamp = &now
		bucket := bucketOf(seed)
		bucket.DeletionTimestamp = &now
		Expect(NewSeedValidator(mgr).Validate(ctx, seed, seedWith())).To(Succeed())
		Expect(NewBackupBucketValidator().Validate(ctx, bucket, bucketOf(seedWith()))).To(Succeed())
	})

	It("warns of backups that are elsewhere", func(ctx SpecContext) {
		warnings := func(seed, old *gardencorev1beta1.Seed) []string {
			return WithWarnings(admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
				if old == nil {
					Expect(NewSeedValidator(mgr).Validate(ctx, seed, nil)).To(Succeed())
				} else {
					Expect(NewSeedValidator(mgr).Validate(ctx, seed, old)).To(Succeed())
				}
				return admission.Allowed("")
			})).Handle(ctx, admission.Request{}).Warnings
		}
		Expect(warnings(seedWith(), nil)).To(BeEmpty())
		Expect(warnings(seedWith(elsewhere), seedWith())).To(ConsistOf(
			HavePrefix("spec.backup.providerConfig.s3.endpoint: backups are not copied")))
		Expect(warnings(refer(seedWith(swift), "Secret", "swift"), nil)).To(ConsistOf(HavePrefix("spec.backup.providerConfig.swift.region: ")))
	})
})
