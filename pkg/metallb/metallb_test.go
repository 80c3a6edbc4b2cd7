// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metallb_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/metallb"
)

func site(name string, balancer *v1alpha1.SiteLoadBalancer) v1alpha1.ControlPlaneSite {
	return v1alpha1.ControlPlaneSite{Name: name, LoadBalancer: balancer}
}

func pools(pools ...v1alpha1.MetalLBAddressPool) *v1alpha1.SiteLoadBalancer {
	return &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{AddressPools: pools}}
}

func pool(name string, advertisement v1alpha1.MetalLBAdvertisement) v1alpha1.MetalLBAddressPool {
	return v1alpha1.MetalLBAddressPool{Name: name, CIDRs: []string{"192.0.2.10-192.0.2.20"}, Advertisement: advertisement}
}

var _ = Describe("Values", func() {
	It("should be nothing if no site has MetalLB", func() {
		Expect(metallb.Values(nil, "")).To(BeNil())
		Expect(metallb.Values([]v1alpha1.ControlPlaneSite{
			site("racks", nil),
			site("cloud", &v1alpha1.SiteLoadBalancer{OpenStack: &v1alpha1.OpenStackLoadBalancerConfig{}}),
		}, "racks")).To(BeNil())
	})

	DescribeTable("should give Services without a class to the default site alone",
		func(defaultSite string, classes ...string) {
			l2 := pools(pool("vips", v1alpha1.MetalLBAdvertisementL2))
			values := metallb.Values([]v1alpha1.ControlPlaneSite{site("cloud", nil), site("vc", l2), site("racks", l2)}, defaultSite)
			Expect(values.Sites).To(HaveLen(len(classes)))
			for i, class := range classes {
				Expect(values.Sites[i].LoadBalancerClass).To(Equal(class))
			}
		},
		Entry("one of them", "racks", "hybrid.provider.extensions.gardener.cloud/vc", ""),
		Entry("a site with other load balancers", "cloud", "hybrid.provider.extensions.gardener.cloud/vc",
			"hybrid.provider.extensions.gardener.cloud/racks"),
		Entry("none", "", "hybrid.provider.extensions.gardener.cloud/vc", "hybrid.provider.extensions.gardener.cloud/racks"),
	)

	It("should sort pools by their advertisement", func() {
		named := pool("named", v1alpha1.MetalLBAdvertisementL2)
		named.AutoAssign = new(false)
		values := metallb.Values([]v1alpha1.ControlPlaneSite{site("racks", pools(
			pool("vips", v1alpha1.MetalLBAdvertisementL2), named, pool("anycast", v1alpha1.MetalLBAdvertisementBGP)))}, "racks")
		Expect(values.Sites).To(ConsistOf(metallb.SiteValues{
			Name: "racks",
			Pools: []metallb.PoolValues{
				{Name: "vips", Addresses: named.CIDRs, AutoAssign: true},
				{Name: "named", Addresses: named.CIDRs},
				{Name: "anycast", Addresses: named.CIDRs, AutoAssign: true},
			},
			L2Pools:  []string{"vips", "named"},
			BGPPools: []string{"anycast"},
		}))
	})

	It("should name peers after their addresses", func() {
		balancer := pools(pool("anycast", v1alpha1.MetalLBAdvertisementBGP))
		balancer.MetalLB.BGP = &v1alpha1.MetalLBBGP{LocalASN: 64512, Peers: []v1alpha1.MetalLBPeer{
			{Address: "192.0.2.1", ASN: 64513, EBGPMultiHop: true},
			{Address: "192.0.2.2", ASN: 64512, Port: 1179, EBGPMultiHop: true},
			{Address: "2001:DB8::", ASN: 64513},
			{Address: "No address", ASN: 64513},
		}}
		peers := metallb.Values([]v1alpha1.ControlPlaneSite{site("racks", balancer)}, "")
		Expect(peers.Sites[0].Peers).To(Equal([]metallb.PeerValues{
			{Name: "peer-192-0-2-1-179", Address: "192.0.2.1", Port: 179, ASN: 64513, LocalASN: 64512, MultiHop: true},
			{Name: "peer-192-0-2-2-1179", Address: "192.0.2.2", Port: 1179, ASN: 64512, LocalASN: 64512},
			{Name: "peer-2001-0db8-0000-0000-0000-0000-0000-0000-179", Address: "2001:DB8::", Port: 179, ASN: 64513, LocalASN: 64512},
			{Name: "peer-no address-179", Address: "No address", Port: 179, ASN: 64513, LocalASN: 64512},
		}))
		for _, peer := range peers.Sites[0].Peers[:3] {
			Expect(validation.IsDNS1123Label(peer.Name)).To(BeEmpty())
		}
	})
})
