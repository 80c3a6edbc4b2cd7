// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"net/netip"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Subnet", func() {
	pool := func(start, end string) subnets.AllocationPool { return subnets.AllocationPool{Start: start, End: end} }

	DescribeTable("allocationPools",
		func(subnet string, nodes []netip.Prefix, gateway string, expected ...subnets.AllocationPool) {
			var addr netip.Addr
			if gateway != "" {
				addr = netip.MustParseAddr(gateway)
			}
			Expect(allocationPools(netip.MustParsePrefix(subnet), nodes, addr)).To(HaveExactElements(expected))
		},
		Entry("gateway inside", "10.0.0.0/16", prefixes("10.0.1.0/24"), "10.0.1.77", pool("10.0.1.0", "10.0.1.76"),
			pool("10.0.1.78", "10.0.1.255")),
		Entry("gateway at the lower edge", "10.0.0.0/16", prefixes("10.0.1.0/24"), "10.0.1.0", pool("10.0.1.1", "10.0.1.255")),
		Entry("gateway at the upper edge", "10.0.0.0/16", prefixes("10.0.1.0/24"), "10.0.1.255", pool("10.0.1.0", "10.0.1.254")),
		Entry("gateway in the range of another site", "10.0.0.0/16", prefixes("10.0.1.0/24"), "10.0.0.1", pool("10.0.1.0", "10.0.1.255")),
		Entry("no gateway", "10.0.0.0/16", prefixes("10.0.1.0/24"), "", pool("10.0.1.0", "10.0.1.255")),
		Entry("the whole subnet", "10.0.0.0/24", prefixes("10.0.0.0/24"), "10.0.0.1", pool("10.0.0.2", "10.0.0.254")),
		Entry("the first part of the subnet", "10.0.0.0/16", prefixes("10.0.0.0/24"), "10.0.0.1", pool("10.0.0.2", "10.0.0.255")),
		Entry("the last part of the subnet", "10.0.0.0/16", prefixes("10.0.255.0/24"), "10.0.0.1", pool("10.0.255.0", "10.0.255.254")),
		Entry("adjacent ranges", "10.0.0.0/16", prefixes("10.0.2.0/24", "10.0.1.0/24"), "10.0.0.1", pool("10.0.1.0", "10.0.2.255")),
		Entry("separate ranges", "10.0.0.0/16", prefixes("10.0.1.0/24", "10.0.3.0/24"), "10.0.0.1", pool("10.0.1.0", "10.0.1.255"),
			pool("10.0.3.0", "10.0.3.255")),
		Entry("IPv6", "2001:db8::/48", prefixes("2001:db8:0:1::/64"), "2001:db8:0:1::1", pool("2001:db8:0:1::", "2001:db8:0:1::"),
			pool("2001:db8:0:1::2", "2001:db8:0:1:ffff:ffff:ffff:ffff")),
		Entry("the whole IPv6 subnet", "2001:db8::/64", prefixes("2001:db8::/64"), "2001:db8::1",
			pool("2001:db8::2", "2001:db8::ffff:ffff:ffff:fffe")),
	)

	DescribeTable("what is created",
		func(topology v1alpha1.Topology, subnet string, gateway string, version gophercloud.IPVersion, pools int) {
			network := site.Network{Topology: topology, Subnets: prefixes(subnet), Nodes: prefixes(subnet), DNSServers: []string{"192.0.2.53"}}
			if gateway != "" {
				network.Gateway = netip.MustParseAddr(gateway)
			}
			options := subnetOptions(&flow{site: &site.Site{Network: network}}, "net")
			Expect(options.NetworkID).To(Equal("net"))
			Expect(options.CIDR).To(Equal(subnet))
			Expect(options.IPVersion).To(Equal(version))
			Expect(options.DNSNameservers).To(Equal([]string{"192.0.2.53"}))
			Expect(options.AllocationPools).To(HaveLen(pools))
			if gateway == "" {
				Expect(options.GatewayIP).To(BeNil())
			} else {
				Expect(options.GatewayIP).To(HaveValue(Equal(gateway)))
			}
		},
		Entry("Routed: all addresses are the site's", v1alpha1.TopologyRouted, "10.1.0.0/16", "10.1.0.1", gophercloud.IPv4, 0),
		Entry("Routed, IPv6", v1alpha1.TopologyRouted, "2001:db8::/64", "2001:db8::1", gophercloud.IPv6, 0),
		Entry("Stretched", v1alpha1.TopologyStretched, "10.1.0.0/16", "10.1.0.1", gophercloud.IPv4, 1),
		Entry("Stretched, without a gateway", v1alpha1.TopologyStretched, "10.1.0.0/16", "", gophercloud.IPv4, 1),
	)
})
