// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/preflight"
)

// reportOf returns the report of a probe of the site to which everything is right. address is that of the probe, gateway that of the
// network, and peer and other the other site and the address of its probe.
func reportOf(name, address, gateway, peer, other string) *preflight.Report {
	now := time.Now()
	return &preflight.Report{
		Version: 1, Site: name, Time: now.Unix(),
		Interfaces: []preflight.Interface{{Name: "eth0", MTU: 1500, Addresses: []string{address + "/24"}}},
		Gateways:   []string{gateway},
		DHCP: preflight.DHCP{State: preflight.AnswerOK, Answers: []preflight.Offer{
			{Source: "udhcpc", Server: gateway, Address: address, Routers: []string{gateway}}}},
		Clock: &preflight.ClockReading{From: "https://registry.k8s.io:443/", Date: now.UTC().Format(http.TimeFormat), Before: now.Unix(),
			After: now.Unix()},
		DNS: []preflight.NameAnswer{{Server: "192.0.2.53", Name: "registry.k8s.io", State: preflight.AnswerOK}},
		Targets: []preflight.Target{{Role: "apiserver", Target: "api:443", State: preflight.AnswerOK},
			{Role: "registry", Target: "registry.k8s.io:443", State: preflight.AnswerOK}},
		Paths: []preflight.Path{{To: "gateway", Address: gateway, State: preflight.AnswerOK, MTU: 1500}},
		Peers: []preflight.Path{{To: peer, Address: other, State: preflight.AnswerOK, MTU: 1500}},
	}
}

