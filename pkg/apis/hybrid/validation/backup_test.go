// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("Backups", func() {
	type change = func(*v1alpha1.BackupBucketConfig)

	s3 := func(changes ...change) *v1alpha1.BackupBucketConfig {
		config := &v1alpha1.BackupBucketConfig{Store: v1alpha1.BackupStoreS3, S3: &v1alpha1.S3BackupStore{
			Endpoint: "https://s3.example.com:9000", Immutability: &v1alpha1.BackupImmutability{
				RetentionType: v1alpha1.BackupRetentionTypeBucket, RetentionPeriod: metav1.Duration{Duration: 96 * time.Hour},
				Mode: v1alpha1.BackupRetentionModeCompliance},
		}}
		v1alpha1.SetBackupBucketConfigDefaults(config, "racks")
		for _, c := range changes {
			c(config)
		}
		return config
	}
	swift := func(changes ...change) *v1alpha1.BackupBucketConfig {
		config := &v1alpha1.BackupBucketConfig{Store: v1alpha1.BackupStoreSwift, Swift: &v1alpha1.SwiftBackupStore{
			AuthURL: "https://keystone.example.com/v3"}}
		v1alpha1.SetBackupBucketConfigDefaults(config, "racks")
		for _, c := range changes {
			c(config)
		}
		return config
	}
	days := func(days int) change {
		return func(c *v1alpha1.BackupBucketConfig) {
			c.S3.Immutability.RetentionPeriod.Duration = time.Duration(days) * 24 * time.Hour
		}
	}
	mode := func(mode v1alpha1.BackupRetentionMode) change {
		return func(c *v1alpha1.BackupBucketConfig) { c.S3.Immutability.Mode = mode }
	}
	endpoint := func(endpoint string) change {
		return func(c *v1alpha1.BackupBucketConfig) { c.S3.Endpoint = endpoint }
	}
	authURL := func(url string) change {
		return func(c *v1alpha1.BackupBucketConfig) { c.Swift.AuthURL = url }
	}
	mutable := func(c *v1alpha1.BackupBucketConfig) { c.S3.Immutability = nil }
	fields := func(errs field.ErrorList) []string {
		var found []string
		for _, err := range errs {
			found = append(found, err.Field)
			Expect(err.Error()).NotTo(ContainSubstring("hush"))
		}
		return found
	}
	path := field.NewPath("providerConfig")

	It("should default the region to that of the BackupBucket", func() {
		Expect(s3().S3.Region).To(Equal("racks"))
		Expect(swift().Swift.Region).To(Equal("racks"))
		config := s3()
		v1alpha1.SetBackupBucketConfigDefaults(config, "other")
		Expect(config.S3.Region).To(Equal("racks"))
	})

	DescribeTable("should validate a configuration",
		func(config *v1alpha1.BackupBucketConfig, expected ...string) {
			Expect(fields(validation.ValidateBackupBucketConfig(config, path))).To(ConsistOf(expected))
		},
		Entry("S3", s3()),
		Entry("S3 that is mutable", s3(mutable)),
		Entry("S3 with an authority", s3(func(c *v1alpha1.BackupBucketConfig) {
			certificate, _ := newCertificate()
			c.S3.CABundle = certificate
		})),
		Entry("Swift", swift()),
		Entry("nothing", nil, "providerConfig"),
		Entry("no store", &v1alpha1.BackupBucketConfig{}, "providerConfig.store"),
		Entry("another store", &v1alpha1.BackupBucketConfig{Store: "GCS"}, "providerConfig.store"),
		Entry("S3 without a block", &v1alpha1.BackupBucketConfig{Store: v1alpha1.BackupStoreS3}, "providerConfig.s3"),
		Entry("Swift without a block", &v1alpha1.BackupBucketConfig{Store: v1alpha1.BackupStoreSwift}, "providerConfig.swift"),
		Entry("S3 with the block of Swift", s3(func(c *v1alpha1.BackupBucketConfig) { c.Swift = swift().Swift }), "providerConfig.swift"),
		Entry("Swift with the block of S3", swift(func(c *v1alpha1.BackupBucketConfig) { c.S3 = s3().S3 }), "providerConfig.s3"),
		Entry("no endpoint", s3(endpoint("")), "providerConfig.s3.endpoint"),
		Entry("an endpoint without TLS", s3(endpoint("http://s3.example.com")), "providerConfig.s3.endpoint"),
		Entry("an endpoint with a path", s3(endpoint("https://s3.example.com/bucket")), "providerConfig.s3.endpoint"),
		Entry("an endpoint with a slash", s3(endpoint("https://s3.example.com/")), "providerConfig.s3.endpoint"),
		Entry("an endpoint with a login", s3(endpoint("https://user:hush@s3.example.com")), "providerConfig.s3.endpoint"),
		Entry("no region", s3(func(c *v1alpha1.BackupBucketConfig) { c.S3.Region = "" }), "providerConfig.s3.region"),
		Entry("a region of two lines", s3(func(c *v1alpha1.BackupBucketConfig) { c.S3.Region = "a\nb" }), "providerConfig.s3.region"),
		Entry("an authority that is none", s3(func(c *v1alpha1.BackupBucketConfig) { c.S3.CABundle = "hush" }), "providerConfig.s3.caBundle"),
		Entry("an empty authority", s3(func(c *v1alpha1.BackupBucketConfig) { c.S3.CABundle = "\n" }), "providerConfig.s3.caBundle"),
		Entry("a retention of nothing", s3(func(c *v1alpha1.BackupBucketConfig) { c.S3.Immutability = &v1alpha1.BackupImmutability{} }),
			"providerConfig.s3.immutability.retentionType", "providerConfig.s3.immutability.mode",
			"providerConfig.s3.immutability.retentionPeriod"),
		Entry("a retention of hours", s3(func(c *v1alpha1.BackupBucketConfig) { c.S3.Immutability.RetentionPeriod.Duration += time.Hour }),
			"providerConfig.s3.immutability.retentionPeriod"),
		Entry("Keystone without TLS", swift(authURL("http://keystone.example.com/v3")), "providerConfig.swift.authURL"),
		Entry("no Keystone", swift(authURL("")), "providerConfig.swift.authURL"),
		Entry("Swift without a region", swift(func(c *v1alpha1.BackupBucketConfig) { c.Swift.Region = "" }), "providerConfig.swift.region"),
	)

	DescribeTable("should keep the store and what makes objects immutable",
		func(before, after *v1alpha1.BackupBucketConfig, expected ...string) {
			Expect(fields(validation.ValidateBackupBucketConfigUpdate(after, before, path))).To(ConsistOf(expected))
		},
		Entry("nothing changes", s3(), s3()),
		Entry("a longer retention", s3(), s3(days(5))),
		Entry("the first retention", s3(mutable), s3()),
		Entry("a strict retention", s3(mode(v1alpha1.BackupRetentionModeGovernance)), s3(days(1))),
		Entry("a shorter retention of governance", s3(mode(v1alpha1.BackupRetentionModeGovernance)),
			s3(mode(v1alpha1.BackupRetentionModeGovernance), days(1))),
		Entry("another endpoint", s3(), s3(endpoint("https://s3.example.org"))),
		Entry("Swift", swift(), swift(authURL("https://keystone.example.org/v3"))),
		Entry("another store", s3(), swift(), "providerConfig.store"),
		Entry("no retention", s3(), s3(mutable), "providerConfig.s3.immutability"),
		Entry("no retention of governance", s3(mode(v1alpha1.BackupRetentionModeGovernance)), s3(mutable), "providerConfig.s3.immutability"),
		Entry("governance instead of compliance", s3(), s3(mode(v1alpha1.BackupRetentionModeGovernance), days(9)),
			"providerConfig.s3.immutability.mode"),
		Entry("a shorter retention", s3(), s3(days(3)), "providerConfig.s3.immutability.retentionPeriod"),
	)

	keys := func(names ...string) map[string][]byte {
		data := map[string][]byte{}
		for _, name := range names {
			data[name] = []byte("hush")
		}
		return data
	}
	password := []string{"domainName", "tenantName", "username", "password"}
	application := []string{"domainName", "tenantName", "applicationCredentialID", "applicationCredentialName", "applicationCredentialSecret"}

	DescribeTable("should validate credentials",
		func(store v1alpha1.BackupStore, data map[string][]byte, expected ...string) {
			Expect(fields(validation.ValidateBackupCredentials(store, data, field.NewPath("data")))).To(ConsistOf(expected))
		},
		Entry("S3", v1alpha1.BackupStoreS3, keys("accessKeyID", "secretAccessKey")),
		Entry("S3 without a secret", v1alpha1.BackupStoreS3, keys("accessKeyID"), "data[secretAccessKey]"),
		Entry("S3 with an empty secret", v1alpha1.BackupStoreS3, map[string][]byte{"accessKeyID": []byte("a"), "secretAccessKey": {}},
			"data[secretAccessKey]"),
		Entry("S3 with a line break", v1alpha1.BackupStoreS3, map[string][]byte{"accessKeyID": []byte("a"), "secretAccessKey": []byte("hush\n")},
			"data[secretAccessKey]"),
		Entry("S3 with an address", v1alpha1.BackupStoreS3, keys("accessKeyID", "secretAccessKey", "endpoint"), "data[endpoint]"),
		Entry("S3 with a key that it does not have", v1alpha1.BackupStoreS3, keys("accessKeyID", "secretAccessKey", "username"),
			"data[username]"),
		Entry("nothing", v1alpha1.BackupStoreS3, nil, "data[accessKeyID]", "data[secretAccessKey]"),
		Entry("Swift with a password", v1alpha1.BackupStoreSwift, keys(password...)),
		Entry("Swift with an application credential", v1alpha1.BackupStoreSwift, keys(application...)),
		Entry("an application credential without name", v1alpha1.BackupStoreSwift,
			keys("domainName", "tenantName", "applicationCredentialID", "applicationCredentialSecret"), "data[applicationCredentialName]"),
		Entry("no login", v1alpha1.BackupStoreSwift, keys("domainName", "tenantName"), "data[username]", "data[password]"),
		Entry("two logins", v1alpha1.BackupStoreSwift, keys(append(password, application...)...), "data"),
		Entry("a private authority", v1alpha1.BackupStoreSwift, keys(append(password, "caCert")...), "data[caCert]"),
		Entry("the store that nobody knows", v1alpha1.BackupStore("GCS"), nil),
	)
})
