// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/preflight"
)

var _ = Describe("Checks", func() {
	It("should have an ID of the same form, a title and a remedy each, and no ID twice", func() {
		seen := map[string]bool{}
		for _, check := range slices.Concat(preflight.SiteChecks(), preflight.PairChecks(), preflight.ProbeChecks()) {
			Expect(check.ID).To(MatchRegexp(`^(site|pair|probe)(-[a-z]+)+$`))
			Expect(seen).NotTo(HaveKey(check.ID))
			seen[check.ID] = true
			Expect(check.Title).To(MatchRegexp(`^[A-Z].*\.$`))
			Expect(check.Remedy).To(MatchRegexp(`^[A-Z].*\.$`))
		}
		Expect(len(seen)).To(BeNumerically(">=", 38))
	})

	It("should find nothing if nothing is wrong", func() {
		w := newWorld(serve(0))
		Expect(w.site()).To(BeEmpty())
		Expect(w.pair()).To(BeEmpty())
	})

	It("should not check a site that the shoot does not use", func() {
		_, err := newWorld(serve(0)).preflight().Site(context.Background(), "three", nil)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	It("should say which checks were skipped", func() {
		w := newWorld(serve(time.Hour))
		findings, err := w.preflight().Site(context.Background(), "one", []string{"site-clock"})
		Expect(err).NotTo(HaveOccurred())
		Expect(findings.Found).To(ConsistOf(HaveField("State", platform.Skipped)))
	})

	DescribeTable("of a site should find", func(mistake func(w *world), expected ...string) {
		w := newWorld(serve(0))
		mistake(w)
		found := w.site()
		Expect(found).To(HaveLen(len(expected)))
		for i := range expected {
			Expect(found[i]).To(ContainSubstring(expected[i]))
		}
	},
		Entry("a host without an address", func(w *world) { w.profile.Sites[0].VSphere.Server = "https://vc.invalid" },
			`site-api-resolve Failed cloudProfileConfig.sites[one]: Invalid value: "vc.invalid": the API of the site does not resolve`,
			"site-api-range Unknown not checked, because site-api-resolve failed", "site-api-seed Unknown", "site-api-answer Unknown",
			"site-certificate-name Unknown", "site-certificate-trust Unknown", "site-certificate-end Unknown", "site-clock Unknown"),
		Entry("a resolver that is down", func(w *world) {
			w.profile.Sites[0].VSphere.Server = "https://vc.invalid"
			w.options.Resolve = func(context.Context, string, string) ([]netip.Addr, error) { return nil, errors.New("no route") }
		}, "site-api-resolve Unknown vc.invalid could not be resolved: no route", "site-api-range Unknown", "site-api-seed Unknown",
			"site-api-answer Unknown", "site-certificate-name Unknown", "site-certificate-trust Unknown", "site-certificate-end Unknown",
			"site-clock Unknown"),
		Entry("an API in a range of the shoot", func(w *world) { blackhole(w, "10.0.2.7") },
			"site-api-range Failed config.sites[0].name", "site-api-answer Unknown", "site-certificate-name", "site-certificate-trust",
			"site-certificate-end", "site-clock Unknown not checked, because site-api-answer failed"),
		Entry("an API in a range of the seed", func(w *world) { blackhole(w, "10.241.3.4") },
			`site-api-seed Failed config.sites[0].name: Invalid value: "one": the proxy of the API of the site is at 10.241.3.4, `+
				`which is in the range 10.241.0.0/16 of the seed's pods`, "site-api-answer Unknown", "site-certificate-name", "site-certificate-trust",
			"site-certificate-end", "site-clock"),
		Entry("an API that the seed blocks", func(w *world) { w.shoot.Seed.BlockCIDRs = []string{"127.0.0.0/8"} },
			"site-api-seed Failed config.sites[0].name"),
		Entry("a certificate for another name", func(w *world) {
			w.profile.Sites[0].VSphere.Server = regexp.MustCompile(`127\.0\.0\.1`).ReplaceAllString(w.profile.Sites[0].VSphere.Server, "localhost")
			w.options.Resolve = func(context.Context, string, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
		}, `site-certificate-name Failed cloudProfileConfig.sites[one].tls: Invalid value: "localhost": the certificate is not for this name`,
			"site-clock Unknown not checked, because site-certificate-name failed"),
		Entry("a certificate of another authority", func(w *world) { w.profile.Sites[0].TLS = nil },
			"site-certificate-trust Failed cloudProfileConfig.sites[one].tls: Invalid value: \"(hidden)\": the server's certificate is signed by "+
				"an unknown authority", "site-clock Unknown"),
		Entry("another thumbprint", func(w *world) { w.profile.Sites[0].TLS = &v1alpha1.TLS{Thumbprint: "AA:BB"} },
			"site-certificate-trust Failed", "site-clock Unknown"),
		Entry("an API whose certificate ended", func(w *world) { ending(w, -time.Minute) },
			"site-certificate-end Failed cloudProfileConfig.sites[one].tls: Invalid value: \"(hidden)\": the certificate \"ending\" ends on",
			"site-authority-end Failed", "site-clock Unknown"),
		Entry("an API whose certificate ends soon", func(w *world) { ending(w, 29*24*time.Hour) },
			"site-certificate-end Warning", "site-authority-end Warning cloudProfileConfig.sites[one].tls.caCert: the authority"),
		Entry("an authority that ended beside one that did not", func(w *world) {
			w.profile.Sites[0].TLS.CACert += certificate(newCertificate(-time.Minute).Certificate[0])
		}, `site-authority-end Warning cloudProfileConfig.sites[one].tls.caCert: the authority "ending" has ended`),
		Entry("a clock that is a little fast", func(w *world) { clockOf(w, 0, time.Minute) },
			"site-clock Warning config.sites[0]: the clock of the API is 1m"),
		Entry("a clock that is slow", func(w *world) { clockOf(w, 0, -10*time.Minute) },
			`site-clock Failed config.sites[0]: Invalid value: "one": the clock of the API is `),
		Entry("nodes in the range of pods", func(w *world) { w.shoot.Networking.Pods = new("10.0.0.0/16") },
			"site-range-shoot Failed config.sites[0].nodes[0]", "site-gateway Failed config.sites[0].gateway"),
		Entry("nodes in the range of the seed", func(w *world) { w.shoot.Seed.Nodes = new("10.0.0.0/8") },
			"site-range-seed Warning config.sites[0].nodes[0]: 10.0.1.0/24 overlaps with the seed's nodes, which are 10.0.0.0/8"),
		Entry("nodes in a range that the seed blocks", func(w *world) { w.shoot.Seed.BlockCIDRs = []string{"10.0.1.9/32"} },
			"site-range-seed Warning"),
		Entry("nodes in a range of the seed with IPv6", func(w *world) {
			w.shoot.Config.Sites[0].Nodes = []string{"2001:db8:1::/64"}
			w.shoot.Seed.Pods = "2001:db8::/32"
		}, "site-range-seed Failed", "site-dns-family Failed config.sites[0].dnsServers"),
		Entry("nodes in a reserved range", func(w *world) { w.shoot.Config.Sites[0].Nodes = []string{"244.0.0.0/24"} },
			"site-range-reserved Failed config.sites[0].nodes[0]"),
		Entry("too few addresses for the maximum", func(w *world) { demand(w, 10, 254) },
			"site-range-size Warning config.sites[0].nodes[0]: 10.0.1.0/24 has 253 addresses for nodes, and the pools can have 254 machines"),
		Entry("enough addresses for the maximum of the site", func(w *world) {
			demand(w, 10, 254)
			w.shoot.Config.Sites[0].MaximumMachines = new(int32(253))
		}),
		Entry("too few addresses for the minimum", func(w *world) { demand(w, 254, 254) }, "site-range-size Failed"),
		Entry("a gateway elsewhere", func(w *world) { w.shoot.Config.Sites[0].Gateway = "10.0.9.1" },
			"site-gateway Failed config.sites[0].gateway"),
		Entry("a DNS server in the range of Services", func(w *world) { w.shoot.Config.Sites[0].DNSServers = []string{"100.64.0.10"} },
			`site-dns-range Failed config.sites[0].dnsServers[0]: Invalid value: "100.64.0.10": is in the range 100.64.0.0/13 of services`),
		Entry("a DNS server at a broadcast address", func(w *world) { w.shoot.Config.Sites[0].DNSServers = []string{"10.0.1.255", "1.1.1.1"} },
			"site-dns-range Failed config.sites[0].dnsServers[0]"),
		Entry("a DNS server on the node itself", func(w *world) { w.shoot.Config.Sites[0].DNSServers = []string{"127.0.0.53"} },
			"site-dns-range Failed"),
		Entry("an MTU above that of the network", func(w *world) {
			w.profile.Sites[0].MTU = new(int32(9000))
			w.profile.Sites[0].VSphere, w.profile.Sites[0].OpenStack = nil, &v1alpha1.OpenStackProfile{AuthURL: w.profile.Sites[1].VSphere.Server}
			w.shoot.Status = &v1alpha1.InfrastructureStatus{Sites: []v1alpha1.SiteStatus{
				{Name: "one", OpenStack: &v1alpha1.OpenStackStatus{NetworkMTU: 1450}}}}
		}, "site-mtu Warning config.sites[0].mtu: the MTU is 9000, but the site's network reports 1450, which is used"),
	)

	It("should not know the clock of an API that does not tell its time, nor fail", func() {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = nil }))
		DeferCleanup(server.Close)
		Expect(newWorld(server).site()).To(ConsistOf("site-clock Unknown config.sites[0]: the API does not tell its time"))
	})

	It("should ask a site once", func() {
		requests := 0
		server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
		DeferCleanup(server.Close)
		w := newWorld(server)
		w.profile.Sites[1].VSphere.Server = serve(0).URL
		p := w.preflight()
		for range 2 {
			_, err := p.Site(context.Background(), "one", nil)
			Expect(err).NotTo(HaveOccurred())
		}
		p.Pairs(context.Background(), nil)
		Expect(requests).To(Equal(1))
	})
})

