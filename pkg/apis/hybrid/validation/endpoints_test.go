// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"net/netip"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("Addresses of sites", func() {
	path := field.NewPath("i")
	proxied := func(noProxy ...string) func(*v1alpha1.CloudProfileConfig) {
		return func(c *v1alpha1.CloudProfileConfig) {
			c.Sites[0].OpenStack.AuthURL = "https://10.250.0.9:5000/v3"
			c.Sites[0].Proxy = &v1alpha1.Proxy{URL: "http://10.9.0.1:3128", NoProxy: noProxy}
		}
	}
	authURL := func(url string) func(*v1alpha1.CloudProfileConfig) {
		return func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.AuthURL = url }
	}

	DescribeTable("#ValidateEndpoints", func(change func(*v1alpha1.CloudProfileConfig), messages ...string) {
		profile := newProfile()
		change(profile)
		for _, config := range []*v1alpha1.InfrastructureConfig{newStretched(), newRouted()} {
			errs := ValidateEndpoints(config, profile, newNetworking(), path)
			Expect(errs).To(HaveLen(len(messages)))
			for i, message := range messages {
				Expect(errs[i]).To(MatchError(ContainSubstring(message)))
			}
		}
	},
		Entry("names", func(*v1alpha1.CloudProfileConfig) {}),
		Entry("addresses elsewhere", authURL("https://10.251.0.9:5000/v3")),
		Entry("an address of the nodes", authURL("https://10.250.0.9:5000/v3"),
			`i.sites[0].name: Invalid value: "cloud": the API of the site is at 10.250.0.9, which is in the range 10.250.0.0/`),
		Entry("an address of the pods", authURL("https://100.97.0.1/v3"),
			"the range 100.96.0.0/11 of the Shoot's pods: Gardener's NetworkPolicies"),
		Entry("an address of the services", authURL("https://100.64.0.1"), "which is in the range 100.64.0.0/13 of the Shoot's services"),
		Entry("an IPv4 address in IPv6", authURL("https://[::ffff:10.250.0.9]:5000/v3"), "the API of the site is at"),
		Entry("a vCenter", func(c *v1alpha1.CloudProfileConfig) {
			c.Sites[1].Name, c.Sites[2].Name = "racks", "vc"
			c.Sites[1].VSphere.Server = "https://10.250.1.9"
		}, `i.sites[1].name: Invalid value: "racks"`),
		Entry("an inventory", func(c *v1alpha1.CloudProfileConfig) { c.Sites[2].Metal.Server = "https://10.250.1.9:6443" }, "i.sites[1].name"),
		Entry("behind a proxy elsewhere", proxied()),
		Entry("not behind the proxy", proxied("10.250.0.0/16"), "the API of the site is at 10.250.0.9"),
		Entry("a proxy", func(c *v1alpha1.CloudProfileConfig) {
			c.Sites[0].Proxy = &v1alpha1.Proxy{URL: "http://10.250.0.8:3128"}
		},
			"the proxy of the API of the site is at 10.250.0.8"),
		Entry("a site that the Shoot does not use", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].VSphere.Server = "https://10.250.0.9" }),
		Entry("what is no address", authURL("::")),
	)

	It("#ValidateEndpoints accepts public addresses, from which Gardener does not keep the control plane", func() {
		profile, config := newProfile(), newRouted()
		config.Sites[0].Nodes = []string{"203.0.113.0/24"}
		profile.Sites[0].OpenStack.AuthURL = "https://203.0.113.9:5000/v3"
		Expect(ValidateEndpoints(config, profile, nil, path)).To(BeEmpty())
		Expect(ValidateEndpoints(nil, profile, nil, path)).To(BeEmpty())
	})

	It("#ShootNetworks has all ranges, and #BlockedAt finds them", func() {
		networks := ShootNetworks(newRouted(),
			&gardencorev1beta1.Networking{Nodes: new("10.1.0.0/16"), Pods: new("fd00::/64"), Services: new("x")})
		Expect(networks).To(HaveLen(4))
		for address, name := range map[string]string{"10.1.2.3": "nodes", "10.250.1.7": "nodes", "fd00::7": "pods"} {
			network, blocked := BlockedAt(netip.MustParseAddr(address), networks)
			Expect(blocked).To(BeTrue(), address)
			Expect(network.Name).To(Equal(name))
		}
		_, blocked := BlockedAt(netip.MustParseAddr("fd01::7"), networks)
		Expect(blocked).To(BeFalse())
	})

	It("#EndpointsInShoots warns of new addresses in ranges of Shoots on the site", func() {
		old, config := newProfile(), newProfile()
		authURL("https://10.250.0.9/v3")(config)
		networks := func() []ShootNetwork { return ShootNetworks(newRouted(), newNetworking()) }
		uses := []ProfileUse{
			{Shoot: "a/b", Sites: []string{"cloud"}, Networks: networks}, {Shoot: "a/c", Sites: []string{"vc"}, Networks: networks},
			{Shoot: "a/d", Sites: []string{"cloud"}, Networks: func() []ShootNetwork { return nil }}, {Shoot: "a/e", Sites: []string{"cloud"}},
		}
		Expect(EndpointsInShoots(config, old, uses, field.NewPath("c"))).To(ConsistOf(`c.sites[0]: the API of site "cloud" is at 10.250.0.9, ` +
			`which is in node, pod or service ranges of Shoots, whose control planes cannot reach it: a/b`))
		Expect(EndpointsInShoots(config, config, uses, field.NewPath("c"))).To(BeEmpty())
		Expect(EndpointsInShoots(old, nil, uses, field.NewPath("c"))).To(BeEmpty())
	})

	DescribeTable("#ValidateNetworkData", func(inventory v1alpha1.MetalInventory, template string, valid bool) {
		profile, config := newProfile(), newRouted()
		profile.Sites[2].Metal.Inventory = inventory
		config.Sites[1].Metal = &v1alpha1.MetalInfrastructure{NetworkDataTemplate: template}
		errs := ValidateNetworkData(config, profile, path)
		if valid {
			Expect(errs).To(BeEmpty())
			return
		}
		Expect(errs).To(haveProblems([]problem{{invalid, "i.sites[1].metal.networkDataTemplate"}}))
		Expect(errs[0]).To(MatchError(ContainSubstring(
			`(hidden)": must be what inventory "` + string(inventory) + `" of site "racks" accepts: `)))
	},
		Entry("none", v1alpha1.MetalInventoryMetal3, "", true),
		Entry("DHCP of Metal3", v1alpha1.MetalInventoryMetal3, `{"links": [{"id": "a", "type": "phy", "ethernet_mac_address": "$MAC"}],
			"networks": [{"id": "a", "link": "a", "type": "ipv4_dhcp"}]}`, true),
		Entry("DHCP of IronCore", v1alpha1.MetalInventoryIronCore, "[Match]\nMACAddress=$MAC\n[Network]\nDHCP=yes\n", true),
		Entry("that of the other inventory", v1alpha1.MetalInventoryMetal3, "[Match]\nMACAddress=$MAC\n[Network]\nDHCP=yes\n", false),
		Entry("no section", v1alpha1.MetalInventoryIronCore, "Address=$ADDRESS/$PREFIX", false),
		Entry("an unknown variable, which is reported elsewhere", v1alpha1.MetalInventoryIronCore, "$IP", true),
	)

	Describe("#ValidateAddressesInUse", func() {
		pools := func(cidrs ...string) *v1alpha1.ControlPlaneConfig {
			return &v1alpha1.ControlPlaneConfig{Sites: []v1alpha1.ControlPlaneSite{{Name: "cloud"}, {Name: "racks",
				LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{AddressPools: []v1alpha1.MetalLBAddressPool{{CIDRs: cidrs}}}}}}}
		}
		const cidr = "c.sites[1].loadBalancer.metalLB.addressPools[0].cidrs"
		used, _ := ParseAddressRange("192.0.2.0/28")
		inUse := func(site string, addresses netipx.IPRange) bool { return site == "racks" && addresses.Overlaps(used) }
		validate := func(config *v1alpha1.ControlPlaneConfig) field.ErrorList {
			profile := newProfile()
			profile.Sites[0].OpenStack.AuthURL, profile.Sites[1].Proxy = "https://10.9.0.9:5000", &v1alpha1.Proxy{URL: "http://10.9.0.8:3128"}
			return ValidateAddressesInUse(config, profile, inUse, field.NewPath("c"))
		}

		DescribeTable("refuses addresses of", func(value, message string) {
			errs := validate(pools("198.51.100.0/24", value, "x"))
			Expect(errs).To(haveProblems([]problem{{invalid, cidr + "[1]"}}))
			Expect(errs[0]).To(MatchError(ContainSubstring(message)))
		},
			Entry("other load balancers", "192.0.2.15-192.0.2.20",
				`must not overlap with addresses that are in use for load balancers at site "racks"`),
			Entry("an API", "10.9.0.9/32", `must not contain the address of the API of site "cloud"`),
			Entry("a proxy", "10.9.0.8-10.9.0.8", `must not contain the address of the proxy of site "vc"`),
			Entry("IPv4 in IPv6", "::ffff:192.0.2.1-::ffff:192.0.2.2", "must be IPv4 without the prefix ::ffff:"),
		)

		It("accepts others, and limits their number", func() {
			Expect(validate(pools("192.0.2.16/28"))).To(BeEmpty())
			Expect(validate(nil)).To(BeEmpty())
			Expect(validate(pools(slices.Repeat([]string{"192.0.2.0/28"}, 257)...))).To(haveProblems([]problem{{field.ErrorTypeTooMany, cidr}}))
		})
	})
})
