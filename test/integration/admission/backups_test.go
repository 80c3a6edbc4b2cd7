// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// seedExample returns the Seed of example/, and the Secret that it refers to.
func seedExample() (*gardencorev1beta1.Seed, *corev1.Secret) {
	GinkgoHelper()
	all := documents("40-seed.yaml")
	Expect(all).To(HaveLen(2))
	secret, seed := &corev1.Secret{}, &gardencorev1beta1.Seed{}
	Expect(yaml.UnmarshalStrict(all[0], secret)).To(Succeed())
	Expect(yaml.UnmarshalStrict(all[1], seed)).To(Succeed())
	return seed, secret
}

var _ = beforeWebhooks(func(ctx context.Context) {
	seed, secret := seedExample()
	other := secret.DeepCopy()
	other.Name, other.StringData = "backup-other", map[string]string{"kubeconfig": secretText}
	dns := secret.DeepCopy()
	dns.Name = "dns"
	for _, object := range []client.Object{secret, other, dns} {
		Expect(garden.Client.Create(ctx, object)).To(Succeed())
	}
	Eventually(func() error { return garden.Client.Create(ctx, seed.DeepCopy()) }).WithTimeout(10 * time.Second).Should(Succeed())
})

var _ = Describe("Backups", func() {
	type seedChange = change[gardencorev1beta1.Seed]

	config := func(change func(*v1alpha1.BackupBucketConfig)) seedChange {
		return func(seed *gardencorev1beta1.Seed) { edit(&seed.Spec.Backup.ProviderConfig, change) }
	}
	credentialsOf := func(name string) seedChange {
		return func(seed *gardencorev1beta1.Seed) { seed.Spec.Backup.CredentialsRef.Name = name }
	}
	raw := func(document string) seedChange {
		return func(seed *gardencorev1beta1.Seed) { seed.Spec.Backup.ProviderConfig.Raw = []byte(document) }
	}

	DescribeTable("of new Seeds are refused",
		func(ctx SpecContext, change seedChange, fieldPath, reason string) {
			seed, _ := seedExample()
			seed.Name = "new"
			change(seed)
			refuseCreation(ctx, seed, fieldPath, reason)
		},
		refused("without TLS", config(func(c *v1alpha1.BackupBucketConfig) { c.S3.Endpoint = "http://s3.example.test" }),
			"spec.backup.providerConfig.s3.endpoint", "must have the scheme https"),
		refused("with a private authority of Swift", raw(`{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1",`+
			`"kind":"BackupBucketConfig","store":"Swift","swift":{"authURL":"https://keystone.example.test/v3","caBundle":"a"}}`),
			"spec.backup.providerConfig", `unknown field "swift.caBundle"`),
		refused("without a configuration", func(seed *gardencorev1beta1.Seed) { seed.Spec.Backup.ProviderConfig = nil },
			"spec.backup.providerConfig", "must say where the store is"),
		refused("with a Secret that has other keys", credentialsOf("backup-other"), "spec.backup.credentialsRef",
			"must have exactly the keys accessKeyID, secretAccessKey"),
	)

	DescribeTable("of Seeds are refused if they change",
		func(ctx SpecContext, change seedChange, fieldPath, reason string) {
			seed, _ := seedExample()
			seed = current(ctx, seed)
			change(seed)
			refuseUpdate(ctx, seed, fieldPath, reason)
		},
		refused("to another store", config(func(c *v1alpha1.BackupBucketConfig) {
			c.Store, c.S3, c.Swift = v1alpha1.BackupStoreSwift, nil, &v1alpha1.SwiftBackupStore{AuthURL: "https://keystone.example.test/v3"}
		}), "spec.backup.providerConfig.store", "must stay S3"),
		refused("to a shorter retention", config(func(c *v1alpha1.BackupBucketConfig) {
			c.S3.Immutability.RetentionPeriod = metav1.Duration{Duration: 24 * time.Hour}
		}), "spec.backup.providerConfig.s3.immutability.retentionPeriod", "must be at least 96h"),
	)

	DescribeTable("of Seeds are accepted",
		func(ctx SpecContext, change seedChange) {
			seed, _ := seedExample()
			seed = current(ctx, seed)
			change(seed)
			Expect(garden.Client.Update(ctx, seed, client.DryRunAll)).To(Succeed())
		},
		accepted("with a longer retention", config(func(c *v1alpha1.BackupBucketConfig) {
			c.S3.Immutability.RetentionPeriod = metav1.Duration{Duration: 240 * time.Hour}
		})),
		accepted("with a label", func(seed *gardencorev1beta1.Seed) { metav1.SetMetaDataLabel(&seed.ObjectMeta, "team", "a") }),
	)

	It("of a BackupBucket are refused alike", func(ctx SpecContext) {
		seed, _ := seedExample()
		config(func(c *v1alpha1.BackupBucketConfig) { c.S3.Immutability.Mode = "none" })(seed)
		backup := seed.Spec.Backup
		bucket := &gardencorev1beta1.BackupBucket{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: gardencorev1beta1.BackupBucketSpec{
			Provider:       gardencorev1beta1.BackupBucketProvider{Type: backup.Provider, Region: *backup.Region},
			ProviderConfig: backup.ProviderConfig, CredentialsRef: backup.CredentialsRef, SeedName: &seed.Name,
		}}
		refuseCreation(ctx, bucket, "spec.providerConfig.s3.immutability.mode", "supported values")
	})
})
