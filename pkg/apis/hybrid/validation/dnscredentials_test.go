// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("ValidateDNSCredentials", func() {
	designate := func(change func(map[string]string)) map[string]string {
		keys := map[string]string{"authURL": "https://keystone.test/v3", "domainName": "d", "tenantName": "t", "username": "u",
			"password": "hush"}
		change(keys)
		return keys
	}
	server := func(change func(map[string]string)) map[string]string {
		keys := map[string]string{"server": "ns.test:5353", "tsigKeyName": "key.test.", "tsigSecret": "aHVzaA==", "tsigAlgorithm": "hmac-sha512"}
		change(keys)
		return keys
	}
	set := func(key, value string) func(map[string]string) {
		return func(keys map[string]string) { keys[key] = value }
	}
	without := func(names ...string) func(map[string]string) {
		return func(keys map[string]string) {
			for _, name := range names {
				delete(keys, name)
			}
		}
	}
	nothing := without()

	DescribeTable("should accept",
		func(kind string, keys map[string]string, prefix string) {
			Expect(validation.ValidateDNSCredentials(kind, keys, prefix, field.NewPath("data"))).To(BeEmpty())
		},
		Entry("Designate", v1alpha1.DNSTypeDesignate, designate(nothing), ""),
		Entry("an application credential", v1alpha1.DNSTypeDesignate,
			map[string]string{"authURL": "http://keystone.test", "applicationCredentialID": "i", "applicationCredentialSecret": "s"}, "dns."),
		Entry("a site", v1alpha1.DNSTypeDesignate, map[string]string{"site": "cloud"}, "dns."),
		Entry("a server", v1alpha1.DNSTypeRFC2136, server(nothing), ""),
		Entry("a server without port and algorithm", v1alpha1.DNSTypeRFC2136,
			server(func(k map[string]string) { k["server"] = "192.0.2.53"; delete(k, "tsigAlgorithm") }), ""),
		Entry("IPv6", v1alpha1.DNSTypeRFC2136, server(set("server", "[2001:db8::53]:53")), ""),
		Entry("IPv6 without port", v1alpha1.DNSTypeRFC2136, server(set("server", "2001:db8::53")), ""),
	)

	DescribeTable("should refuse",
		func(kind string, keys map[string]string, prefix string, fields ...string) {
			errs := validation.ValidateDNSCredentials(kind, keys, prefix, field.NewPath("data"))
			var found []string
			for _, err := range errs {
				found = append(found, err.Field)
				Expect(err.Error()).NotTo(ContainSubstring("hush"))
			}
			Expect(found).To(ConsistOf(fields))
		},
		Entry("no address", v1alpha1.DNSTypeDesignate, designate(without("authURL")), "", "data[authURL]"),
		Entry("an address with a user", v1alpha1.DNSTypeDesignate, designate(set("authURL", "https://a:hush@keystone.test")), "dns.",
			"data[dns.authURL]"),
		Entry("another scheme", v1alpha1.DNSTypeDesignate, designate(set("authURL", "file:///etc/passwd")), "", "data[authURL]"),
		Entry("no certificate", v1alpha1.DNSTypeDesignate, designate(set("caCert", "hush")), "", "data[caCert]"),
		Entry("half of a login", v1alpha1.DNSTypeDesignate, designate(without("password", "tenantName")), "", "data[password]",
			"data[tenantName]"),
		Entry("no login", v1alpha1.DNSTypeDesignate, map[string]string{"authURL": "https://keystone.test"}, "", "data[domainName]",
			"data[tenantName]", "data[username]", "data[password]"),
		Entry("two logins", v1alpha1.DNSTypeDesignate, designate(set("applicationCredentialID", "i")), "", "data[applicationCredentialID]"),
		Entry("a site outside of a shoot's Secret", v1alpha1.DNSTypeDesignate, map[string]string{"site": "cloud"}, "", "data[site]"),
		Entry("a site and a login", v1alpha1.DNSTypeDesignate, map[string]string{"site": "cloud", "password": "hush"}, "dns.",
			"data[dns.password]"),
		Entry("a wrong site", v1alpha1.DNSTypeDesignate, map[string]string{"site": "dns"}, "dns.", "data[dns.site]"),
		Entry("a key that nobody knows", v1alpha1.DNSTypeDesignate, designate(set("kubeconfig", "hush")), "", "data[kubeconfig]"),
		Entry("a key that nobody knows in the Secret of a shoot", v1alpha1.DNSTypeRFC2136, server(set("exec", "hush")), "dns.", "data[dns.exec]"),
		Entry("white space", v1alpha1.DNSTypeDesignate, designate(set("password", "hush\n")), "", "data[password]"),
		Entry("nothing for a server", v1alpha1.DNSTypeRFC2136, map[string]string{}, "", "data[server]", "data[tsigKeyName]", "data[tsigSecret]"),
		Entry("a wrong port", v1alpha1.DNSTypeRFC2136, server(set("server", "ns.test:0")), "", "data[server]"),
		Entry("a URL as server", v1alpha1.DNSTypeRFC2136, server(set("server", "https://ns.test")), "", "data[server]"),
		Entry("a secret that is not base64", v1alpha1.DNSTypeRFC2136, server(set("tsigSecret", "hush!")), "", "data[tsigSecret]"),
		Entry("a wrong name of the key", v1alpha1.DNSTypeRFC2136, server(set("tsigKeyName", "a b")), "", "data[tsigKeyName]"),
		Entry("SHA-1", v1alpha1.DNSTypeRFC2136, server(set("tsigAlgorithm", "hmac-sha1")), "", "data[tsigAlgorithm]"),
	)
})
