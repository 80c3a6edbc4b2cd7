// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"bytes"
	"os"
	"path/filepath"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("Backups", func() {
	// of reads a Secret, and an object that refers to it.
	of := func(file string, object any) *corev1.Secret {
		GinkgoHelper()
		content, err := os.ReadFile(filepath.Join("..", "..", "example", file))
		Expect(err).NotTo(HaveOccurred())
		documents := bytes.Split(content, []byte("\n---\n"))
		Expect(documents).To(HaveLen(2))
		secret := &corev1.Secret{}
		Expect(yaml.UnmarshalStrict(documents[0], secret)).To(Succeed())
		Expect(yaml.UnmarshalStrict(documents[1], object)).To(Succeed())
		return secret
	}
	valid := func(config *v1alpha1.BackupBucketConfig, secret *corev1.Secret) {
		GinkgoHelper()
		Expect(validation.ValidateBackupBucketConfig(config, field.NewPath("config"))).To(BeEmpty())
		data := map[string][]byte{}
		for key, value := range secret.StringData {
			data[key] = []byte(value)
		}
		Expect(validation.ValidateBackupCredentials(config.Store, data, field.NewPath("data"))).To(BeEmpty())
	}
	configOf := func(raw *runtime.RawExtension, region string) *v1alpha1.BackupBucketConfig {
		GinkgoHelper()
		config, err := codec.Decode[v1alpha1.BackupBucketConfig](raw)
		Expect(err).NotTo(HaveOccurred())
		v1alpha1.SetBackupBucketConfigDefaults(config, region)
		return config
	}

	It("of a Seed are valid", func() {
		seed := &gardencorev1beta1.Seed{}
		secret := of("40-seed.yaml", seed)
		backup := seed.Spec.Backup
		Expect(backup.Provider).To(Equal(v1alpha1.ProviderType))
		Expect(*backup.CredentialsRef).To(Equal(corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: secret.Namespace,
			Name: secret.Name}))
		valid(configOf(backup.ProviderConfig, *backup.Region), secret)
	})

	It("have a bucket and an entry that are valid and belong together", func() {
		bucket, entry := &extensionsv1alpha1.BackupBucket{}, &extensionsv1alpha1.BackupEntry{}
		secret := of("30-backupbucket.yaml", bucket)
		Expect(bucket.Spec.SecretRef).To(Equal(corev1.SecretReference{Namespace: secret.Namespace, Name: secret.Name}))
		config := configOf(bucket.Spec.ProviderConfig, bucket.Spec.Region)
		valid(config, secret)

		secret = of("30-backupentry.yaml", entry)
		Expect(entry.Spec.SecretRef).To(Equal(corev1.SecretReference{Namespace: secret.Namespace, Name: secret.Name}))
		Expect(entry.Spec.BucketName).To(Equal(bucket.Name))
		status, err := codec.Decode[v1alpha1.BackupBucketStatus](entry.Spec.BackupBucketProviderStatus)
		Expect(err).NotTo(HaveOccurred())
		config.TypeMeta = status.Config.TypeMeta
		Expect(status.Config).To(Equal(*config))
		valid(&status.Config, secret)
	})
})
