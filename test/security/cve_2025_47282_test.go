// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"net/http"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// A DNS credential names the endpoint that the seed connects to, and the endpoint names further ones.
var _ = Describe("CVE-2025-47282", func() {
	DescribeTable("should not connect where a Secret says",
		func(ctx SpecContext, host string) {
			victim := serve("127.0.0.2", true, stolen)
			plain := serve("127.0.0.2", false, stolen)
			for _, address := range []string{"https://" + host + ":" + victim.port(), "https://" + host, "http://" + host + ":" + plain.port()} {
				a := newAttacker()
				a.guard.PlainHTTP = true
				a.guard.Resolver = &names{answers: map[string][]string{"kube-apiserver.shoot--other--x.svc": {"127.0.0.2"}, "localhost": {"127.0.0.2"}}}
				Expect(a.try(ctx, v1alpha1.DNSTypeDesignate, login(address+"/v3", victim.authority())).text).To(HaveSuffix(unusable))
			}
			a := newAttacker()
			keys := map[string]string{"server": host + ":" + victim.port(), "tsigKeyName": "k", "tsigSecret": "aHVzaA=="}
			if host[0] != '[' {
				Expect(a.try(ctx, v1alpha1.DNSTypeRFC2136, keys).text).To(HaveSuffix(unusable))
			}
			Expect(victim.requests.Load() + plain.requests.Load()).To(BeZero())
		},
		Entry("loopback", "127.0.0.2"),
		Entry("loopback by its name", "localhost"),
		Entry("loopback of IPv6", "[::1]"),
		Entry("mapped loopback", "[::ffff:127.0.0.2]"),
		Entry("translated loopback", "[64:ff9b::7f00:2]"),
		Entry("metadata", "169.254.169.254"),
		Entry("a management network", "10.0.5.9"),
		Entry("a service of the seed", "kube-apiserver.shoot--other--x.svc"),
	)

	DescribeTable("should not connect where a catalog says",
		func(ctx SpecContext, address string) {
			victim := serve("127.0.0.2", true, stolen)
			plain := serve("127.0.0.1", false, stolen)
			switch address {
			case "victim":
				address = victim.URL
			case "plain":
				address = plain.URL
			}
			evil := keystone(func() string { return address + "/" }, http.NotFound)
			Expect(newAttacker().designate(ctx, evil).text).To(HaveSuffix(unusable))
			Expect(victim.requests.Load() + plain.requests.Load()).To(BeZero())
			Expect(evil.requests.Load()).To(BeNumerically(">", 0))
		},
		Entry("metadata", "http://169.254.169.254"),
		Entry("metadata over TLS", "https://169.254.169.254"),
		Entry("a management network", "https://10.0.5.9"),
		Entry("loopback", "victim"),
		Entry("a public host without TLS", "plain"),
		Entry("another scheme", "file:///etc/passwd"),
	)

	It("should not be led elsewhere by a name whose answer changes", func(ctx SpecContext) {
		victim := serve("127.0.0.2", true, stolen)
		// The certificate is that of example.com, on each server. The first answer passes, and the next ones are inside.
		evil := keystone(func() string { return "https://example.com:" + victim.port() + "/" }, http.NotFound)
		a := newAttacker()
		a.guard.Resolver = &names{answers: map[string][]string{"example.com": {"127.0.0.1", "127.0.0.2"}}}
		keys := login("https://example.com:"+evil.port()+"/v3", evil.authority())
		Expect(a.try(ctx, v1alpha1.DNSTypeDesignate, keys).text).To(HaveSuffix(unusable))
		Expect(victim.requests.Load()).To(BeZero())
		Expect(evil.requests.Load()).To(BeNumerically("==", 1))
	})

	It("should not connect to the networks of the seed within what the operator allows", func(ctx SpecContext) {
		victim := serve("127.0.0.2", true, stolen)
		a := newAttacker()
		a.guard.Allowed = append(a.guard.Allowed, netip.MustParsePrefix("127.0.0.0/8"))
		a.guard.Refused = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/31")}
		Expect(a.try(ctx, v1alpha1.DNSTypeDesignate, login(victim.URL+"/v3", victim.authority())).text).To(HaveSuffix(unusable))
		Expect(victim.requests.Load()).To(BeZero())
	})
})
