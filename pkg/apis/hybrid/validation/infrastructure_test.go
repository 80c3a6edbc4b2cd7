// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

type infrastructure = v1alpha1.InfrastructureConfig

var _ = Describe("#ValidateInfrastructureConfig", func() {
	validate := func(fresh func() *infrastructure) func(func(*infrastructure, *gardencorev1beta1.Networking), ...problem) {
		return func(change func(*infrastructure, *gardencorev1beta1.Networking), problems ...problem) {
			config, networking := fresh(), newNetworking()
			change(config, networking)
			Expect(ValidateInfrastructureConfig(config, newProfile(), networking, "west", field.NewPath("i"))).To(haveProblems(problems))
		}
	}
	nodes := func(index int, cidrs ...string) func(*infrastructure, *gardencorev1beta1.Networking) {
		return func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Sites[index].Nodes = cidrs }
	}
	openStack := func(change func(*v1alpha1.OpenStackInfrastructure)) func(*infrastructure, *gardencorev1beta1.Networking) {
		return func(c *infrastructure, _ *gardencorev1beta1.Networking) { change(c.Sites[0].OpenStack) }
	}

	It("accepts nil", func() {
		Expect(ValidateInfrastructureConfig(nil, nil, nil, "", field.NewPath("i"))).To(haveProblems([]problem{{required, "i"}}))
		Expect(ValidateInfrastructureConfig(&infrastructure{}, nil, nil, "",
			field.NewPath("i"))).To(haveProblems([]problem{{required, "i.networks.topology"}, {required, "i.sites"}}))
		noPlatform := newProfile()
		noPlatform.Sites[0].OpenStack = nil
		Expect(ValidateInfrastructureConfig(newRouted(), noPlatform, nil, "west", nil)).To(BeEmpty())
		Expect(func() { ValidateInfrastructureConfig(newStretched(), nil, nil, "", nil) }).NotTo(Panic())
		Expect(func() {
			ValidateInfrastructureConfig(newRouted(), &profile{}, &gardencorev1beta1.Networking{}, "west", nil)
		}).NotTo(Panic())
	})

	DescribeTable("topology Stretched", validate(newStretched),
		Entry("valid", func(*infrastructure, *gardencorev1beta1.Networking) {}),
		Entry("equal to the Shoot's nodes", func(_ *infrastructure, n *gardencorev1beta1.Networking) { n.Nodes = new("10.250.0.0/16") }),
		Entry("not equal to the Shoot's nodes", func(_ *infrastructure, n *gardencorev1beta1.Networking) { n.Nodes = new("10.251.0.0/16") },
			problem{invalid, "i.networks.nodes"}),
		Entry("no nodes", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.Nodes = nil },
			problem{required, "i.networks.nodes"}),
		Entry("bad CIDR", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.Nodes[0] = "10.250.0.0" },
			problem{invalid, "i.networks.nodes[0]"}),
		Entry("host bits", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.Nodes[0] = "10.250.0.1/16" },
			problem{invalid, "i.networks.nodes[0]"}),
		Entry("two of a family", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Networks.Nodes = append(c.Networks.Nodes, "10.251.0.0/16")
		}, problem{invalid, "i.networks.nodes[1]"}),
		Entry("two families", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Networks.Nodes = append(c.Networks.Nodes, "2001:db8::/56")
			c.Sites[0].Nodes = append(c.Sites[0].Nodes, "2001:db8::/64")
			c.Sites[1].Nodes = append(c.Sites[1].Nodes, "2001:db8:0:1::/64")
		}, problem{forbidden, "i.sites[0].nodes"}),
		Entry("two families of the network of an OpenStack site", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Networks.Nodes = append(c.Networks.Nodes, "2001:db8::/56")
			c.Sites = c.Sites[:1]
			c.Sites[0].Nodes = nil
		}, problem{required, "i.sites[0].nodes"}, problem{forbidden, "i.sites[0].nodes"}),
		Entry("two families without an OpenStack site", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Networks.Nodes = append(c.Networks.Nodes, "2001:db8::/56")
			c.Sites = c.Sites[1:]
			c.Sites[0].Nodes = append(c.Sites[0].Nodes, "2001:db8:0:1::/64")
		}),
		Entry("site without a family of the network", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Networks.Nodes = append(c.Networks.Nodes, "2001:db8::/56")
			c.Sites[0].Nodes = append(c.Sites[0].Nodes, "2001:db8::/64")
		}, problem{forbidden, "i.sites[0].nodes"}, problem{invalid, "i.sites[1].nodes"}),
		Entry("site outside of the network", nodes(1, "10.251.0.0/24"), problem{invalid, "i.sites[1].nodes"}),
		Entry("site larger than the network", nodes(1, "10.0.0.0/8"), problem{invalid, "i.sites[1].nodes"}, problem{invalid, "i.sites[1].nodes"}),
		Entry("sites overlap", nodes(1, "10.250.32.0/24"), problem{invalid, "i.sites[1].nodes"}),
		Entry("pods overlap", func(_ *infrastructure, n *gardencorev1beta1.Networking) { n.Pods = new("10.250.128.0/24") },
			problem{invalid, "i.networks.nodes"}),
		Entry("services overlap", func(_ *infrastructure, n *gardencorev1beta1.Networking) { n.Services = new("10.0.0.0/8") },
			problem{invalid, "i.networks.nodes"}),
		Entry("gateway is no IP", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.Gateway = "gw" },
			problem{invalid, "i.networks.gateway"}),
		Entry("gateway outside", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.Gateway = "10.251.0.1" },
			problem{invalid, "i.networks.gateway"}),
		Entry("gateway is the network's address", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.Gateway = "10.250.0.0" },
			problem{invalid, "i.networks.gateway"}),
		Entry("gateway is the broadcast address",
			func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.Gateway = "10.250.255.255" }, problem{invalid,
				"i.networks.gateway"}),
		Entry("site's gateway in the network", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Sites[1].Gateway = "10.250.255.1" }),
		Entry("site's gateway outside", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Sites[1].Gateway = "10.251.0.1" },
			problem{invalid, "i.sites[1].gateway"}),
		Entry("MTU", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.MTU = new(int32(100)) },
			problem{invalid, "i.networks.mtu"}),
		Entry("network of our own making over several sites", openStack(func(o *v1alpha1.OpenStackInfrastructure) { o.Network = nil }),
			problem{required, "i.sites[0].openstack.network"}),
		Entry("network of our own making on one site", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Sites = c.Sites[:1]
			c.Sites[0].OpenStack.Network = nil
		}),
		Entry("provider network over several sites", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.Network = &v1alpha1.OpenStackNetwork{Provider: &v1alpha1.OpenStackProviderNetwork{NetworkType: "vlan", PhysicalNetwork: "dc",
				SegmentationID: new(int32(250))}}
		})),
	)

	DescribeTable("topology Routed", validate(newRouted),
		Entry("valid", func(*infrastructure, *gardencorev1beta1.Networking) {}),
		Entry("unknown topology", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.Topology = "Flat" },
			problem{notSupported, "i.networks.topology"}),
		Entry("no topology", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.Topology = "" },
			problem{required, "i.networks.topology"}),
		Entry("nodes of the network", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.Nodes = []string{"10.250.0.0/16"} },
			problem{forbidden, "i.networks.nodes"}),
		Entry("gateway of the network", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Networks.Gateway = "10.250.0.1" },
			problem{forbidden, "i.networks.gateway"}),
		Entry("the Shoot's nodes are a site's", func(_ *infrastructure, n *gardencorev1beta1.Networking) { n.Nodes = new("10.250.1.0/24") }),
		Entry("the Shoot's nodes are no site's", func(_ *infrastructure, n *gardencorev1beta1.Networking) { n.Nodes = new("10.250.2.0/24") },
			problem{invalid, "i.sites"}),
		Entry("no nodes", nodes(1), problem{required, "i.sites[1].nodes"}),
		Entry("bad CIDR", nodes(1, "10.250.1.0/33"), problem{invalid, "i.sites[1].nodes[0]"}),
		Entry("host bits", nodes(1, "10.250.1.9/24"), problem{invalid, "i.sites[1].nodes[0]"}),
		Entry("smallest range", nodes(1, "10.250.1.0/29")),
		Entry("range too small", nodes(1, "10.250.1.0/30"), problem{invalid, "i.sites[1].nodes[0]"}),
		Entry("two of a family", nodes(1, "10.250.1.0/24", "10.250.2.0/24"), problem{invalid, "i.sites[1].nodes[1]"}),
		Entry("families differ", nodes(1, "2001:db8::/64"), problem{invalid, "i.sites[1].nodes"}),
		Entry("sites overlap", nodes(1, "10.250.0.128/25"), problem{invalid, "i.sites[1].nodes"}),
		Entry("pods overlap", nodes(1, "100.96.1.0/24"), problem{invalid, "i.sites[1].nodes"}),
		Entry("services overlap", nodes(1, "100.64.1.0/24"), problem{invalid, "i.sites[1].nodes"}),
		Entry("gateway", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Sites[1].Gateway = "10.250.1.254" }),
		Entry("gateway of another site", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Sites[1].Gateway = "10.250.0.1" },
			problem{invalid, "i.sites[1].gateway"}),
	)

	DescribeTable("sites", validate(newRouted),
		Entry("none", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Sites = nil }, problem{required, "i.sites"}),
		Entry("unknown", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Sites[1].Name = "moon" },
			problem{notSupported, "i.sites[1].name"}),
		Entry("of another region", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Sites[1] = v1alpha1.InfrastructureSite{Name: "far", Nodes: []string{"10.250.1.0/24"},
				OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "any"}}
		}, problem{notSupported, "i.sites[1].name"}),
		Entry("duplicate", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Sites = append(c.Sites, v1alpha1.InfrastructureSite{Name: "racks", Nodes: []string{"10.250.2.0/24"}})
		}, problem{duplicate, "i.sites[2].name"}),
		Entry("another platform's block", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Sites[1].VSphere = &v1alpha1.VSphereInfrastructure{}
		}, problem{forbidden, "i.sites[1].vsphere"}),
		Entry("DNS server and MTU", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Sites[1].DNSServers, c.Sites[1].MTU = []string{"192.0.2.1"}, new(int32(1500))
		}),
		Entry("bad DNS server and MTU", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Sites[1].DNSServers, c.Sites[1].MTU = []string{"x"}, new(int32(1))
		}, problem{invalid, "i.sites[1].dnsServers[0]"}, problem{invalid, "i.sites[1].mtu"}),
		Entry("maximum of machines", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Sites[1].MaximumMachines = new(int32(0)) }),
		Entry("negative maximum of machines", func(c *infrastructure, _ *gardencorev1beta1.Networking) {
			c.Sites[1].MaximumMachines = new(int32(-1))
		}, problem{invalid, "i.sites[1].maximumMachines"}),
	)

	It("refuses a maximum of machines above that of the operator", func() {
		p, c := newProfile(), newRouted()
		p.Sites[2].MaximumMachines, c.Sites[1].MaximumMachines = new(int32(5)), new(int32(5))
		validate := func() field.ErrorList {
			return ValidateInfrastructureConfig(c, p, newNetworking(), "west", field.NewPath("i"))
		}
		Expect(validate()).To(BeEmpty())
		c.Sites[1].MaximumMachines = new(int32(6))
		errs := validate()
		Expect(errs).To(haveProblems([]problem{{invalid, "i.sites[1].maximumMachines"}}))
		Expect(errs.ToAggregate()).To(MatchError(ContainSubstring(
			`must not be greater than that of site "racks" in the CloudProfile, which is 5`)))
	})

	DescribeTable("OpenStack", validate(newRouted),
		Entry("no block", func(c *infrastructure, _ *gardencorev1beta1.Networking) { c.Sites[0].OpenStack = nil },
			problem{required, "i.sites[0].openstack.floatingPoolName"}),
		Entry("no floating pool", openStack(func(o *v1alpha1.OpenStackInfrastructure) { o.FloatingPoolName = "" }),
			problem{required, "i.sites[0].openstack.floatingPoolName"}),
		Entry("unknown floating pool", openStack(func(o *v1alpha1.OpenStackInfrastructure) { o.FloatingPoolName = "private" }),
			problem{notSupported, "i.sites[0].openstack.floatingPoolName"}),
		Entry("router instead", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.FloatingPoolName, o.Router = "", &v1alpha1.OpenStackReference{ID: uuid}
		})),
		Entry("all given", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			reference := &v1alpha1.OpenStackReference{ID: uuid}
			o.Network, o.Subnet, o.Router, o.SecurityGroup = &v1alpha1.OpenStackNetwork{ID: uuid}, reference, reference, reference
		})),
		Entry("bad IDs", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.Network, o.Router, o.SecurityGroup = &v1alpha1.OpenStackNetwork{ID: "net"}, &v1alpha1.OpenStackReference{ID: "router"},
				&v1alpha1.OpenStackReference{}
		}), problem{invalid, "i.sites[0].openstack.network.id"}, problem{invalid, "i.sites[0].openstack.router.id"}, problem{required,
			"i.sites[0].openstack.securityGroup.id"}),
		Entry("floating subnet by ID", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{ID: uuid}
		})),
		Entry("floating subnet by name", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{Name: "public-1"}
		})),
		Entry("floating subnet by neither", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{}
		}), problem{required, "i.sites[0].openstack.floatingSubnet"}),
		Entry("floating subnet by both", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{ID: uuid, Name: "public-1"}
		}), problem{forbidden, "i.sites[0].openstack.floatingSubnet.name"}),
		Entry("floating subnet by a bad ID", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{ID: "public-1"}
		}), problem{invalid, "i.sites[0].openstack.floatingSubnet.id"}),
		Entry("floating subnet without a pool", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.FloatingPoolName, o.FloatingSubnet = "", &v1alpha1.OpenStackFloatingSubnet{ID: uuid}
		}), problem{required, "i.sites[0].openstack.floatingPoolName"}, problem{forbidden, "i.sites[0].openstack.floatingSubnet"}),
		Entry("floating subnet and router", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.Router, o.FloatingSubnet = &v1alpha1.OpenStackReference{ID: uuid}, &v1alpha1.OpenStackFloatingSubnet{ID: uuid}
		}), problem{forbidden, "i.sites[0].openstack.floatingSubnet"}),
		Entry("share network", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.ShareNetwork = &v1alpha1.OpenStackShareNetwork{Enabled: true}
		})),
		Entry("subnet without network",
			openStack(func(o *v1alpha1.OpenStackInfrastructure) { o.Subnet = &v1alpha1.OpenStackReference{ID: uuid} }), problem{forbidden,
				"i.sites[0].openstack.subnet"}),
		Entry("neither ID nor provider", openStack(func(o *v1alpha1.OpenStackInfrastructure) { o.Network = &v1alpha1.OpenStackNetwork{} }),
			problem{required, "i.sites[0].openstack.network"}),
		Entry("ID and provider", openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.Network = &v1alpha1.OpenStackNetwork{ID: uuid, Provider: &v1alpha1.OpenStackProviderNetwork{NetworkType: "vxlan"}}
		}), problem{forbidden, "i.sites[0].openstack.network.provider"}),
	)

	DescribeTable("OpenStack provider network", func(provider v1alpha1.OpenStackProviderNetwork, problems ...problem) {
		validate(newRouted)(openStack(func(o *v1alpha1.OpenStackInfrastructure) { o.Network = &v1alpha1.OpenStackNetwork{Provider: &provider} }),
			problems...)
	},
		Entry("flat", v1alpha1.OpenStackProviderNetwork{NetworkType: "flat", PhysicalNetwork: "dc"}),
		Entry("flat with an ID", v1alpha1.OpenStackProviderNetwork{NetworkType: "flat", PhysicalNetwork: "dc", SegmentationID: new(int32(1))},
			problem{forbidden, "i.sites[0].openstack.network.provider.segmentationID"}),
		Entry("VLAN without a physical network", v1alpha1.OpenStackProviderNetwork{NetworkType: "vlan"},
			problem{required, "i.sites[0].openstack.network.provider.physicalNetwork"}),
		Entry("VLAN", v1alpha1.OpenStackProviderNetwork{NetworkType: "vlan", PhysicalNetwork: "dc", SegmentationID: new(int32(4094))}),
		Entry("VLAN ID too large",
			v1alpha1.OpenStackProviderNetwork{NetworkType: "vlan", PhysicalNetwork: "dc", SegmentationID: new(int32(4095))}, problem{invalid,
				"i.sites[0].openstack.network.provider.segmentationID"}),
		Entry("VXLAN", v1alpha1.OpenStackProviderNetwork{NetworkType: "vxlan", SegmentationID: new(int32(16777215))}),
		Entry("tunnel key too large", v1alpha1.OpenStackProviderNetwork{NetworkType: "geneve", SegmentationID: new(int32(16777216))},
			problem{invalid, "i.sites[0].openstack.network.provider.segmentationID"}),
		Entry("GRE with a physical network", v1alpha1.OpenStackProviderNetwork{NetworkType: "gre", PhysicalNetwork: "dc"},
			problem{forbidden, "i.sites[0].openstack.network.provider.physicalNetwork"}),
		Entry("unknown type", v1alpha1.OpenStackProviderNetwork{NetworkType: "stt"},
			problem{notSupported, "i.sites[0].openstack.network.provider.networkType"}),
		Entry("no type", v1alpha1.OpenStackProviderNetwork{}, problem{required, "i.sites[0].openstack.network.provider.networkType"}),
	)
})

