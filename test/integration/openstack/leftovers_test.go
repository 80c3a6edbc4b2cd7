// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"net/http"
	"net/netip"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("What Services leave behind", func() {
	var (
		shoot  string
		s      *site.Site
		part   platform.Infrastructure
		status *v1alpha1.OpenStackStatus
		ccm    *services
	)

	BeforeEach(func(ctx SpecContext) {
		shoot = shootName()
		s = newSite(shoot)
		s.SSHPublicKey = nil
		s.Network.Pods = []netip.Prefix{netip.MustParsePrefix("100.96.0.0/11")}
		part = infrastructure.New(newSessions())
		DeferCleanup(func(ctx SpecContext) {
			Expect(proxy.SetFaults()).To(Succeed())
			Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		})
		result, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		status = result.OpenStack
		ccm = newServices(ctx, credentials)
	})

	// remove makes the shoot not use the site any more, and the CloudProfile not know it.
	remove := func() { s.Config, s.Profile, s.Network = nil, nil, site.Network{} }

	hasLoadBalancer := func(ctx SpecContext, id string) bool {
		GinkgoHelper()
		found, err := loadbalancers.Get(ctx, ccm.balancing, id).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return false
		}
		Expect(err).NotTo(HaveOccurred())
		return found.ProvisioningStatus != "DELETED"
	}
	hasFloatingIP := func(ctx SpecContext, id string) bool {
		GinkgoHelper()
		_, err := floatingips.Get(ctx, ccm.network, id).Extract()
		Expect(err == nil || gophercloud.ResponseCodeIs(err, http.StatusNotFound)).To(BeTrue(), "%v", err)
		return err == nil
	}
	hasSecurityGroup := func(ctx SpecContext, id string) bool {
		GinkgoHelper()
		_, err := groups.Get(ctx, ccm.network, id).Extract()
		Expect(err == nil || gophercloud.ResponseCodeIs(err, http.StatusNotFound)).To(BeTrue(), "%v", err)
		return err == nil
	}
	setRoutes := func(ctx SpecContext, router string, routes ...routers.Route) {
		GinkgoHelper()
		_, err := routers.Update(ctx, ccm.network, router, routers.UpdateOpts{Routes: &routes}).Extract()
		Expect(err).NotTo(HaveOccurred())
	}
	ourRoute := routers.Route{DestinationCIDR: "100.96.1.0/24", NextHop: "10.250.0.9"}

	suite.NightlyIt("should go with the shoot", func(ctx SpecContext) {
		balancer := ccm.active(ctx, ccm.loadBalancer(ctx, shoot, "web", status.SubnetID).ID)
		attached := ccm.floatingIP(ctx, shoot, status.FloatingNetworkID, balancer.VipPortID)
		detached := ccm.floatingIP(ctx, shoot, status.FloatingNetworkID, "")
		users := ccm.floatingIPDescribed(ctx, "the user's own", status.FloatingNetworkID, "")
		others := ccm.floatingIP(ctx, shoot+"-x", status.FloatingNetworkID, "")
		group, othersGroup := ccm.securityGroup(ctx, shoot), ccm.securityGroup(ctx, shoot+"-x")
		setRoutes(ctx, status.RouterID, ourRoute)
		building := ccm.loadBalancer(ctx, shoot, "new", status.SubnetID)

		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(hasLoadBalancer(ctx, balancer.ID)).To(BeFalse())
		Expect(hasLoadBalancer(ctx, building.ID)).To(BeFalse())
		Expect(hasFloatingIP(ctx, attached.ID)).To(BeFalse())
		Expect(hasFloatingIP(ctx, detached.ID)).To(BeFalse())
		Expect(hasSecurityGroup(ctx, group.ID)).To(BeFalse())
		Expect(hasFloatingIP(ctx, users.ID)).To(BeTrue())
		Expect(hasFloatingIP(ctx, others.ID)).To(BeTrue())
		Expect(hasSecurityGroup(ctx, othersGroup.ID)).To(BeTrue())
	})

	suite.NightlyIt("should go from given objects, which stay as they were with what others have there", func(ctx SpecContext) {
		given := newSite(shoot)
		given.Name, given.Config.Name, given.Profile.Name = "given", "given", "given"
		given.SSHPublicKey = nil
		given.Network.Pods = s.Network.Pods
		given.Config.OpenStack = &v1alpha1.OpenStackInfrastructure{
			Network:       &v1alpha1.OpenStackNetwork{ID: status.NetworkID},
			Subnet:        &v1alpha1.OpenStackReference{ID: status.SubnetID},
			Router:        &v1alpha1.OpenStackReference{ID: status.RouterID},
			SecurityGroup: &v1alpha1.OpenStackReference{ID: status.SecurityGroupID},
		}
		_, err := part.Reconcile(ctx, given, keep(given))
		Expect(err).NotTo(HaveOccurred())

		others, added := routers.Route{DestinationCIDR: "192.168.7.0/24", NextHop: "10.250.0.9"}, routers.Route{DestinationCIDR: "192.168.8.0/24",
			NextHop: "10.250.0.9"}
		setRoutes(ctx, status.RouterID, others)
		before, err := inspector.Objects(ctx, shoot)
		Expect(err).NotTo(HaveOccurred())
		ours := ccm.loadBalancer(ctx, shoot, "web", status.SubnetID)
		dash, underscore := ccm.loadBalancer(ctx, shoot+"-x", "web", status.SubnetID), ccm.loadBalancer(ctx, shoot+"_x", "web", status.SubnetID)
		setRoutes(ctx, status.RouterID, others, ourRoute)

		By("somebody adding a route at the same time")
		Expect(proxy.SetFaults(countproxy.Fault{Method: "PUT", Path: "/routers/[^/]+$", Times: 1, Action: countproxy.ActionCall,
			Call: func(countproxy.Request) {
				setRoutes(ctx, status.RouterID, others, ourRoute, added)
			}})).To(Succeed())
		Expect(platform.ClassOf(part.Delete(ctx, given, keep(given)))).To(Equal(platform.ClassTransient))
		Expect(part.Delete(ctx, given, keep(given))).To(Succeed())
		Expect(hasLoadBalancer(ctx, ours.ID)).To(BeFalse())
		Expect(hasLoadBalancer(ctx, dash.ID)).To(BeTrue())
		Expect(hasLoadBalancer(ctx, underscore.ID)).To(BeTrue())
		router, err := routers.Get(ctx, ccm.network, status.RouterID).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(router.Routes).To(ConsistOf(others, added))

		ccm.deleteLoadBalancer(ctx, dash.ID)
		ccm.deleteLoadBalancer(ctx, underscore.ID)
		Expect(inspector.Objects(ctx, shoot)).To(ConsistOf(before))
		setRoutes(ctx, status.RouterID)
	})

	It("should go with a site that the shoot no longer uses, and not from another one in the same project", func(ctx SpecContext) {
		other := newSite(shoot)
		other.Name, other.Config.Name, other.Profile.Name = "other", "other", "other"
		other.SSHPublicKey = nil
		other.Network = site.Network{Topology: v1alpha1.TopologyRouted, Subnets: s.Network.Foreign, Nodes: s.Network.Foreign,
			Foreign: s.Network.Nodes, Gateway: netip.MustParseAddr("10.250.64.1")}
		DeferCleanup(func(ctx SpecContext) { Expect(part.Delete(ctx, other, keep(other))).To(Succeed()) })
		result, err := part.Reconcile(ctx, other, keep(other))
		Expect(err).NotTo(HaveOccurred())

		here := ccm.loadBalancer(ctx, shoot, "here", status.SubnetID)
		leadingHere := ccm.active(ctx, ccm.loadBalancer(ctx, shoot, "leading-here", result.OpenStack.SubnetID).ID)
		ccm.member(ctx, leadingHere, "10.250.0.9", status.SubnetID)
		elsewhere := ccm.loadBalancer(ctx, shoot, "elsewhere", result.OpenStack.SubnetID)
		address := ccm.floatingIP(ctx, shoot, status.FloatingNetworkID, "")
		group := ccm.securityGroup(ctx, shoot)

		remove()
		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(hasLoadBalancer(ctx, here.ID)).To(BeFalse())
		Expect(hasLoadBalancer(ctx, leadingHere.ID)).To(BeFalse())
		Expect(hasLoadBalancer(ctx, elsewhere.ID)).To(BeTrue())
		Expect(hasFloatingIP(ctx, address.ID)).To(BeTrue())
		Expect(hasSecurityGroup(ctx, group.ID)).To(BeTrue())

		Expect(part.Delete(ctx, other, keep(other))).To(Succeed())
		Expect(hasLoadBalancer(ctx, elsewhere.ID)).To(BeFalse())
		Expect(hasFloatingIP(ctx, address.ID)).To(BeFalse())
		Expect(hasSecurityGroup(ctx, group.ID)).To(BeFalse())
	})

	suite.NightlyIt("should not be looked for on a site without a load balancing service", func(ctx SpecContext) {
		own := newProject(ctx, "member")
		own.hide(ctx, "load-balancer")
		without := newSite(shootName())
		without.Credentials = own.credentials
		DeferCleanup(func(ctx SpecContext) { Expect(part.Delete(ctx, without, keep(without))).To(Succeed()) })
		_, err := part.Reconcile(ctx, without, keep(without))
		Expect(err).NotTo(HaveOccurred())
		Expect(part.Orphans(ctx, without)).NotTo(BeEmpty())
		findings, err := part.Validate(ctx, without, platform.ValidationRequest{Path: field.NewPath("sites").Index(0)})
		Expect(err).NotTo(HaveOccurred())
		Expect(findings.Found).To(BeEmpty())

		requests := label("without")
		Expect(part.Delete(ctx, without, keep(without))).To(Succeed())
		Expect(requests()).NotTo(ContainElement(HaveField("Service", "octavia")))
		Expect(part.Orphans(ctx, without)).To(BeEmpty())
	})

	suite.NightlyIt("should be reported if it is there and the credentials may not see it", func(ctx SpecContext) {
		ccm.active(ctx, ccm.loadBalancer(ctx, shoot, "web", status.SubnetID).ID)
		Expect(proxy.SetFaults(countproxy.Fault{Service: "octavia", Path: "/lbaas/", Action: countproxy.ActionStatus,
			Status: http.StatusForbidden})).To(Succeed())
		err := part.Delete(ctx, s, keep(s))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
		Expect(err).To(MatchError(ContainSubstring("subnet " + status.SubnetID + " has ports of load balancers")))
	})

	suite.NightlyIt("should go although each request for it fails once, or its answer is lost", func(ctx SpecContext) {
		balancer := ccm.active(ctx, ccm.loadBalancer(ctx, shoot, "web", status.SubnetID).ID)
		ccm.floatingIP(ctx, shoot, status.FloatingNetworkID, balancer.VipPortID)
		setRoutes(ctx, status.RouterID, ourRoute)
		faults := []countproxy.Fault{
			{Name: "list refused", Service: "octavia", Method: "GET", Action: countproxy.ActionStatus, Status: 503, Times: 5},
			{Name: "load balancer is changed at the moment", Service: "octavia", Method: "DELETE", Action: countproxy.ActionStatus, Status: 409,
				Times: 2},
			{Name: "load balancer deleted, answer lost", Service: "octavia", Method: "DELETE", Action: countproxy.ActionReset, After: true,
				Times: 1},
			{Name: "floating IP deleted, answer lost", Method: "DELETE", Path: "/floatingips/", Action: countproxy.ActionReset, After: true,
				Times: 1},
			{Name: "routes removed, answer lost", Method: "PUT", Path: "/routers/[^/]+$", Action: countproxy.ActionReset, After: true, Times: 1},
			{Name: "port keeps the subnet", Method: "DELETE", Path: "/subnets/", Action: countproxy.ActionStatus, Status: 409, Times: 1},
		}
		Expect(proxy.SetFaults(faults...)).To(Succeed())
		requests := label("faults")
		attempts := 1
		for err := part.Delete(ctx, s, keep(s)); err != nil; err = part.Delete(ctx, s, keep(s)) {
			Expect(platform.ClassOf(err)).To(BeElementOf(platform.ClassTransient, platform.ClassConflict), "%v", err)
			Expect(attempts).To(BeNumerically("<=", len(faults)), "one more attempt for each fault at most: %v", err)
			attempts++
		}
		acted := sets.New[string]()
		for _, request := range requests() {
			acted.Insert(request.Fault)
		}
		for _, fault := range faults {
			Expect(acted).To(HaveKey(fault.Name))
		}
		Expect(hasLoadBalancer(ctx, balancer.ID)).To(BeFalse())
	})
})
