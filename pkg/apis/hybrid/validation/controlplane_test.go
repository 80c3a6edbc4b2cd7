// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("#ValidateControlPlaneConfig", func() {
	oneSite := func() *infrastructure {
		config := newRouted()
		config.Sites = config.Sites[:1]
		return config
	}

	withShareNetwork := func() *infrastructure {
		config := oneSite()
		config.Sites[0].OpenStack.ShareNetwork = &v1alpha1.OpenStackShareNetwork{Enabled: true}
		return config
	}
	withShares := func(site string, enabled bool) *v1alpha1.ControlPlaneConfig {
		return &v1alpha1.ControlPlaneConfig{DefaultSite: "cloud", Sites: []v1alpha1.ControlPlaneSite{{Name: site,
			Storage: &v1alpha1.SiteStorage{CSIManila: &v1alpha1.CSIManila{Enabled: enabled}}}}}
	}

	It("should refuse shares at a site of another platform", func() {
		Expect(ValidateControlPlaneConfig(withShares("racks", true), newRouted(), newProfile(), newNetworking(), field.NewPath("c"))).To(
			haveProblems([]problem{{forbidden, "c.sites[0].storage.csiManila"}}))
	})

	It("should refuse shares if the CloudProfile has a class of their name", func() {
		profile := newProfile()
		for i := range profile.Sites {
			if profile.Sites[i].Name == "cloud" {
				profile.Sites[i].StorageClasses = append(profile.Sites[i].StorageClasses, v1alpha1.StorageClass{Name: "manila-cloud"})
			}
		}
		Expect(ValidateControlPlaneConfig(withShares("cloud", true), withShareNetwork(), profile, newNetworking(), field.NewPath("c"))).To(
			haveProblems([]problem{{forbidden, "c.sites[0].storage.csiManila.enabled"}}))
	})

	DescribeTable("configurations",
		func(config *v1alpha1.ControlPlaneConfig, infrastructure func() *infrastructure, problems ...problem) {
			Expect(ValidateControlPlaneConfig(config, infrastructure(), newProfile(), newNetworking(),
				field.NewPath("c"))).To(haveProblems(problems))
			Expect(ValidateControlPlaneConfig(config, infrastructure(), nil, nil, field.NewPath("c"))).To(haveProblems(problems))
		},
		Entry("nil on no site", nil, func() *infrastructure { return nil }),
		Entry("nil on one site", nil, oneSite),
		Entry("nil on two sites", nil, newRouted, problem{required, "c.defaultSite"}),
		Entry("default site", &v1alpha1.ControlPlaneConfig{DefaultSite: "racks"}, newRouted),
		Entry("default site that is not used", &v1alpha1.ControlPlaneConfig{DefaultSite: "racks"}, oneSite,
			problem{notSupported, "c.defaultSite"}),
		Entry("feature gates",
			&v1alpha1.ControlPlaneConfig{CloudControllerManager: &v1alpha1.CloudControllerManagerConfig{
				FeatureGates: map[string]bool{"AllAlpha": true}}}, oneSite),
		Entry("bad feature gate",
			&v1alpha1.ControlPlaneConfig{CloudControllerManager: &v1alpha1.CloudControllerManagerConfig{FeatureGates: map[string]bool{"a,b": true}}},
			oneSite,
			problem{invalid, "c.cloudControllerManager.featureGates[a,b]"}),
		Entry("site", &v1alpha1.ControlPlaneConfig{Sites: []v1alpha1.ControlPlaneSite{{Name: "cloud"}}}, oneSite),
		Entry("shares", withShares("cloud", true), withShareNetwork),
		Entry("shares that are disabled", withShares("cloud", false), oneSite),
		Entry("shares without a share network", withShares("cloud", true), oneSite, problem{forbidden, "c.sites[0].storage.csiManila.enabled"}),
		Entry("site that is not used", &v1alpha1.ControlPlaneConfig{Sites: []v1alpha1.ControlPlaneSite{{Name: "racks"}}}, oneSite,
			problem{notSupported, "c.sites[0].name"}),
		Entry("site without a name", &v1alpha1.ControlPlaneConfig{Sites: []v1alpha1.ControlPlaneSite{{}}}, oneSite,
			problem{required, "c.sites[0].name"}),
		Entry("site twice", &v1alpha1.ControlPlaneConfig{Sites: []v1alpha1.ControlPlaneSite{{Name: "cloud"}, {Name: "cloud"}}}, oneSite,
			problem{duplicate, "c.sites[1].name"}),
	)

	withProviders := func(providers ...string) *v1alpha1.CloudProfileConfig {
		profile := newProfile()
		profile.Sites[0].OpenStack.LoadBalancerProviders = providers
		return profile
	}
	DescribeTable("Octavia",
		func(config v1alpha1.OpenStackLoadBalancerConfig, providers []string, problems ...problem) {
			settings := &v1alpha1.ControlPlaneConfig{Sites: []v1alpha1.ControlPlaneSite{{Name: "cloud",
				LoadBalancer: &v1alpha1.SiteLoadBalancer{OpenStack: &config}}}}
			Expect(ValidateControlPlaneConfig(settings, oneSite(), withProviders(providers...), newNetworking(),
				field.NewPath("c"))).To(haveProblems(problems))
		},
		Entry("defaults", v1alpha1.OpenStackLoadBalancerConfig{}, nil),
		Entry("provider", v1alpha1.OpenStackLoadBalancerConfig{Provider: "ovn"}, []string{"amphora", "ovn"}),
		Entry("provider that the CloudProfile does not have", v1alpha1.OpenStackLoadBalancerConfig{Provider: "f5"}, []string{"amphora", "ovn"},
			problem{notSupported, "c.sites[0].loadBalancer.openstack.provider"}),
		Entry("provider without a list", v1alpha1.OpenStackLoadBalancerConfig{Provider: "amphora"}, nil),
		Entry("other provider without a list", v1alpha1.OpenStackLoadBalancerConfig{Provider: "ovn"}, nil,
			problem{notSupported, "c.sites[0].loadBalancer.openstack.provider"}),
		Entry("members", v1alpha1.OpenStackLoadBalancerConfig{Members: v1alpha1.LoadBalancerMembersAll}, nil),
		Entry("unknown members", v1alpha1.OpenStackLoadBalancerConfig{Members: "Some"}, nil,
			problem{notSupported, "c.sites[0].loadBalancer.openstack.members"}),
		Entry("all members of ovn", v1alpha1.OpenStackLoadBalancerConfig{Provider: "ovn", Members: v1alpha1.LoadBalancerMembersAll},
			[]string{"amphora", "ovn"}, problem{forbidden, "c.sites[0].loadBalancer.openstack.members"}),
		Entry("all members of ovn by default", v1alpha1.OpenStackLoadBalancerConfig{Members: v1alpha1.LoadBalancerMembersAll}, []string{"ovn"},
			problem{forbidden, "c.sites[0].loadBalancer.openstack.members"}),
		Entry("class",
			v1alpha1.OpenStackLoadBalancerConfig{Classes: []v1alpha1.OpenStackLoadBalancerClass{{Name: "internal", Purpose: "private",
				SubnetID: uuid}}}, nil),
		Entry("class without a name and with a bad ID",
			v1alpha1.OpenStackLoadBalancerConfig{Classes: []v1alpha1.OpenStackLoadBalancerClass{{SubnetID: "a"}}}, nil,
			problem{required, "c.sites[0].loadBalancer.openstack.classes[0].name"}, problem{invalid,
				"c.sites[0].loadBalancer.openstack.classes[0].subnetID"}),
	)

	metalLB := func(pools ...v1alpha1.MetalLBAddressPool) *v1alpha1.SiteLoadBalancer {
		return &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{AddressPools: pools}}
	}
	l2 := func(name string, cidrs ...string) v1alpha1.MetalLBAddressPool {
		return v1alpha1.MetalLBAddressPool{Name: name, CIDRs: cidrs, Advertisement: v1alpha1.MetalLBAdvertisementL2}
	}
	bgp := func(name string, cidrs ...string) v1alpha1.MetalLBAddressPool {
		return v1alpha1.MetalLBAddressPool{Name: name, CIDRs: cidrs, Advertisement: v1alpha1.MetalLBAdvertisementBGP}
	}
	on := func(site string, balancer *v1alpha1.SiteLoadBalancer) v1alpha1.ControlPlaneSite {
		return v1alpha1.ControlPlaneSite{Name: site, LoadBalancer: balancer}
	}
	validate := func(infrastructure *infrastructure, sites []v1alpha1.ControlPlaneSite, problems ...problem) {
		GinkgoHelper()
		config := &v1alpha1.ControlPlaneConfig{DefaultSite: "cloud", Sites: sites}
		Expect(ValidateControlPlaneConfig(config, infrastructure, newProfile(), newNetworking(), field.NewPath("c"))).To(haveProblems(problems))
	}

	DescribeTable("the load balancers of a site",
		func(site v1alpha1.ControlPlaneSite, problems ...problem) {
			validate(newStretched(), []v1alpha1.ControlPlaneSite{site}, problems...)
		},
		Entry("neither", on("racks", &v1alpha1.SiteLoadBalancer{}), problem{required, "c.sites[0].loadBalancer"}),
		Entry("both",
			on("racks",
				&v1alpha1.SiteLoadBalancer{OpenStack: &v1alpha1.OpenStackLoadBalancerConfig{}, MetalLB: metalLB(l2("a", "10.250.250.0/24")).MetalLB}),
			problem{required, "c.sites[0].loadBalancer"}, problem{forbidden, "c.sites[0].loadBalancer.openstack"}),
		Entry("Octavia on bare metal", on("racks", &v1alpha1.SiteLoadBalancer{OpenStack: &v1alpha1.OpenStackLoadBalancerConfig{}}),
			problem{forbidden, "c.sites[0].loadBalancer.openstack"}),
		Entry("MetalLB on OpenStack", on("cloud", metalLB(l2("a", "10.250.250.0/24"))), problem{forbidden, "c.sites[0].loadBalancer.metalLB"}),
		Entry("MetalLB on bare metal", on("racks", metalLB(l2("a", "10.250.250.0/24")))),
		Entry("no pool", on("racks", metalLB()), problem{required, "c.sites[0].loadBalancer.metalLB.addressPools"}),
		Entry("pool without a name", on("racks", metalLB(l2("", "10.250.250.0/24"))),
			problem{required, "c.sites[0].loadBalancer.metalLB.addressPools[0].name"}),
		Entry("bad name", on("racks", metalLB(l2("A_b", "10.250.250.0/24"))),
			problem{invalid, "c.sites[0].loadBalancer.metalLB.addressPools[0].name"}),
		Entry("name twice", on("racks", metalLB(l2("a", "10.250.250.0/24"), l2("a", "10.250.251.0/24"))),
			problem{duplicate, "c.sites[0].loadBalancer.metalLB.addressPools[1].name"}),
		Entry("no advertisement", on("racks", metalLB(v1alpha1.MetalLBAddressPool{Name: "a", CIDRs: []string{"192.0.2.0/24"}})),
			problem{required, "c.sites[0].loadBalancer.metalLB.addressPools[0].advertisement"}),
		Entry("no BGP", on("racks", metalLB(bgp("a", "192.0.2.0/24"))), problem{required, "c.sites[0].loadBalancer.metalLB.bgp"}),
	)

	DescribeTable("the addresses of a pool in a network over all sites",
		func(pool v1alpha1.MetalLBAddressPool, problems ...problem) {
			balancer := metalLB(pool)
			balancer.MetalLB.BGP = &v1alpha1.MetalLBBGP{LocalASN: 64512, Peers: []v1alpha1.MetalLBPeer{{Address: "10.250.0.2", ASN: 64513}}}
			for i := range problems {
				problems[i].Field = "c.sites[0].loadBalancer.metalLB.addressPools[0].cidrs" + problems[i].Field
			}
			validate(newStretched(), []v1alpha1.ControlPlaneSite{on("racks", balancer)}, problems...)
		},
		Entry("none", l2("a"), problem{required, ""}),
		Entry("CIDR", l2("a", "10.250.250.0/24")),
		Entry("range", l2("a", "10.250.250.10-10.250.250.20")),
		Entry("one address", l2("a", "10.250.250.10-10.250.250.10")),
		Entry("range the wrong way", l2("a", "10.250.250.20-10.250.250.10"), problem{invalid, "[0]"}),
		Entry("range of two families", l2("a", "10.250.250.20-fd00::1"), problem{invalid, "[0]"}),
		Entry("host bits", l2("a", "10.250.250.1/24"), problem{invalid, "[0]"}),
		Entry("no address", l2("a", "a"), problem{invalid, "[0]"}),
		Entry("twice", l2("a", "10.250.250.0/24", "10.250.250.9-10.250.251.1"), problem{invalid, "[1]"}),
		Entry("machines of the site", l2("a", "10.250.127.0/24"), problem{invalid, "[0]"}),
		Entry("machines of another site", l2("a", "10.250.63.0/24"), problem{invalid, "[0]"}),
		Entry("outside of the network", l2("a", "10.251.0.0/24"), problem{invalid, "[0]"}),
		Entry("half outside of the network", l2("a", "10.250.255.0-10.251.0.1"), problem{invalid, "[0]"}),
		Entry("BGP outside of the network", bgp("a", "192.0.2.0/24")),
		Entry("BGP with IPv6", bgp("a", "192.0.2.0/24", "2001:db8::/120"), problem{invalid, "[1]"}),
		Entry("BGP in pods", bgp("a", "100.96.1.0/24"), problem{invalid, "[0]"}),
		Entry("BGP in services", bgp("a", "100.64.1.0/24"), problem{invalid, "[0]"}),
		Entry("BGP in machines", bgp("a", "10.250.0.0/24"), problem{invalid, "[0]"}, problem{invalid, "[0]"}),
	)

	It("keeps the gateways and the pools of other sites free", func() {
		stretched := newStretched()
		stretched.Sites[1].Gateway = "10.250.250.7"
		stretched.Sites = append(stretched.Sites, v1alpha1.InfrastructureSite{Name: "vc", Nodes: []string{"10.250.128.0/18"}})
		validate(stretched,
			[]v1alpha1.ControlPlaneSite{on("racks", metalLB(l2("a", "10.250.250.0/28"))), on("vc", metalLB(l2("a", "10.250.251.0/28")))},
			problem{invalid, "c.sites[0].loadBalancer.metalLB.addressPools[0].cidrs[0]"})
		stretched.Sites[1].Gateway = ""
		validate(stretched,
			[]v1alpha1.ControlPlaneSite{on("racks", metalLB(l2("a", "10.250.250.0/28"))), on("vc", metalLB(l2("a", "10.250.250.15-10.250.251.0")))},
			problem{invalid, "c.sites[1].loadBalancer.metalLB.addressPools[0].cidrs[0]"})
	})

	It("takes the addresses of a site with a subnet of its own from the subnet", func() {
		validate(newRouted(), []v1alpha1.ControlPlaneSite{on("racks", metalLB(l2("a", "10.250.1.240/28")))})
		validate(newRouted(), []v1alpha1.ControlPlaneSite{on("racks", metalLB(l2("a", "10.250.0.240/28")))},
			problem{invalid, "c.sites[0].loadBalancer.metalLB.addressPools[0].cidrs[0]"}, problem{invalid,
				"c.sites[0].loadBalancer.metalLB.addressPools[0].cidrs[0]"})
		validate(newRouted(), []v1alpha1.ControlPlaneSite{on("racks", metalLB(l2("a", "192.0.2.0/28")))},
			problem{invalid, "c.sites[0].loadBalancer.metalLB.addressPools[0].cidrs[0]"})
	})

	It("keeps the gateway of a site with a subnet of its own free, which is the first address by default", func() {
		routed := newRouted()
		first, second := l2("a", "10.250.1.0-10.250.1.1"), l2("a", "10.250.1.2/32")
		validate(routed, []v1alpha1.ControlPlaneSite{on("racks", metalLB(second))})
		validate(routed, []v1alpha1.ControlPlaneSite{on("racks", metalLB(first))},
			problem{invalid, "c.sites[0].loadBalancer.metalLB.addressPools[0].cidrs[0]"})
		routed.Sites[1].Gateway = "10.250.1.2"
		validate(routed, []v1alpha1.ControlPlaneSite{on("racks", metalLB(first))})
		validate(routed, []v1alpha1.ControlPlaneSite{on("racks", metalLB(second))},
			problem{invalid, "c.sites[0].loadBalancer.metalLB.addressPools[0].cidrs[0]"})
	})

	DescribeTable("BGP",
		func(config v1alpha1.MetalLBBGP, problems ...problem) {
			balancer := metalLB(bgp("a", "192.0.2.0/24"))
			balancer.MetalLB.BGP = &config
			for i := range problems {
				problems[i].Field = "c.sites[0].loadBalancer.metalLB.bgp." + problems[i].Field
			}
			validate(newStretched(), []v1alpha1.ControlPlaneSite{on("racks", balancer)}, problems...)
		},
		Entry("peer",
			v1alpha1.MetalLBBGP{LocalASN: 4294967295,
				Peers: []v1alpha1.MetalLBPeer{{Address: "10.250.0.2", ASN: 1, Port: 65535}, {Address: "10.250.0.2", ASN: 1},
					{Address: "fd00::1", ASN: 1}}}),
		Entry("nothing", v1alpha1.MetalLBBGP{}, problem{required, "localASN"}, problem{required, "peers"}),
		Entry("empty peer", v1alpha1.MetalLBBGP{LocalASN: 1, Peers: []v1alpha1.MetalLBPeer{{}}}, problem{required, "peers[0].asn"},
			problem{invalid, "peers[0].address"}),
		Entry("bad port", v1alpha1.MetalLBBGP{LocalASN: 1, Peers: []v1alpha1.MetalLBPeer{{Address: "10.250.0.2", ASN: 1, Port: 65536}}},
			problem{invalid, "peers[0].port"}),
		Entry("hops to a router of the same system",
			v1alpha1.MetalLBBGP{LocalASN: 1, Peers: []v1alpha1.MetalLBPeer{{Address: "10.250.0.2", ASN: 1, EBGPMultiHop: true}}}, problem{forbidden,
				"peers[0].ebgpMultiHop"}),
		Entry("peer twice",
			v1alpha1.MetalLBBGP{LocalASN: 1,
				Peers: []v1alpha1.MetalLBPeer{{Address: "10.250.0.2", ASN: 1}, {Address: "10.250.0.2", ASN: 2, Port: 179}}}, problem{duplicate,
				"peers[1].address"}),
	)
})