var _ = Describe("#ValidateInfrastructureConfigUpdate", func() {
	validate := func(fresh func() *infrastructure, nodes *string, change func(*infrastructure), problems ...problem) {
		changed := fresh()
		change(changed)
		Expect(ValidateInfrastructureConfigUpdate(fresh(), changed, &gardencorev1beta1.Networking{Nodes: nodes},
			field.NewPath("i"))).To(haveProblems(problems))
	}
	openStack := func(change func(*v1alpha1.OpenStackInfrastructure)) func(*infrastructure) {
		return func(c *infrastructure) { change(c.Sites[0].OpenStack) }
	}

	It("accepts nil", func() {
		Expect(ValidateInfrastructureConfigUpdate(nil, nil, nil, nil)).To(BeEmpty())
		Expect(ValidateInfrastructureConfigUpdate(nil, newRouted(), nil, nil)).To(BeEmpty())
		Expect(ValidateInfrastructureConfigUpdate(newRouted(), nil, nil, field.NewPath("i"))).To(haveProblems([]problem{{required, "i"}}))
		Expect(ValidateInfrastructureConfigUpdate(newRouted(), newRouted(), nil, nil)).To(BeEmpty())
	})

	DescribeTable("changes", validate,
		Entry("none", newStretched, new("10.250.0.0/16"), func(*infrastructure) {}),
		Entry("topology", newRouted, nil, func(c *infrastructure) { c.Networks.Topology = v1alpha1.TopologyStretched },
			problem{invalid, "i.networks.topology"}),
		Entry("nodes of the network", newStretched, nil, func(c *infrastructure) { c.Networks.Nodes = []string{"10.0.0.0/8"} },
			problem{invalid, "i.networks.nodes"}),
		Entry("nodes of a site", newRouted, nil, func(c *infrastructure) { c.Sites[1].Nodes = []string{"10.250.2.0/24"} },
			problem{invalid, "i.sites[1].nodes"}),
		Entry("order of sites", newRouted, nil, func(c *infrastructure) { c.Sites[0], c.Sites[1] = c.Sites[1], c.Sites[0] }),
		Entry("new site", newRouted, nil, func(c *infrastructure) {
			c.Sites = append(c.Sites, v1alpha1.InfrastructureSite{Name: "vc", Nodes: []string{"10.250.2.0/24"}})
		}),
		Entry("resolvers, gateway and MTU", newRouted, nil, func(c *infrastructure) {
			c.Sites[1].DNSServers, c.Sites[1].Gateway, c.Sites[1].MTU = []string{"192.0.2.1"}, "10.250.1.9", new(int32(1500))
		}),
		Entry("removed site", newRouted, new("10.250.0.0/24"), func(c *infrastructure) { c.Sites = c.Sites[:1] }),
		Entry("removed site that has the Shoot's nodes", newRouted, new("10.250.1.0/24"), func(c *infrastructure) { c.Sites = c.Sites[:1] },
			problem{forbidden, "i.sites"}),
		Entry("removed site of a stretched network", newStretched, new("10.250.0.0/16"), func(c *infrastructure) { c.Sites = c.Sites[:1] }),
		Entry("floating pool", newRouted, nil, openStack(func(o *v1alpha1.OpenStackInfrastructure) { o.FloatingPoolName = "other" }),
			problem{invalid, "i.sites[0].openstack.floatingPoolName"}),
		Entry("floating subnet and share network", newRouted, nil, openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			o.FloatingSubnet, o.ShareNetwork = &v1alpha1.OpenStackFloatingSubnet{ID: uuid}, &v1alpha1.OpenStackShareNetwork{Enabled: true}
		})),
		Entry("network ID", newStretched, nil, openStack(func(o *v1alpha1.OpenStackInfrastructure) { o.Network.ID = "other" }),
			problem{invalid, "i.sites[0].openstack.network"}),
		Entry("new network ID", newRouted, nil,
			openStack(func(o *v1alpha1.OpenStackInfrastructure) { o.Network = &v1alpha1.OpenStackNetwork{ID: uuid} }), problem{invalid,
				"i.sites[0].openstack.network"}),
		Entry("subnet, router and security group", newRouted, nil, openStack(func(o *v1alpha1.OpenStackInfrastructure) {
			reference := &v1alpha1.OpenStackReference{ID: uuid}
			o.Subnet, o.Router, o.SecurityGroup = reference, reference, reference
		}), problem{invalid, "i.sites[0].openstack.subnet"}, problem{invalid, "i.sites[0].openstack.router"}, problem{invalid,
			"i.sites[0].openstack.securityGroup"}),
		Entry("no block any more", newStretched, nil, func(c *infrastructure) { c.Sites[0].OpenStack = nil },
			problem{invalid, "i.sites[0].openstack.floatingPoolName"}, problem{invalid, "i.sites[0].openstack.network"}),
	)
})

