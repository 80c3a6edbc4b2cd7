// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("NewRecord", func() {
	DescribeTable("should write values as they stand in a zone file",
		func(kind dns.Type, values, expected []string) {
			record, err := dns.NewRecord("API.Example.test", kind, values, nil)
			Expect(err).NotTo(HaveOccurred())
			Expect(record).To(Equal(dns.Record{Name: "api.example.test.", Type: kind, TTL: 120, Values: expected}))
			rrs, err := record.RRs()
			Expect(err).NotTo(HaveOccurred())
			for i, rr := range rrs {
				Expect(dns.ValueOf(rr)).To(Equal(expected[i]))
			}
			Expect(record.SameValues(append(expected, expected[0]))).To(BeTrue())
		},
		Entry("addresses, each once and sorted", dns.TypeA, []string{"192.0.2.9", "192.0.2.10", "192.0.2.9"},
			[]string{"192.0.2.10", "192.0.2.9"}),
		Entry("IPv6", dns.TypeAAAA, []string{"2001:DB8:0:0::1"}, []string{"2001:db8::1"}),
		Entry("CNAME", dns.TypeCNAME, []string{"LB.example.test"}, []string{"lb.example.test."}),
		Entry("CNAME with a dot at its end", dns.TypeCNAME, []string{"lb.example.test."}, []string{"lb.example.test."}),
		Entry("text", dns.TypeTXT, []string{"a b", `"\`, "\x00é"}, []string{`"\"\\"`, `"\000\195\169"`, `"a b"`}),
		Entry("empty text", dns.TypeTXT, []string{""}, []string{`""`}),
		Entry("long text", dns.TypeTXT, []string{strings.Repeat("x", 254)}, []string{`"` + strings.Repeat("x", 253) + `" "x"`}),
		Entry("long text with escapes", dns.TypeTXT, []string{strings.Repeat("\x00", 64)},
			[]string{`"` + strings.Repeat(`\000`, 63) + `" "\000"`}),
	)

	DescribeTable("should refuse",
		func(name string, kind dns.Type, values []string, ttl *int64, message string) {
			_, err := dns.NewRecord(name, kind, values, ttl)
			Expect(err).To(MatchError(ContainSubstring(message)))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("the root", ".", dns.TypeA, []string{"192.0.2.1"}, nil, "spec.name"),
		Entry("no name", "", dns.TypeA, []string{"192.0.2.1"}, nil, "spec.name"),
		Entry("a name with a space", "a b.test", dns.TypeA, []string{"192.0.2.1"}, nil, "spec.name"),
		Entry("a wildcard in the middle", "a.*.test", dns.TypeA, []string{"192.0.2.1"}, nil, "spec.name"),
		Entry("a long label", strings.Repeat("a", 64)+".test", dns.TypeA, []string{"192.0.2.1"}, nil, "spec.name"),
		Entry("a long name", strings.Repeat("abcdefgh.", 29)+"test", dns.TypeA, []string{"192.0.2.1"}, nil, "spec.name"),
		Entry("a line break", "a.test", dns.TypeCNAME, []string{"b.test\nc 1 A 192.0.2.1"}, nil, "spec.values[0]"),
		Entry("IPv6 in A", "a.test", dns.TypeA, []string{"192.0.2.1", "2001:db8::1"}, nil, "spec.values[1]"),
		Entry("IPv4 in AAAA", "a.test", dns.TypeAAAA, []string{"192.0.2.1"}, nil, "spec.values[0]"),
		Entry("mapped IPv4", "a.test", dns.TypeAAAA, []string{"::ffff:192.0.2.1"}, nil, "spec.values[0]"),
		Entry("a zoned address", "a.test", dns.TypeAAAA, []string{"fe80::1%eth0"}, nil, "spec.values[0]"),
		Entry("a wildcard as target", "a.test", dns.TypeCNAME, []string{"*.test"}, nil, "spec.values[0]"),
		Entry("two targets", "a.test", dns.TypeCNAME, []string{"b.test", "c.test"}, nil, "spec.values"),
		Entry("nothing", "a.test", dns.TypeA, nil, nil, "spec.values"),
		Entry("another type", "a.test", dns.Type("MX"), []string{"10 b.test"}, nil, `"MX"`),
		Entry("no TTL", "a.test", dns.TypeA, []string{"192.0.2.1"}, new(int64(0)), "spec.ttl"),
		Entry("too long a TTL", "a.test", dns.TypeA, []string{"192.0.2.1"}, new(int64(1<<31)), "spec.ttl"),
	)

	It("should take a wildcard, an underscore and a TTL", func() {
		record, err := dns.NewRecord("*._x.test.", dns.TypeA, []string{"192.0.2.1"}, new(int64(60)))
		Expect(err).NotTo(HaveOccurred())
		Expect(record.Name).To(Equal("*._x.test."))
		Expect(record.TTL).To(Equal(uint32(60)))
	})
})

var _ = Describe("CanonicalValue", func() {
	DescribeTable("should read what servers have",
		func(kind dns.Type, data, expected string) {
			Expect(dns.CanonicalValue(kind, data)).To(Equal(expected))
		},
		Entry("address", dns.TypeAAAA, "2001:0db8::0001", "2001:db8::1"),
		Entry("name", dns.TypeCNAME, "LB.Example.test.", "lb.example.test."),
		Entry("text", dns.TypeTXT, `"a" "b"`, `"a" "b"`),
	)

	It("should say what it cannot read", func() {
		_, err := dns.CanonicalValue(dns.TypeA, "x")
		Expect(err).To(HaveOccurred())
	})
})