// blackhole puts a proxy before the API of site "one" that seems to be at the address, where nothing answers.
func blackhole(w *world, address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	Expect(listener.Close()).To(Succeed())
	w.profile.Sites[0].VSphere.Server = "https://vc.invalid"
	w.profile.Sites[0].Proxy = &v1alpha1.Proxy{URL: fmt.Sprintf("http://localhost:%d", listener.Addr().(*net.TCPAddr).Port)}
	w.options.Resolve = func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr(address)}, nil
	}
}

func clockOf(w *world, index int, ahead time.Duration) {
	server := serve(ahead)
	w.profile.Sites[index].VSphere.Server, w.profile.Sites[index].TLS = server.URL, trust(server)
}

func demand(w *world, minimum, maximum int32) {
	w.shoot.Demands["one"] = []platform.Demand{{Pool: "pool", Minimum: minimum, Maximum: maximum}}
}

// ending moves the API of site "one" to a server whose certificate ends after the duration.
func ending(w *world, left time.Duration) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{newCertificate(left)}}
	server.StartTLS()
	DeferCleanup(server.Close)
	w.profile.Sites[0].VSphere.Server = server.URL
	w.profile.Sites[0].TLS = &v1alpha1.TLS{CACert: certificate(server.TLS.Certificates[0].Certificate[0])}
}

// newCertificate returns a certificate that signed itself and ends after the duration.
func newCertificate(left time.Duration) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ending"}, IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(left), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	Expect(err).NotTo(HaveOccurred())
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}
