// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"
	"net/netip"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = suite.Nightly("Gateway", func() {
	var (
		s     *site.Site
		part  platform.Infrastructure
		cloud *gophercloud.ServiceClient
	)

	BeforeEach(func(ctx SpecContext) {
		s = newSite(shootName())
		s.SSHPublicKey = nil
		part = infrastructure.New(newSessions())
		cloud = networkService(ctx)
		DeferCleanup(func(ctx SpecContext) { Expect(part.Delete(ctx, s, keep(s))).To(Succeed()) })
	})

	reconcile := func(ctx SpecContext) *v1alpha1.SiteStatus {
		GinkgoHelper()
		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		return status
	}
	interfaceAddresses := func(ctx SpecContext, router string) []string {
		GinkgoHelper()
		page, err := ports.List(cloud, ports.ListOpts{DeviceID: router, DeviceOwner: "network:router_interface"}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := ports.ExtractPorts(page)
		Expect(err).NotTo(HaveOccurred())
		var addresses []string
		for _, port := range found {
			for _, ip := range port.FixedIPs {
				addresses = append(addresses, ip.IPAddress)
			}
		}
		return addresses
	}

	DescribeTable("should be changed with the router's interface, and the resolvers",
		func(ctx SpecContext, change func(*site.Network), pools []subnets.AllocationPool) {
			change(&s.Network)
			status := reconcile(ctx)
			s.Network.Gateway = netip.MustParseAddr("10.250.0.9")
			s.Network.DNSServers = []string{"192.0.2.54", "192.0.2.55"}
			Expect(reconcile(ctx)).To(Equal(status))

			subnet, err := subnets.Get(ctx, cloud, status.OpenStack.SubnetID).Extract()
			Expect(err).NotTo(HaveOccurred())
			Expect(subnet.GatewayIP).To(Equal("10.250.0.9"))
			Expect(subnet.DNSNameservers).To(Equal([]string{"192.0.2.54", "192.0.2.55"}))
			Expect(subnet.AllocationPools).To(ConsistOf(pools))
			Expect(interfaceAddresses(ctx, status.OpenStack.RouterID)).To(ConsistOf("10.250.0.9"))

			requests := label("gateway no-op")
			Expect(reconcile(ctx)).To(Equal(status))
			Expect(requests()).To(HaveEach(HaveField("Kind", countproxy.KindRead)))
		},
		Entry("of a routed network", func(*site.Network) {},
			[]subnets.AllocationPool{{Start: "10.250.0.1", End: "10.250.0.8"}, {Start: "10.250.0.10", End: "10.250.63.254"}}),
		Entry("of a stretched network", func(n *site.Network) {
			n.Topology, n.Subnets = v1alpha1.TopologyStretched, []netip.Prefix{netip.MustParsePrefix("10.250.0.0/16")}
		}, []subnets.AllocationPool{{Start: "10.250.0.1", End: "10.250.0.8"}, {Start: "10.250.0.10", End: "10.250.63.255"}}),
	)

	It("should stay with the router's interface if another port has the address", func(ctx SpecContext) {
		status := reconcile(ctx)
		port, err := ports.Create(ctx, cloud, ports.CreateOpts{
			NetworkID:   status.OpenStack.NetworkID,
			Description: owner.Owner{Shoot: s.Shoot, Site: s.Name}.Description(),
			FixedIPs:    []ports.IP{{SubnetID: status.OpenStack.SubnetID, IPAddress: "10.250.0.9"}},
		}).Extract()
		Expect(err).NotTo(HaveOccurred())

		s.Network.Gateway = netip.MustParseAddr("10.250.0.9")
		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(err).To(MatchError(And(ContainSubstring(`site "cloud"`), ContainSubstring("gateway"), ContainSubstring(port.ID))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))
		Expect(interfaceAddresses(ctx, status.OpenStack.RouterID)).To(ConsistOf("10.250.0.1"))
	})

	It("should stay with the router's interface if a floating IP leads through it", func(ctx SpecContext) {
		status := reconcile(ctx)
		port, err := ports.Create(ctx, cloud, ports.CreateOpts{NetworkID: status.OpenStack.NetworkID, Name: s.Shoot + "-service"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		ip, err := floatingips.Create(ctx, cloud,
			floatingips.CreateOpts{FloatingNetworkID: status.OpenStack.FloatingNetworkID, PortID: port.ID}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(floatingips.Delete(ctx, cloud, ip.ID).ExtractErr()).To(Succeed())
			Expect(ports.Delete(ctx, cloud, port.ID).ExtractErr()).To(Succeed())
		})

		s.Network.Gateway = netip.MustParseAddr("10.250.0.9")
		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(err).To(MatchError(ContainSubstring(`site "cloud": gateway: `)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))
		Expect(interfaceAddresses(ctx, status.OpenStack.RouterID)).To(ConsistOf("10.250.0.1"))
	})

	It("should come back if a change of it was interrupted", func(ctx SpecContext) {
		status := reconcile(ctx)
		s.Network.Gateway = netip.MustParseAddr("10.250.0.9")
		for _, fault := range []countproxy.Fault{
			{Service: "neutron", Method: "PUT", Path: "/subnets/", Times: 1, Action: countproxy.ActionStatus, Status: 503},
			{Service: "neutron", Method: "PUT", Path: "/add_router_interface$", Times: 1, Action: countproxy.ActionStatus, Status: 503},
		} {
			Expect(proxy.SetFaults(fault)).To(Succeed())
			_, err := part.Reconcile(ctx, s, keep(s))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			Expect(interfaceAddresses(ctx, status.OpenStack.RouterID)).To(BeEmpty())
		}
		Expect(proxy.SetFaults()).To(Succeed())
		Expect(reconcile(ctx)).To(Equal(status))
		Expect(interfaceAddresses(ctx, status.OpenStack.RouterID)).To(ConsistOf("10.250.0.9"))
	})

	It("should tell from which addresses the nodes come", func(ctx SpecContext) {
		status := reconcile(ctx)
		router, err := routers.Get(ctx, cloud, status.OpenStack.RouterID).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(router.GatewayInfo.ExternalFixedIPs).To(HaveLen(1))
		Expect(status.EgressCIDRs).To(ConsistOf(router.GatewayInfo.ExternalFixedIPs[0].IPAddress + "/32"))
	})

	Describe("in a subnet of the floating pool", func() {
		var (
			admin  *administrator
			pool   *networks.Network
			ranges map[string]string
		)

		BeforeEach(func(ctx SpecContext) {
			admin = newAdministrator(ctx)
			var err error
			pool, err = networks.Create(ctx, admin.network,
				external.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: s.Shoot + "-pool"}, External: new(true)}).Extract()
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func(ctx context.Context) {
				Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
				Expect(networks.Delete(ctx, admin.network, pool.ID).ExtractErr()).To(Succeed())
			})
			ranges = map[string]string{}
			for name, cidr := range map[string]string{"first": "172.25.1.0/24", "second": "172.25.2.0/24"} {
				created, err := subnets.Create(ctx, admin.network,
					subnets.CreateOpts{NetworkID: pool.ID, Name: name, CIDR: cidr, IPVersion: gophercloud.IPv4, EnableDHCP: new(false)}).Extract()
				Expect(err).NotTo(HaveOccurred())
				ranges[name] = created.ID
			}
			s.Config.OpenStack.FloatingPoolName = pool.Name
		})

		asAdministrator := func() {
			c, err := bed.Credentials("admin")
			Expect(err).NotTo(HaveOccurred())
			s.Credentials = c.SiteCredentials()
		}

		It("should be made there, by name, and be moved, by ID", func(ctx SpecContext) {
			asAdministrator()
			s.Config.OpenStack.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{Name: "second"}
			status := reconcile(ctx)
			Expect(status.OpenStack.FloatingSubnetID).To(Equal(ranges["second"]))
			Expect(status.EgressCIDRs).To(ConsistOf(HavePrefix("172.25.2.")))

			requests := label("floating subnet no-op")
			Expect(reconcile(ctx)).To(Equal(status))
			Expect(requests()).To(HaveEach(HaveField("Kind", countproxy.KindRead)))
			Expect(len(requests())).To(BeNumerically("<=", 7))

			s.Config.OpenStack.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{ID: ranges["first"]}
			moved := reconcile(ctx)
			Expect(moved.OpenStack.RouterID).To(Equal(status.OpenStack.RouterID))
			Expect(moved.OpenStack.FloatingSubnetID).To(Equal(ranges["first"]))
			Expect(moved.EgressCIDRs).To(ConsistOf(HavePrefix("172.25.1.")))

			s.Config.OpenStack.FloatingSubnet = nil
			requests = label("floating subnet left to OpenStack")
			stays := reconcile(ctx)
			Expect(stays.EgressCIDRs).To(Equal(moved.EgressCIDRs))
			Expect(stays.OpenStack.FloatingSubnetID).To(BeEmpty())
			Expect(requests()).To(HaveEach(HaveField("Kind", countproxy.KindRead)))
		})

		It("should translate addresses only as the CloudProfile says", func(ctx SpecContext) {
			asAdministrator()
			s.Profile.OpenStack.UseSNAT = new(false)
			off := reconcile(ctx)
			translates := func() *bool {
				GinkgoHelper()
				router, err := routers.Get(ctx, admin.network, off.OpenStack.RouterID).Extract()
				Expect(err).NotTo(HaveOccurred())
				return router.GatewayInfo.EnableSNAT
			}
			Expect(translates()).To(HaveValue(BeFalse()))
			Expect(off.EgressCIDRs).To(BeEmpty())

			s.Profile.OpenStack.UseSNAT = new(true)
			on := reconcile(ctx)
			Expect(translates()).To(HaveValue(BeTrue()))
			Expect(on.OpenStack.RouterID).To(Equal(off.OpenStack.RouterID))
			Expect(on.EgressCIDRs).To(ConsistOf(HavePrefix("172.25.")))

			for _, wanted := range []*bool{new(true), nil} {
				s.Profile.OpenStack.UseSNAT = wanted
				requests := label("translation stays")
				Expect(reconcile(ctx)).To(Equal(on), "with the same address")
				Expect(requests()).To(HaveEach(HaveField("Kind", countproxy.KindRead)))
			}
		})

		It("should say that members may not choose the translation, and name the field", func(ctx SpecContext) {
			s.Profile.OpenStack.UseSNAT = new(false)
			_, err := part.Reconcile(ctx, s, keep(s))
			Expect(err).To(MatchError(And(ContainSubstring(`site "cloud"`), ContainSubstring("openstack.useSNAT"))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
		})

		It("should say that members may not choose it, and name the field", func(ctx SpecContext) {
			s.Config.OpenStack.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{ID: ranges["second"]}
			_, err := part.Reconcile(ctx, s, keep(s))
			Expect(err).To(MatchError(And(ContainSubstring(`site "cloud"`), ContainSubstring("openstack.floatingSubnet"))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
		})

		DescribeTable("should name the field of what does not exist",
			func(ctx SpecContext, wanted v1alpha1.OpenStackFloatingSubnet, field string) {
				s.Config.OpenStack.FloatingSubnet = &wanted
				_, err := part.Reconcile(ctx, s, keep(s))
				Expect(err).To(MatchError(And(ContainSubstring(`site "cloud"`), ContainSubstring(field))))
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			},
			Entry("ID", v1alpha1.OpenStackFloatingSubnet{ID: missing}, "openstack.floatingSubnet.id"),
			Entry("name", v1alpha1.OpenStackFloatingSubnet{Name: "third"}, "openstack.floatingSubnet.name"),
		)

		It("should not take a name that two subnets have", func(ctx SpecContext) {
			asAdministrator()
			_, err := subnets.Update(ctx, admin.network, ranges["first"], subnets.UpdateOpts{Name: new("second")}).Extract()
			Expect(err).NotTo(HaveOccurred())
			s.Config.OpenStack.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{Name: "second"}
			_, err = part.Reconcile(ctx, s, keep(s))
			Expect(err).To(MatchError(ContainSubstring("openstack.floatingSubnet.name: 2 subnets")))
		})
	})

	It("should be told as no egress if the given router does not translate addresses or has no gateway", func(ctx SpecContext) {
		admin := newAdministrator(ctx)
		given, err := routers.Create(ctx, cloud, routers.CreateOpts{Name: "given"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) {
			Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
			Expect(routers.Delete(ctx, cloud, given.ID).ExtractErr()).To(Succeed())
		})
		s.Config.OpenStack.FloatingPoolName = ""
		s.Config.OpenStack.Router = &v1alpha1.OpenStackReference{ID: given.ID}
		Expect(reconcile(ctx).EgressCIDRs).To(BeEmpty())

		publicID, err := networkNamed(ctx, cloud, "public")
		Expect(err).NotTo(HaveOccurred())
		for _, snat := range []bool{false, true} {
			_, err = routers.Update(ctx, admin.network, given.ID,
				routers.UpdateOpts{GatewayInfo: &routers.GatewayInfo{NetworkID: publicID, EnableSNAT: &snat}}).Extract()
			Expect(err).NotTo(HaveOccurred())
			if snat {
				Expect(reconcile(ctx).EgressCIDRs).To(ConsistOf(HaveSuffix("/32")))
			} else {
				Expect(reconcile(ctx).EgressCIDRs).To(BeEmpty())
			}
		}
	})
})

// networkNamed returns the ID of the network with the name.
func networkNamed(ctx context.Context, cloud *gophercloud.ServiceClient, name string) (string, error) {
	page, err := networks.List(cloud, networks.ListOpts{Name: name}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	found, err := networks.ExtractNetworks(page)
	if err != nil {
		return "", err
	}
	Expect(found).To(HaveLen(1))
	return found[0].ID, nil
}
