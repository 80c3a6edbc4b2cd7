// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Zones", func() {
	zones := []dns.Zone{{ID: "1", Name: "test."}, {ID: "2", Name: "example.test."}, {ID: "3", Name: "a.example.test."},
		{ID: "4", Name: "ample.test."}}

	DescribeTable("Longest",
		func(name, id string) {
			zone, ok := dns.Longest(zones, name)
			Expect(ok).To(Equal(id != ""))
			Expect(zone.ID).To(Equal(id))
		},
		Entry("a name in it", "api.example.test.", "2"),
		Entry("its own name", "example.test.", "2"),
		Entry("the deepest", "x.y.a.example.test.", "3"),
		Entry("whole labels only", "xample.test.", "1"),
		Entry("none", "example.org.", ""),
	)

	It("should list the names above", func() {
		Expect(dns.Parents("*.a.test.")).To(Equal([]string{"*.a.test.", "a.test.", "test."}))
	})

	It("should remember and forget", func() {
		var cache dns.Cache[string]
		_, ok := cache.Get("a")
		Expect(ok).To(BeFalse())
		cache.Put("a", "1")
		value, ok := cache.Get("a")
		Expect(ok).To(BeTrue())
		Expect(value).To(Equal("1"))
		cache.Forget("a")
		_, ok = cache.Get("a")
		Expect(ok).To(BeFalse())
	})
})

var _ = Describe("ParseCredentials", func() {
	DescribeTable("should find the entries",
		func(data map[string][]byte, expected dns.Credentials, prefix string) {
			credentials, found := dns.ParseCredentials(data)
			Expect(credentials).To(Equal(expected))
			Expect(found).To(Equal(prefix))
		},
		Entry("of a DNS Secret", map[string][]byte{"server": []byte("a")}, dns.Credentials{"server": "a"}, ""),
		Entry("of a shoot's", map[string][]byte{"dns.server": []byte("a"), "cloud.username": []byte("b")}, dns.Credentials{"server": "a"},
			"dns."),
		Entry("of external-dns-management", map[string][]byte{"OS_AUTH_URL": []byte("a"), "OS_USERNAME": []byte("b"), "username": []byte("c")},
			dns.Credentials{"authURL": "a", "username": "c"}, ""),
		Entry("of nothing", nil, dns.Credentials{}, ""),
	)
})

var _ = Describe("Registry", func() {
	It("should refuse other types", func() {
		_, err := dns.Registry{}.For("other")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})
})