var _ = Describe("Checks with reports of probes", func() {
	var (
		w        *world
		one, two *preflight.Report
	)

	BeforeEach(func() {
		w = newWorld(serve(0))
		one, two = reportOf("one", "10.0.1.9", "10.0.1.1", "two", "10.0.2.9"), reportOf("two", "10.0.2.9", "10.0.2.1", "one", "10.0.1.9")
		w.shoot.Reports["one"], w.shoot.Reports["two"] = one, two
	})

	It("should find nothing if nothing is wrong", func() {
		Expect(w.site()).To(BeEmpty())
		Expect(w.pair()).To(BeEmpty())
	})

	DescribeTable("of a site should find", func(mistake func(), expected ...string) {
		mistake()
		found := w.site()
		Expect(found).To(HaveLen(len(expected)))
		for i := range expected {
			Expect(found[i]).To(ContainSubstring(expected[i]))
		}
	},
		Entry("an old report", func() { one.Time -= 90_000 }, "probe-age Warning probeReport[one].time: the report is of"),
		Entry("a probe elsewhere", func() { one.Interfaces[0].Addresses = []string{"192.0.2.1/24", "garbage"} },
			`probe-address Failed probeReport[one].interfaces: Invalid value: "[192.0.2.1/24 garbage]"`,
			"probe-gateway Unknown not checked, because probe-address failed", "probe-interface-mtu Unknown", "probe-gateway-mtu Unknown",
			"probe-dhcp Unknown", "probe-dhcp-range Unknown", "probe-dhcp-router Unknown", "probe-dhcp-servers Unknown", "probe-dns Unknown",
			"probe-clock Unknown", "probe-api-server Unknown", "probe-registry Unknown"),
		Entry("another gateway", func() { one.Gateways = []string{"10.0.1.254"} },
			"probe-gateway Warning config.sites[0].gateway: hosts in the network use 10.0.1.254, not 10.0.1.1"),
		Entry("no gateway", func() { one.Gateways = nil }, "probe-gateway Unknown"),
		Entry("an interface with a small MTU", func() { one.Interfaces[0].MTU = 1400 },
			`probe-interface-mtu Failed config.sites[0].mtu: Invalid value: "1500": interface eth0 of the probe has the MTU 1400`,
			"probe-gateway-mtu Unknown"),
		Entry("an interface whose MTU is not known", func() { one.Interfaces[0].MTU = 0 }, "probe-interface-mtu Unknown"),
		Entry("a switch with a small MTU", func() { one.Paths[0].MTU = 1400 },
			`probe-gateway-mtu Failed config.sites[0].mtu: Invalid value: "1500": packets to gateway 10.0.1.1 can have 1400 bytes`),
		Entry("a way that cannot be measured", func() { one.Paths[0].MTU = 0 }, "probe-gateway-mtu Unknown"),
		Entry("a gateway that does not answer", func() { one.Paths[0].State = preflight.AnswerFailed },
			"probe-gateway-mtu Unknown probeReport[one].paths: gateway 10.0.1.1 does not answer to ping"),
		Entry("no DHCP server", func() { one.DHCP = preflight.DHCP{State: preflight.AnswerFailed} }, "probe-dhcp Warning"),
		Entry("no DHCP client", func() { one.DHCP = preflight.DHCP{State: preflight.AnswerUnknown} }, "probe-dhcp Unknown"),
		Entry("a DHCP server with another range", func() { one.DHCP.Answers[0].Address = "10.0.9.9" },
			`probe-dhcp-range Failed config.sites[0].nodes: Invalid value: "[10.0.1.0/24]": DHCP server 10.0.1.1 assigns 10.0.9.9`),
		Entry("a DHCP server with another gateway", func() { one.DHCP.Answers[0].Routers = []string{"10.0.1.254"} },
			"probe-dhcp-router Warning"),
		Entry("two DHCP servers", func() {
			one.DHCP.Answers = append(one.DHCP.Answers, preflight.Offer{Server: "10.0.1.77", Address: "10.0.1.8"})
		}, "probe-dhcp-servers Warning probeReport[one].dhcp: 10.0.1.1 and 10.0.1.77 answer"),
		Entry("a DNS server that does not answer", func() {
			one.DNS = append(one.DNS, preflight.NameAnswer{Server: "192.0.2.54", Name: "registry.k8s.io", State: preflight.AnswerFailed})
		}, `probe-dns Failed config.sites[0].dnsServers: Invalid value: "192.0.2.54": the server resolves no name`),
		Entry("a name that no DNS server knows", func() {
			one.DNS = append(one.DNS, preflight.NameAnswer{Server: "192.0.2.53", Name: "api.invalid", State: preflight.AnswerFailed})
		}, `probe-dns Failed config.sites[0].dnsServers: Invalid value: "api.invalid": no server resolves the name`),
		Entry("DNS servers that cannot be asked", func() { one.DNS[0].State = preflight.AnswerUnknown }, "probe-dns Unknown"),
		Entry("a clock that is wrong", func() { one.Clock.Before, one.Clock.After = one.Clock.Before+900, one.Clock.After+900 },
			"probe-clock Failed config.sites[0]: Invalid value: \"one\": the clock of the probe is 15m"),
		Entry("a clock that is not known", func() { one.Clock = nil }, "probe-clock Unknown"),
		Entry("a reading of a clock that makes no sense", func() { one.Clock.After -= 60 }, "probe-clock Unknown"),
		Entry("an API server that nodes do not reach", func() { one.Targets[0].State = preflight.AnswerFailed },
			`probe-api-server Failed probeReport[one].targets: Invalid value: "api:443": cannot be reached from the site's network`),
		Entry("an API server that is not known", func() { one.Targets = one.Targets[1:] }, "probe-api-server Unknown"),
		Entry("a registry that cannot be tried", func() { one.Targets[1].State = preflight.AnswerUnknown }, "probe-registry Unknown"),
	)

	It("should compare the clock of a probe with this host if the API that told the time is wrong, too", func() {
		clockOf(w, 0, 10*time.Minute)
		one.Clock.From = w.profile.Sites[0].VSphere.Server
		one.Clock.Date = time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)
		Expect(w.site()).To(ConsistOf(ContainSubstring("site-clock Failed")))
	})

	DescribeTable("of a pair should find", func(mistake func(), expected ...string) {
		mistake()
		found := w.pair()
		Expect(found).To(HaveLen(len(expected)))
		for i := range expected {
			Expect(found[i]).To(ContainSubstring(expected[i]))
		}
	},
		Entry("a report that is missing", func() { delete(w.shoot.Reports, "two") },
			`pair-probe Unknown config.sites[1]: there is no report of the probe of site "two"`),
		Entry("two reports of one host", func() { two.Interfaces = one.Interfaces; w.shoot.Config.Sites[1].Nodes = []string{"10.0.1.0/24"} },
			"pair-range Failed", "pair-topology Unknown", "pair-probe Failed", "pair-reach Unknown", "pair-path-mtu Unknown",
			"pair-probe-clock Unknown"),
		Entry("a way that is open in one direction", func() { two.Peers[0].State = preflight.AnswerFailed },
			`pair-reach Failed probeReport[two].peers: Invalid value: "10.0.1.9": site "two" does not reach site "one"`,
			"pair-path-mtu Unknown not checked, because pair-reach failed"),
		Entry("a probe that did not know the other one", func() { one.Peers = nil }, "pair-reach Unknown"),
		Entry("a probe without ping", func() { one.Peers[0].State = preflight.AnswerUnknown }, "pair-reach Unknown"),
		Entry("a tunnel with a small MTU", func() { two.Peers[0].MTU = 1420 },
			`pair-path-mtu Failed config.sites[1].mtu: Invalid value: "1500": packets from site "two" to site "one" can have 1420 bytes`),
		Entry("a way that cannot be measured", func() { two.Peers[0].MTU = 0 }, "pair-path-mtu Unknown"),
		Entry("clocks that differ", func() { two.Clock.Before, two.Clock.After = two.Clock.Before-60, two.Clock.After-60 },
			`pair-probe-clock Warning config.sites[1]: the clock of the probe of site "two" is 1m`),
		Entry("a clock that is not known", func() { two.Clock = nil }, "pair-probe-clock Unknown"),
	)

	It("should take a tunnel that has the MTU of the shoot", func() {
		w.shoot.Config.Networks.MTU = new(int32(1420))
		two.Peers[0].MTU = 1420
		Expect(w.pair()).To(BeEmpty())
	})
})

