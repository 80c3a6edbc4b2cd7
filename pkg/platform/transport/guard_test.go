// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	neturl "net/url"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// answers is a resolver that gives one answer after the other, and the last one for ever.
type answers struct {
	asked int
	given []string
}

func (a *answers) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	given := a.given[min(a.asked, len(a.given)-1)]
	a.asked++
	var addresses []netip.Addr
	for text := range strings.FieldsSeq(given) {
		addresses = append(addresses, netip.MustParseAddr(text))
	}
	return addresses, nil
}

func networks(texts ...string) []netip.Prefix {
	var result []netip.Prefix
	for _, text := range texts {
		result = append(result, netip.MustParsePrefix(text))
	}
	return result
}

var _ = Describe("Guard", func() {
	// forbidden reports whether the guard refuses the addresses. The context has ended, so that nobody is connected to.
	forbidden := func(g transport.Guard, addresses string) bool {
		g.Resolver = &answers{given: []string{addresses}}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := g.DialContext(ctx, "tcp", "host.test:443")
		Expect(err).To(HaveOccurred())
		return strings.Contains(err.Error(), transport.ErrForbidden.Error())
	}

	DescribeTable("should refuse addresses that are not public, and those of the seed",
		func(addresses string) {
			Expect(forbidden(transport.Guard{Refused: networks("8.8.0.0/16", "2600:9000::/28")}, addresses)).To(BeTrue())
		},
		Entry("loopback", "127.0.0.1"), Entry("any of loopback", "127.255.255.254"), Entry("loopback of IPv6", "::1"),
		Entry("unspecified", "0.0.0.0"), Entry("unspecified of IPv6", "::"), Entry("this network", "0.1.2.3"),
		Entry("metadata", "169.254.169.254"), Entry("link-local of IPv6", "fe80::1"), Entry("link-local with a zone", "fe80::1%eth0"),
		Entry("metadata of AWS over IPv6", "fd00:ec2::254"), Entry("metadata of Alibaba", "100.100.100.200"),
		Entry("metadata of Azure", "168.63.129.16"), Entry("metadata of Oracle", "192.0.0.192"),
		Entry("10/8", "10.0.5.9"), Entry("172.16/12", "172.31.255.255"), Entry("192.168/16", "192.168.1.1"), Entry("unique local", "fc00::1"),
		Entry("carrier-grade NAT", "100.64.0.1"), Entry("multicast", "224.0.0.1"), Entry("multicast of IPv6", "ff02::1"),
		Entry("reserved", "240.0.0.1"), Entry("broadcast", "255.255.255.255"), Entry("benchmarks", "198.19.0.1"),
		Entry("documentation", "192.0.2.1"), Entry("documentation 2", "198.51.100.1"), Entry("documentation 3", "203.0.113.1"),
		Entry("documentation of IPv6", "2001:db8::1"), Entry("documentation of IPv6, new", "3fff::1"),
		Entry("mapped", "::ffff:127.0.0.1"), Entry("mapped private", "::ffff:10.0.0.1"), Entry("compatible", "::10.0.0.1"),
		Entry("translated", "64:ff9b::a00:1"), Entry("translated metadata", "64:ff9b::a9fe:a9fe"), Entry("translated locally",
			"64:ff9b:1::a00:1"),
		Entry("6to4", "2002:a00:1::1"), Entry("Teredo", "2001:0:1::1"), Entry("stateless translation", "::ffff:0:10.0.0.1"),
		Entry("site-local", "fec0::1"), Entry("not assigned", "4000::1"), Entry("discard-only", "100::1"),
		Entry("of the seed", "8.8.8.8"), Entry("of the seed, IPv6", "2600:9000::1"), Entry("of the seed, translated", "64:ff9b::808:808"),
		Entry("of the seed, mapped", "::ffff:8.8.8.8"), Entry("all of several", "10.0.0.1 ::1"),
	)

	DescribeTable("should let pass",
		func(addresses string, g transport.Guard) { Expect(forbidden(g, addresses)).To(BeFalse()) },
		Entry("public addresses", "9.9.9.9", transport.Guard{}),
		Entry("public addresses of IPv6", "2620:fe::fe", transport.Guard{}),
		Entry("public addresses that are translated", "64:ff9b::909:909", transport.Guard{}),
		Entry("the public one of several", "10.0.0.1 9.9.9.9", transport.Guard{}),
		Entry("what the operator allows", "10.1.2.3", transport.Guard{Allowed: networks("10.1.0.0/16")}),
		Entry("what the operator allows by the same network", "127.0.0.1", transport.Guard{Allowed: networks("127.0.0.0/8")}),
		Entry("what the operator allows within the seed", "10.1.2.3",
			transport.Guard{Allowed: networks("10.1.2.3/32"), Refused: networks("10.1.0.0/16")}),
		Entry("what the operator allows of IPv6", "fd12::1", transport.Guard{Allowed: networks("fd12::/16")}),
	)

	It("should refuse the seed within what the operator allows", func() {
		g := transport.Guard{Allowed: networks("10.0.0.0/8", "0.0.0.0/0")}
		Expect(forbidden(*g.Refusing(networks("10.1.0.0/16")), "10.1.2.3")).To(BeTrue())
		Expect(forbidden(g, "192.168.0.1")).To(BeTrue())
		Expect(forbidden(transport.Guard{Allowed: networks("::/0")}, "fd00:ec2::254 fe80::1 ::1")).To(BeTrue())
		Expect(forbidden(g, "10.1.2.3")).To(BeFalse())
	})

	It("should connect to the address that it checked, whatever the name is next", func(ctx SpecContext) {
		l, err := net.Listen("tcp", "127.0.0.2:0")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(l.Close)
		rebinding := &answers{given: []string{"127.0.0.2", "127.0.0.3"}}
		g := transport.Guard{Allowed: networks("127.0.0.2/32"), Resolver: rebinding}
		_, port, err := net.SplitHostPort(l.Addr().String())
		Expect(err).NotTo(HaveOccurred())
		conn, err := g.DialContext(ctx, "tcp", net.JoinHostPort("rebind.test", port))
		Expect(err).NotTo(HaveOccurred())
		Expect(conn.RemoteAddr().String()).To(Equal(l.Addr().String()))
		Expect(conn.Close()).To(Succeed())
		Expect(rebinding.asked).To(Equal(1))
		_, err = g.DialContext(ctx, "tcp", net.JoinHostPort("rebind.test", port))
		Expect(err).To(MatchError(transport.ErrForbidden))
	})

	Describe("of a transport", func() {
		get := func(ctx context.Context, url string, options transport.Options) error {
			options.Describe = func(*http.Request) (string, string) { return "service", "method" }
			var err error
			options.Server, err = neturl.Parse(url)
			Expect(err).NotTo(HaveOccurred())
			t, err := transport.New(options)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(t.CloseIdleConnections)
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			Expect(err).NotTo(HaveOccurred())
			response, err := t.RoundTrip(request)
			if err == nil {
				Expect(response.Body.Close()).To(Succeed())
			}
			return err
		}
		allowed := transport.Guard{Allowed: networks("127.0.0.0/8")}

		It("should refuse requests without TLS unless the operator allows both", func(ctx SpecContext) {
			server := httptest.NewServer(http.NotFoundHandler())
			DeferCleanup(server.Close)
			Expect(get(ctx, server.URL, transport.Options{Guard: &allowed})).To(MatchError(transport.ErrForbidden))
			plain := allowed
			plain.PlainHTTP = true
			Expect(get(ctx, server.URL, transport.Options{Guard: &plain})).To(Succeed())
			plain.Allowed = nil
			Expect(get(ctx, server.URL, transport.Options{Guard: &plain})).To(MatchError(transport.ErrForbidden))
			plain.Resolver = &answers{given: []string{"9.9.9.9"}}
			Expect(get(ctx, "http://public.test", transport.Options{Guard: &plain})).To(MatchError(transport.ErrForbidden))
			Expect(get(ctx, "ftp://public.test", transport.Options{Guard: &plain})).To(MatchError(transport.ErrForbidden))
		})

		It("should refuse addresses over TLS, and ask no proxy", func(ctx SpecContext) {
			server := httptest.NewTLSServer(http.NotFoundHandler())
			DeferCleanup(server.Close)
			options := transport.Options{TLS: &v1alpha1.TLS{InsecureSkipVerify: true}, Proxy: &v1alpha1.Proxy{URL: "http://127.0.0.1:1"}}
			options.Guard = &transport.Guard{}
			Expect(get(ctx, server.URL, options)).To(MatchError(transport.ErrForbidden))
			options.Guard = &allowed
			Expect(get(ctx, server.URL, options)).To(Succeed())
		})
	})
})
