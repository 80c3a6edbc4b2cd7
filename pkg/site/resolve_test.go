// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"net/netip"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Resolve", func() {
	var input Input

	BeforeEach(func() {
		input = Input{
			Shoot: "shoot--local--hybrid",
			Pods:  []string{"100.96.0.0/11"},
			Profile: &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{
				{Name: "cloud", OpenStack: &v1alpha1.OpenStackProfile{}, DNSServers: []string{"192.0.2.1"}, MTU: new(int32(1500)),
					Zones: []v1alpha1.SiteZone{{Name: "cloud-a"}}},
				{Name: "vc", VSphere: &v1alpha1.VSphereProfile{}, MTU: new(int32(1450)), Zones: []v1alpha1.SiteZone{{Name: "vc-1"}}},
				{Name: "racks", Metal: &v1alpha1.MetalProfile{}, Zones: []v1alpha1.SiteZone{{Name: "rack-1"}}},
			}, MachineTypes: []v1alpha1.MachineType{
				{Name: "std", Sites: []v1alpha1.SiteMachineType{{Name: "cloud"}, {Name: "vc"}}},
				{Name: "metal", Sites: []v1alpha1.SiteMachineType{{Name: "racks"}}},
			}},
			Config: &v1alpha1.InfrastructureConfig{
				Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
				Sites: []v1alpha1.InfrastructureSite{
					{Name: "vc", Nodes: []string{"10.0.1.0/24"}},
					{Name: "cloud", Nodes: []string{"10.0.0.0/24", "2001:db8::/64"}},
				},
			},
		}
	})

	names := func(sites []Site) []string {
		var result []string
		for _, s := range sites {
			result = append(result, s.Name)
		}
		return result
	}
	openStackState := func(names ...string) *v1alpha1.InfrastructureState {
		state := &v1alpha1.InfrastructureState{}
		for _, name := range names {
			state.Sites = append(state.Sites, v1alpha1.SiteState{Name: name, OpenStack: &v1alpha1.OpenStackState{}})
		}
		return state
	}

	It("returns the sites of the configuration in its order", func() {
		sites, err := Resolve(input)
		Expect(err).NotTo(HaveOccurred())
		Expect(names(sites)).To(Equal([]string{"vc", "cloud"}))
		Expect(sites[0].Platform).To(Equal(v1alpha1.PlatformVSphere))
		Expect(sites[0].Removed()).To(BeFalse())
		Expect(sites[0].State).To(BeNil())
		Expect(sites[1].Platform).To(Equal(v1alpha1.PlatformOpenStack))
		Expect(sites[1].Shoot).To(Equal("shoot--local--hybrid"))
		Expect(sites[1].Profile).To(BeIdenticalTo(&input.Profile.Sites[0]))
		Expect(sites[1].Config).To(BeIdenticalTo(&input.Config.Sites[1]))
		Expect(sites[1].MachineTypes).To(HaveLen(1))
		Expect(sites[1].MachineTypes["std"]).To(BeIdenticalTo(&input.Profile.MachineTypes[0].Sites[0]))
	})

	It("names malformed pod ranges", func() {
		input.Pods = []string{"100.96.0.0"}
		_, err := Resolve(input)
		Expect(err).To(MatchError(`networking.pods: "100.96.0.0" must be a CIDR`))
	})

	It("returns what is only in the state behind them, as removed", func() {
		input.State = openStackState("old", "cloud", "older")
		sites, err := Resolve(input)
		Expect(err).NotTo(HaveOccurred())
		Expect(names(sites)).To(Equal([]string{"vc", "cloud", "old", "older"}))
		Expect(sites[1].State).To(BeIdenticalTo(&input.State.Sites[1]))
		for _, removed := range sites[2:] {
			Expect(removed.Removed()).To(BeTrue())
			Expect(removed.Platform).To(Equal(v1alpha1.PlatformOpenStack))
			Expect(removed.Profile).To(BeNil())
			Expect(removed.Network).To(Equal(Network{}))
			Expect(removed.State).NotTo(BeNil())
		}
	})

	It("returns all sites as removed without a configuration", func() {
		input.Config, input.Profile, input.State = nil, nil, openStackState("cloud", "old")
		sites, err := Resolve(input)
		Expect(err).NotTo(HaveOccurred())
		Expect(names(sites)).To(Equal([]string{"cloud", "old"}))
		Expect(sites[0].Removed()).To(BeTrue())
	})

	It("returns nothing for nothing", func() {
		sites, err := Resolve(Input{})
		Expect(err).NotTo(HaveOccurred())
		Expect(sites).To(BeEmpty())
	})

	Describe("platform", func() {
		It("is that of the state if the CloudProfile dropped a site", func() {
			input.Profile.Sites = input.Profile.Sites[1:]
			input.State = openStackState("cloud")
			sites, err := Resolve(input)
			Expect(err).NotTo(HaveOccurred())
			Expect(sites[1].Platform).To(Equal(v1alpha1.PlatformOpenStack))
			Expect(sites[1].Profile).To(BeNil())
			Expect(sites[1].Removed()).To(BeFalse())
		})

		It("is that of the state if the name of a removed site was given to another", func() {
			input.State = openStackState("racks")
			sites, err := Resolve(input)
			Expect(err).NotTo(HaveOccurred())
			Expect(sites[2].Platform).To(Equal(v1alpha1.PlatformOpenStack))
		})

		DescribeTable("is reached as the state says if the name of a removed site was given to another, and as the CloudProfile says otherwise",
			func(change func(*v1alpha1.SiteState), isSame bool) {
				state := &v1alpha1.SiteState{Name: "old",
					OpenStack: &v1alpha1.OpenStackState{Connection: v1alpha1.OpenStackConnection{AuthURL: "https://former", Region: "one"}}}
				profile := v1alpha1.CloudProfileSite{Name: "old", OpenStack: &v1alpha1.OpenStackProfile{AuthURL: "https://new", Region: "one"}}
				change(state)
				if state.Metal != nil {
					profile.OpenStack, profile.Metal = nil, &v1alpha1.MetalProfile{Inventory: v1alpha1.MetalInventoryMetal3, Server: "https://new",
						Namespace: "hosts"}
				}
				input.Profile.Sites = append(input.Profile.Sites, profile)
				input.State = &v1alpha1.InfrastructureState{Sites: []v1alpha1.SiteState{*state}}
				sites, err := Resolve(input)
				Expect(err).NotTo(HaveOccurred())
				Expect(sites[2].Removed()).To(BeTrue())
				Expect(sites[2].Profile != nil).To(Equal(isSame))
			},
			Entry("another address", func(*v1alpha1.SiteState) {}, true),
			Entry("another region", func(s *v1alpha1.SiteState) { s.OpenStack.Connection.Region = "two" }, false),
			Entry("another platform", func(s *v1alpha1.SiteState) { s.OpenStack, s.VSphere = nil, &v1alpha1.VSphereState{} }, false),
			Entry("the same inventory", func(s *v1alpha1.SiteState) {
				s.OpenStack, s.Metal = nil, &v1alpha1.MetalState{Connection: v1alpha1.MetalConnection{Inventory: v1alpha1.MetalInventoryMetal3,
					Namespace: "hosts"}}
			}, true),
			Entry("another namespace", func(s *v1alpha1.SiteState) {
				s.OpenStack, s.Metal = nil, &v1alpha1.MetalState{Connection: v1alpha1.MetalConnection{Inventory: v1alpha1.MetalInventoryMetal3,
					Namespace: "other"}}
			}, false),
			Entry("another inventory", func(s *v1alpha1.SiteState) {
				s.OpenStack, s.Metal = nil, &v1alpha1.MetalState{Connection: v1alpha1.MetalConnection{Inventory: v1alpha1.MetalInventoryIronCore,
					Namespace: "hosts"}}
			}, false),
		)

		It("is that of the CloudProfile if the state of a removed site says none", func() {
			input.State = &v1alpha1.InfrastructureState{Sites: []v1alpha1.SiteState{{Name: "racks"}}}
			sites, err := Resolve(input)
			Expect(err).NotTo(HaveOccurred())
			Expect(sites[2].Platform).To(Equal(v1alpha1.PlatformMetal))
		})

		DescribeTable("leaves out the site if nobody says it",
			func(change func(), message string, left ...string) {
				change()
				sites, err := Resolve(input)
				Expect(err).To(MatchError(message))
				Expect(names(sites)).To(Equal(left))
			},
			Entry("unknown to the CloudProfile", func() { input.Profile.Sites = input.Profile.Sites[1:] },
				`site "cloud": infrastructureConfig.sites: the CloudProfile does not know the site`, "vc"),
			Entry("two platforms", func() { input.Profile.Sites[0].Metal = &v1alpha1.MetalProfile{} },
				`site "cloud": cloudProfileConfig.sites: it needs the block of exactly one platform`, "vc"),
			Entry("removed", func() { input.State = &v1alpha1.InfrastructureState{Sites: []v1alpha1.SiteState{{Name: "old"}}} },
				`site "old": state.sites: it has no block of exactly one platform and the CloudProfile does not know the site`, "vc", "cloud"),
		)
	})

	Describe("credentials", func() {
		It("are the site's entries without the prefix", func() {
			input.Secret = map[string][]byte{
				"cloud.username": []byte("u"), "cloud.a.b": []byte("c"), "cloud2.username": []byte("other"), "username": []byte("none"),
				"vc.password": []byte("p"),
			}
			sites, err := Resolve(input)
			Expect(err).NotTo(HaveOccurred())
			Expect(sites[0].Credentials).To(Equal(Credentials{"password": "p"}))
			Expect(sites[1].Credentials).To(Equal(Credentials{"username": "u", "a.b": "c"}))
		})
	})

	DescribeTable("credentials that are checked",
		func(credentials Credentials, valid bool) {
			if valid {
				Expect(credentials.Check()).To(Succeed())
			} else {
				Expect(credentials.Check()).To(MatchError(HavePrefix(`credentials: key "`)))
			}
		},
		Entry("text", Credentials{"password": "pässword 1"}, true),
		Entry("a line break", Credentials{"password": "a\nb"}, false),
		Entry("not UTF-8", Credentials{"password": "a\xff"}, false),
		Entry("PEM", Credentials{"clientCertificate": "a\nb\n", "clientKey": "a\nb\n", "caCert": "a\nb\n"}, true),
		Entry("PEM with another control character", Credentials{"caCert": "a\x00b\n"}, false),
	)

	Describe("network", func() {
		It("has no gateway for Routed without a range", func() {
			input.Config.Sites[0].Nodes = nil
			sites, err := Resolve(input)
			Expect(err).NotTo(HaveOccurred())
			Expect(sites[0].Network.Gateway.IsValid()).To(BeFalse())
		})

		It("is the site's own for Routed", func() {
			sites, err := Resolve(input)
			Expect(err).NotTo(HaveOccurred())
			Expect(sites[0].Network).To(Equal(Network{
				Topology: v1alpha1.TopologyRouted,
				Subnets:  prefixes("10.0.1.0/24"),
				Nodes:    prefixes("10.0.1.0/24"),
				Foreign:  prefixes("10.0.0.0/24", "2001:db8::/64"),
				Pods:     prefixes("100.96.0.0/11"),
				Gateway:  netip.MustParseAddr("10.0.1.1"),
				MTU:      1450,
			}))
			Expect(sites[1].Network).To(Equal(Network{
				Topology:   v1alpha1.TopologyRouted,
				Subnets:    prefixes("10.0.0.0/24", "2001:db8::/64"),
				Nodes:      prefixes("10.0.0.0/24", "2001:db8::/64"),
				Foreign:    prefixes("10.0.1.0/24"),
				Pods:       prefixes("100.96.0.0/11"),
				Gateway:    netip.MustParseAddr("10.0.0.1"),
				DNSServers: []string{"192.0.2.1"},
				MTU:        1500,
			}))
		})

		It("is the whole for Stretched", func() {
			input.Config.Networks = v1alpha1.Networks{Topology: v1alpha1.TopologyStretched, Nodes: []string{"10.0.0.0/16", "2001:db8::/56"},
				Gateway: "10.0.255.1"}
			input.Config.Sites = append(input.Config.Sites,
				v1alpha1.InfrastructureSite{Name: "racks", Nodes: []string{"10.0.2.0/24"}, Gateway: "10.0.2.1", DNSServers: []string{"192.0.2.9"}})
			sites, err := Resolve(input)
			Expect(err).NotTo(HaveOccurred())
			Expect(sites[1].Network).To(Equal(Network{
				Topology:   v1alpha1.TopologyStretched,
				Subnets:    prefixes("10.0.0.0/16", "2001:db8::/56"),
				Nodes:      prefixes("10.0.0.0/24", "2001:db8::/64"),
				Foreign:    prefixes("10.0.1.0/24", "10.0.2.0/24"),
				Pods:       prefixes("100.96.0.0/11"),
				Gateway:    netip.MustParseAddr("10.0.255.1"),
				DNSServers: []string{"192.0.2.1"},
				MTU:        1450,
			}))
			Expect(sites[2].Network.Gateway).To(Equal(netip.MustParseAddr("10.0.2.1")))
			Expect(sites[2].Network.DNSServers).To(Equal([]string{"192.0.2.9"}))
			Expect(sites[2].Network.MTU).To(BeEquivalentTo(1450))
		})

		It("does not count removed sites as foreign", func() {
			input.State = openStackState("old")
			sites, err := Resolve(input)
			Expect(err).NotTo(HaveOccurred())
			Expect(sites[0].Network.Foreign).To(Equal(prefixes("10.0.0.0/24", "2001:db8::/64")))
		})

		DescribeTable("MTU of site cloud",
			func(topology v1alpha1.Topology, site, network *int32, profile *int32, expected int32) {
				input.Config.Networks = v1alpha1.Networks{Topology: topology, MTU: network}
				input.Config.Sites[1].MTU = site
				input.Profile.Sites[0].MTU = profile
				sites, err := Resolve(input)
				Expect(err).NotTo(HaveOccurred())
				Expect(sites[1].Network.MTU).To(Equal(expected))
			},
			Entry("the site's", v1alpha1.TopologyRouted, new(int32(9000)), new(int32(8000)), new(int32(7000)), int32(9000)),
			Entry("the network's", v1alpha1.TopologyRouted, nil, new(int32(8000)), new(int32(7000)), int32(8000)),
			Entry("the CloudProfile's", v1alpha1.TopologyRouted, nil, nil, new(int32(7000)), int32(7000)),
			Entry("unknown", v1alpha1.TopologyRouted, nil, nil, nil, int32(0)),
			Entry("the smallest of all sites for Stretched", v1alpha1.TopologyStretched, nil, nil, new(int32(7000)), int32(1450)),
		)

		DescribeTable("malformed",
			func(change func(), message string) {
				change()
				sites, err := Resolve(input)
				Expect(err).To(MatchError(message))
				Expect(sites).To(BeNil())
			},
			Entry("topology", func() { input.Config.Networks.Topology = "Flat" },
				`infrastructureConfig.networks.topology: "Flat" must be one of ["Stretched" "Routed"]`),
			Entry("network", func() { input.Config.Networks.Nodes = []string{"x"} }, `infrastructureConfig.networks.nodes: "x" must be a CIDR`),
			Entry("gateway", func() { input.Config.Networks.Gateway = "x" }, `infrastructureConfig.networks.gateway: "x" must be an IP address`),
			Entry("site's range", func() { input.Config.Sites[0].Nodes = []string{"10.0.0.0"} },
				`site "vc": infrastructureConfig.sites.nodes: "10.0.0.0" must be a CIDR`),
			Entry("site's gateway", func() { input.Config.Sites[1].Gateway = "x" },
				`site "cloud": infrastructureConfig.sites.gateway: "x" must be an IP address`),
		)
	})

	Describe("look-ups", func() {
		It("finds sites", func() {
			sites, err := Resolve(input)
			Expect(err).NotTo(HaveOccurred())
			Expect(Find(sites, "cloud")).To(BeIdenticalTo(&sites[1]))
			Expect(Find(sites, "racks")).To(BeNil())
		})

		It("finds zones of sites that the shoot uses", func() {
			input.State = &v1alpha1.InfrastructureState{Sites: []v1alpha1.SiteState{{Name: "racks"}}}
			sites, err := Resolve(input)
			Expect(err).NotTo(HaveOccurred())
			site, zone := FindZone(sites, "cloud-a")
			Expect(site).To(BeIdenticalTo(&sites[1]))
			Expect(zone).To(BeIdenticalTo(&input.Profile.Sites[0].Zones[0]))
			for _, name := range []string{"rack-1", "unknown"} {
				site, zone = FindZone(sites, name)
				Expect(site).To(BeNil())
				Expect(zone).To(BeNil())
			}
		})
	})

	It("links none of Gardener", func() {
		output, err := exec.CommandContext(GinkgoT().Context(), "go", "list", "-deps", ".").Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(output)).NotTo(ContainSubstring("github.com/gardener/gardener/"))
	})
})

func prefixes(cidrs ...string) []netip.Prefix {
	var result []netip.Prefix
	for _, cidr := range cidrs {
		result = append(result, netip.MustParsePrefix(cidr))
	}
	return result
}
