// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Gateway", func() {
	ips := func(subnets ...string) []routers.ExternalFixedIP {
		var result []routers.ExternalFixedIP
		for _, subnet := range subnets {
			result = append(result, routers.ExternalFixedIP{SubnetID: subnet, IPAddress: "172.24.0.9"})
		}
		return result
	}

	DescribeTable("should be kept if it is in the wanted network and subnet",
		func(existing *routers.GatewayInfo, subnet string, kept bool) {
			Expect(hasGateway(existing, &routers.GatewayInfo{NetworkID: "public", ExternalFixedIPs: inSubnet(subnet)})).To(Equal(kept))
		},
		Entry("no subnet wanted", &routers.GatewayInfo{NetworkID: "public", ExternalFixedIPs: ips("a")}, "", true),
		Entry("other network", &routers.GatewayInfo{NetworkID: "other", ExternalFixedIPs: ips("a")}, "", false),
		Entry("no gateway", &routers.GatewayInfo{}, "", false),
		Entry("in the subnet", &routers.GatewayInfo{NetworkID: "public", ExternalFixedIPs: ips("a")}, "a", true),
		Entry("in the subnet and one of another IP family", &routers.GatewayInfo{NetworkID: "public", ExternalFixedIPs: ips("v6", "a")},
			"a", true),
		Entry("in another subnet", &routers.GatewayInfo{NetworkID: "public", ExternalFixedIPs: ips("a")}, "b", false),
	)

	DescribeTable("should be kept unless the wanted translation differs",
		func(existing, wanted *bool, kept bool) {
			Expect(hasGateway(&routers.GatewayInfo{NetworkID: "public", EnableSNAT: existing},
				&routers.GatewayInfo{NetworkID: "public", EnableSNAT: wanted})).To(Equal(kept))
		},
		Entry("not wanted", new(false), nil, true),
		Entry("off", new(false), new(false), true),
		Entry("on, wanted off", new(true), new(false), false),
		Entry("off, wanted on", new(false), new(true), false),
		Entry("not told, wanted on", nil, new(true), true),
		Entry("not told, wanted off", nil, new(false), false),
	)

	DescribeTable("should tell the addresses that nodes are translated to",
		func(existing routers.GatewayInfo, expected ...string) {
			Expect(egressCIDRs(&existing)).To(ConsistOf(expected))
		},
		Entry("none", routers.GatewayInfo{}),
		Entry("translation on", routers.GatewayInfo{EnableSNAT: new(true), ExternalFixedIPs: ips("a")}, "172.24.0.9/32"),
		Entry("translation not told", routers.GatewayInfo{ExternalFixedIPs: ips("a")}, "172.24.0.9/32"),
		Entry("translation off", routers.GatewayInfo{EnableSNAT: new(false), ExternalFixedIPs: ips("a")}),
		Entry("both IP families, of which one is translated",
			routers.GatewayInfo{ExternalFixedIPs: []routers.ExternalFixedIP{{IPAddress: "172.24.0.9"}, {IPAddress: "2001:db8::9"}}},
			"172.24.0.9/32"),
	)

	DescribeTable("should compare the MTU of a given network only with one that somebody said, if Neutron tells it",
		func(carried int, wanted int32, message string) {
			f := &flow{site: &site.Site{Network: site.Network{MTU: wanted}}}
			err := checkMTU(f, &network{Network: networks.Network{ID: "given"}, NetworkMTUExt: mtu.NetworkMTUExt{MTU: carried}})
			if message == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(message))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("nobody said one", 1450, int32(0), ""),
		Entry("Neutron does not tell", 0, int32(1450), ""),
		Entry("equal", 1450, int32(1450), ""),
		Entry("more", 8950, int32(1450), ""),
		Entry("less", 1449, int32(1450), `mtu: network "given" of openstack.network.id carries 1449 bytes, less than 1450`),
	)
})
