// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"
	"encoding/json"
	"net/netip"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

// givenObjects are what somebody brings along.
type givenObjects struct {
	network, subnet, router, securityGroup string
}

var _ = Describe("Given objects", func() {
	var (
		s     *site.Site
		part  platform.Infrastructure
		cloud *gophercloud.ServiceClient
		given givenObjects
	)

	BeforeEach(func(ctx SpecContext) {
		s = newSite(shootName())
		s.SSHPublicKey = nil
		part = infrastructure.New(newSessions())
		cloud = networkService(ctx)
		given = bring(ctx, cloud)
		DeferCleanup(func(ctx SpecContext) {
			Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
			given.remove(ctx, cloud)
		})
		// Everything that would be changed if it were ours.
		s.Network.DNSServers = []string{"192.0.2.54"}
		s.Network.Gateway = netip.MustParseAddr("10.250.0.9")
		s.Network.MTU = 1300
	})

	useAll := func() {
		s.Config.OpenStack = &v1alpha1.OpenStackInfrastructure{
			Network:       &v1alpha1.OpenStackNetwork{ID: given.network},
			Subnet:        &v1alpha1.OpenStackReference{ID: given.subnet},
			Router:        &v1alpha1.OpenStackReference{ID: given.router},
			SecurityGroup: &v1alpha1.OpenStackReference{ID: given.securityGroup},
		}
	}
	roundTrip := func(ctx SpecContext) {
		GinkgoHelper()
		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(part.Reconcile(ctx, s, keep(s))).To(Equal(status))
		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
	}

	It("should be byte for byte the same after a deletion, connected as they were", func(ctx SpecContext) {
		_, err := routers.AddInterface(ctx, cloud, given.router, routers.AddInterfaceOpts{SubnetID: given.subnet}).Extract()
		Expect(err).NotTo(HaveOccurred())
		before := given.bodies(ctx, cloud)
		useAll()
		roundTrip(ctx)
		Expect(given.bodies(ctx, cloud)).To(Equal(before))
	})

	suite.NightlyIt("should be the same after a deletion that took away the interface that was added", func(ctx SpecContext) {
		before := given.bodies(ctx, cloud, counters...)
		useAll()
		roundTrip(ctx)
		Expect(given.bodies(ctx, cloud, counters...)).To(Equal(before))
	})

	suite.NightlyIt("should be the same after a deletion with a lost state", func(ctx SpecContext) {
		_, err := routers.AddInterface(ctx, cloud, given.router, routers.AddInterfaceOpts{SubnetID: given.subnet}).Extract()
		Expect(err).NotTo(HaveOccurred())
		before := given.bodies(ctx, cloud)
		useAll()
		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		s.State = nil
		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(given.bodies(ctx, cloud)).To(Equal(before))
	})

	suite.NightlyIt("should be the same if only some of them are used", func(ctx SpecContext) {
		Expect(subnets.Delete(ctx, cloud, given.subnet).ExtractErr()).To(Succeed())
		given.subnet = ""
		s.Config.OpenStack = &v1alpha1.OpenStackInfrastructure{
			Network: &v1alpha1.OpenStackNetwork{ID: given.network},
			Router:  &v1alpha1.OpenStackReference{ID: given.router},
		}
		before := given.bodies(ctx, cloud, counters...)
		roundTrip(ctx)
		Expect(given.bodies(ctx, cloud, counters...)).To(Equal(before))
	})
})

// bring makes objects with everything that is set by hand: names, descriptions, tags, rules, routes, resolvers and pools.
func bring(ctx context.Context, cloud *gophercloud.ServiceClient) givenObjects {
	GinkgoHelper()
	network, err := networks.Create(ctx, cloud, networks.CreateOpts{Name: "mine", Description: "brought along"}).Extract()
	Expect(err).NotTo(HaveOccurred())
	subnet, err := subnets.Create(ctx, cloud, subnets.CreateOpts{
		NetworkID: network.ID, Name: "mine", Description: "brought along", IPVersion: gophercloud.IPv4, CIDR: "10.250.0.0/16",
		DNSNameservers: []string{"192.0.2.53"}, HostRoutes: []subnets.HostRoute{{DestinationCIDR: "192.168.0.0/24", NextHop: "10.250.200.1"}},
		AllocationPools: []subnets.AllocationPool{{Start: "10.250.0.10", End: "10.250.200.0"}},
	}).Extract()
	Expect(err).NotTo(HaveOccurred())
	external, err := networkNamed(ctx, cloud, "public")
	Expect(err).NotTo(HaveOccurred())
	router, err := routers.Create(ctx, cloud,
		routers.CreateOpts{Name: "mine", Description: "brought along", GatewayInfo: &routers.GatewayInfo{NetworkID: external}}).Extract()
	Expect(err).NotTo(HaveOccurred())
	group, err := groups.Create(ctx, cloud, groups.CreateOpts{Name: "mine", Description: "brought along"}).Extract()
	Expect(err).NotTo(HaveOccurred())
	_, err = rules.Create(ctx, cloud, rules.CreateOpts{
		SecGroupID: group.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP, PortRangeMin: 22,
		PortRangeMax: 22,
	}).Extract()
	Expect(err).NotTo(HaveOccurred())

	given := givenObjects{network: network.ID, subnet: subnet.ID, router: router.ID, securityGroup: group.ID}
	for kind, id := range given.kinds() {
		_, err := attributestags.ReplaceAll(ctx, cloud, kind, id,
			attributestags.ReplaceAllOpts{Tags: []string{"mine", "cost-center=1"}}).Extract()
		Expect(err).NotTo(HaveOccurred())
	}
	return given
}

// kinds are the IDs by their collection in Neutron's API.
func (g givenObjects) kinds() map[string]string {
	kinds := map[string]string{"networks": g.network, "routers": g.router, "security-groups": g.securityGroup}
	if g.subnet != "" {
		kinds["subnets"] = g.subnet
	}
	return kinds
}

// counters are the fields by which Neutron counts also what is connected: a router's interfaces, and a network's subnets.
var counters = []string{"revision_number", "updated_at"}

// bodies are all fields of the objects as Neutron returns them, but for those to be left out.
func (g givenObjects) bodies(ctx context.Context, cloud *gophercloud.ServiceClient, without ...string) map[string]string {
	GinkgoHelper()
	bodies := map[string]string{}
	for kind, id := range g.kinds() {
		var object map[string]map[string]json.RawMessage
		_, err := cloud.Get(ctx, cloud.ServiceURL(kind, id), &object, nil) //nolint:bodyclose // gophercloud closes it
		Expect(err).NotTo(HaveOccurred())
		for _, fields := range object {
			for _, name := range without {
				Expect(fields).To(HaveKey(name))
				delete(fields, name)
			}
		}
		content, err := json.Marshal(object)
		Expect(err).NotTo(HaveOccurred())
		bodies[kind] = string(content)
	}
	return bodies
}

func (g givenObjects) remove(ctx context.Context, cloud *gophercloud.ServiceClient) {
	GinkgoHelper()
	if g.subnet != "" {
		// It fails if there is no interface.
		_, _ = routers.RemoveInterface(ctx, cloud, g.router, routers.RemoveInterfaceOpts{SubnetID: g.subnet}).Extract()
	}
	Expect(routers.Delete(ctx, cloud, g.router).ExtractErr()).To(Succeed())
	Expect(networks.Delete(ctx, cloud, g.network).ExtractErr()).To(Succeed())
	Expect(groups.Delete(ctx, cloud, g.securityGroup).ExtractErr()).To(Succeed())
}
