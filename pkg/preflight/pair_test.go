// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Checks of pairs", func() {
	stretched := func(w *world) {
		w.shoot.Config.Networks = v1alpha1.Networks{Topology: v1alpha1.TopologyStretched, Nodes: []string{"10.0.0.0/16"}}
	}

	It("should find nothing in one network without mistakes", func() {
		w := newWorld(serve(0))
		stretched(w)
		Expect(w.pair()).To(BeEmpty())
	})

	DescribeTable("should find", func(mistake func(w *world), expected ...string) {
		w := newWorld(serve(0))
		mistake(w)
		found := w.pair()
		Expect(found).To(HaveLen(len(expected)))
		for i := range expected {
			Expect(found[i]).To(ContainSubstring(expected[i]))
		}
	},
		Entry("ranges that overlap", func(w *world) { w.shoot.Config.Sites[1].Nodes = []string{"10.0.1.128/25"} },
			`pair-range Failed config.sites[1].nodes[0]: Invalid value: "10.0.1.128/25": overlaps with 10.0.1.0/24 of site "one"`,
			"pair-topology Unknown"),
		Entry("an API in the network of the other site", func(w *world) {
			w.profile.Sites[0].VSphere.Server = "https://vc.invalid:1"
			w.options.Resolve = func(context.Context, string, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("10.0.2.7")}, nil
			}
		}, `pair-api Warning config.sites[1].nodes: the API of site "one" is at 10.0.2.7`,
			"pair-clock Unknown not checked, because site-clock failed"),
		Entry("clocks that differ although each is nearly right", func(w *world) {
			clockOf(w, 0, 8*time.Second)
			clockOf(w, 1, -8*time.Second)
		}, `pair-clock Warning config.sites[1]: the clock of the API of site "two" is`),
		Entry("MTUs that differ in one network", func(w *world) {
			stretched(w)
			w.shoot.Config.Sites[0].MTU, w.shoot.Config.Sites[1].MTU = new(int32(9000)), new(int32(1500))
		}, `pair-mtu Failed config.sites[1].mtu: Invalid value: "1500": site "one" has 9000 in the same network`),
		Entry("no MTUs that differ in two networks", func(w *world) {
			w.shoot.Config.Sites[0].MTU, w.shoot.Config.Sites[1].MTU = new(int32(9000)), new(int32(1500))
		}),
		Entry("a gateway in the network of the other site", func(w *world) { w.shoot.Config.Sites[0].Gateway = "10.0.2.1" },
			`pair-topology Failed config.sites[0].gateway: Invalid value: "10.0.2.1": is in the range 10.0.2.0/24 of site "two"`),
		Entry("one gateway in one network", func(w *world) {
			stretched(w)
			w.shoot.Config.Sites[0].Gateway = "10.0.0.1"
		}, "pair-topology Warning"),
		Entry("DNS servers of the other site alone", func(w *world) { w.shoot.Config.Sites[0].DNSServers = []string{"10.0.2.53"} },
			`pair-dns Warning config.sites[0].dnsServers: all DNS servers are in the range of site "two"`),
		Entry("no DNS servers of both sites", func(w *world) { w.shoot.Config.Sites[0].DNSServers = []string{"10.0.2.53", "10.0.1.53"} }),
		Entry("two names of one place", func(w *world) {
			w.profile.Sites[1].VSphere, w.profile.Sites[1].Zones[0].VSphere = w.profile.Sites[0].VSphere, w.profile.Sites[0].Zones[0].VSphere
		}, `pair-place Warning config.sites[1].name: site "one" is at the same API, in the same failure domain`),
	)
})