var _ = Describe("#ValidateRemovedSites", func() {
	pools := func() []gardencorev1beta1.Worker {
		return []gardencorev1beta1.Worker{{Name: "a", Zones: []string{"cloud-a"}}, {Name: "b", Zones: []string{"rack-1", "cloud-a"}},
			{Name: "c", Zones: []string{"rack-1"}}}
	}
	without := func(site int) *infrastructure {
		config := newRouted()
		config.Sites = slices.Delete(config.Sites, site, site+1)
		return config
	}

	It("accepts nil", func() {
		Expect(ValidateRemovedSites(nil, newRouted(), pools(), newProfile(), nil)).To(BeEmpty())
		Expect(ValidateRemovedSites(newRouted(), nil, pools(), newProfile(), nil)).To(BeEmpty())
		Expect(ValidateRemovedSites(newRouted(), without(1), pools(), nil, nil)).To(BeEmpty())
	})

	It("accepts what no pool uses", func() {
		Expect(ValidateRemovedSites(newRouted(), newRouted(), pools(), newProfile(), nil)).To(BeEmpty())
		Expect(ValidateRemovedSites(newRouted(), without(1), pools()[:1], newProfile(), nil)).To(BeEmpty())
	})

	It("names the pools that use a removed site", func() {
		errs := ValidateRemovedSites(newRouted(), without(1), pools(), newProfile(), field.NewPath("i"))
		Expect(errs).To(haveProblems([]problem{{forbidden, "i.sites"}}))
		Expect(errs[0].Detail).To(Equal(`site "racks" must not be removed: the pools ["b" "c"] have zones of it`))
	})
})