var _ = Describe("ReadReport", func() {
	read := func(text string) (*preflight.Report, error) { return preflight.ReadReport(strings.NewReader(text)) }

	It("should read a report", func() {
		report, err := read(`{"version":1,"site":"one","time":7,"dhcp":{"state":"unknown","answers":[]},` +
			`"peers":[{"to":"two","address":"10.0.2.9","state":"ok","mtu":1500}]}`)
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Peers).To(ConsistOf(preflight.Path{To: "two", Address: "10.0.2.9", State: preflight.AnswerOK, MTU: 1500}))
	})

	It("should make texts printable", func() {
		report, err := read(`{"version":1,"site":"one\u001b[31m\nred","gateways":["` + strings.Repeat("a", 4000) + `"],"dhcp":{"state":"ok"}}`)
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Site).To(Equal("one[31m red"))
		Expect(len(report.Gateways[0])).To(BeNumerically("<=", 200))
	})

	DescribeTable("should refuse", func(text, message string) {
		_, err := read(text)
		Expect(err).To(MatchError(ContainSubstring(message)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	},
		Entry("nothing", "", "must be the JSON document"),
		Entry("too much", `{"version":1,"site":"`+strings.Repeat("a", 300_000)+`"}`, "more than 262144 bytes"),
		Entry("another version", `{"version":2}`, "version 1, but has 2"),
		Entry("unknown fields", `{"version":1,"command":"reboot"}`, `unknown field "command"`),
		Entry("two documents", `{"version":1}{"version":1}`, "must be one JSON document"),
		Entry("other types", `{"version":1,"time":"now"}`, "must be the JSON document"),
		Entry("numbers out of range", `{"version":1,"time":99999999999999999999}`, "must be the JSON document"),
		Entry("negative numbers", `{"version":1,"time":-1}`, "negative number"),
		Entry("unknown states", `{"version":1,"dhcp":{"state":"perhaps"}}`, `state "perhaps"`),
		Entry("long lists", `{"version":1,"gateways":[`+strings.Repeat(`"",`, 1024)+`""]}`, "more than 1024 elements"),
	)
})
