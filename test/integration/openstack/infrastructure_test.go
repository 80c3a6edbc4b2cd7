// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6rTGQzUbvFOdK0fEvhOE3uJBVBnN1ZKsiWXAtKhVDp shoot"

// newSite is an OpenStack site with a network of its own and one foreign site.
func newSite(shoot string) *site.Site {
	return &site.Site{
		Name:     "cloud",
		Platform: v1alpha1.PlatformOpenStack,
		Shoot:    shoot,
		Profile: &v1alpha1.CloudProfileSite{
			Name:      "cloud",
			Region:    "west",
			OpenStack: &v1alpha1.OpenStackProfile{AuthURL: connection.AuthURL, Region: connection.Region},
		},
		Config:       &v1alpha1.InfrastructureSite{Name: "cloud", OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public"}},
		Credentials:  siteCredentials(),
		SSHPublicKey: []byte(publicKey),
		Network: site.Network{
			Topology:   v1alpha1.TopologyRouted,
			Subnets:    []netip.Prefix{netip.MustParsePrefix("10.250.0.0/18")},
			Nodes:      []netip.Prefix{netip.MustParsePrefix("10.250.0.0/18")},
			Foreign:    []netip.Prefix{netip.MustParsePrefix("10.250.64.0/18")},
			Gateway:    netip.MustParseAddr("10.250.0.1"),
			DNSServers: []string{"192.0.2.53"},
		},
	}
}

// keep persists the state into the site, as the next reconciliation would find it.
func keep(s *site.Site) platform.Persist {
	return func(_ context.Context, state *v1alpha1.SiteState) error {
		s.State = state
		return nil
	}
}

var _ = Describe("Infrastructure", func() {
	var (
		shoot string
		s     *site.Site
		part  platform.Infrastructure
	)

	BeforeEach(func() {
		shoot = shootName()
		s = newSite(shoot)
		part = infrastructure.New(newSessions())
		DeferCleanup(func(ctx SpecContext) {
			Expect(proxy.SetFaults()).To(Succeed())
			Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		})
	})

	It("should create everything, see that nothing is to do, and delete everything", func(ctx SpecContext) {
		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(status.OpenStack).To(PointTo(MatchFields(IgnoreExtras, Fields{
			"NetworkID":         Not(BeEmpty()),
			"SubnetID":          Not(BeEmpty()),
			"RouterID":          Not(BeEmpty()),
			"FloatingNetworkID": Not(BeEmpty()),
			"SecurityGroupID":   Not(BeEmpty()),
			"KeyName":           HavePrefix(shoot + "-cloud-"),
		})))
		state := s.State.OpenStack
		Expect(state.Network).To(Equal(&v1alpha1.OpenStackObject{ID: status.OpenStack.NetworkID, Managed: true}))
		Expect(state.RouterInterface).To(Equal(&v1alpha1.OpenStackObject{ID: status.OpenStack.SubnetID, Managed: true}))

		requests := label("no-op")
		persist := func(context.Context, *v1alpha1.SiteState) error { return errors.New("nothing is to be persisted") }
		again, err := part.Reconcile(ctx, s, persist)
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(Equal(status))
		Expect(requests()).To(HaveEach(HaveField("Kind", countproxy.KindRead)))
		Expect(len(requests())).To(BeNumerically("<=", 7))

		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(inspector.Objects(ctx, shoot)).To(BeEmpty())
	})

	It("should find everything again when the state is lost", func(ctx SpecContext) {
		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		state := s.State

		s.State = nil
		requests := label("lost state")
		Expect(part.Reconcile(ctx, s, keep(s))).To(Equal(status))
		Expect(s.State).To(Equal(state))
		Expect(requests()).NotTo(ContainElement(HaveField("Kind", countproxy.KindWrite)))

		s.State = nil
		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(inspector.Objects(ctx, shoot)).To(BeEmpty())
	})

	It("should complete what was interrupted again and again, without duplicates", func(ctx SpecContext) {
		faults := []countproxy.Fault{
			{Name: "network created, answer lost", Method: "POST", Path: "/networks$", After: true, Action: countproxy.ActionReset},
			{Name: "subnet refused", Method: "POST", Path: "/subnets$", Action: countproxy.ActionStatus, Status: 503},
			{Name: "subnet created, answer lost", Method: "POST", Path: "/subnets$", After: true, Action: countproxy.ActionReset},
			{Name: "router created, answer lost", Method: "POST", Path: "/routers$", After: true, Action: countproxy.ActionStatus, Status: 503},
			{Name: "interface added, answer lost", Method: "PUT", Path: "/add_router_interface$", After: true, Action: countproxy.ActionStatus,
				Status: 503},
			{Name: "security group created, answer lost", Method: "POST", Path: "/security-groups$", After: true, Action: countproxy.ActionReset},
			{Name: "rules refused", Method: "POST", Path: "/security-group-rules$", Action: countproxy.ActionStatus, Status: 503},
			{Name: "key pair created, answer lost", Method: "POST", Path: "/os-keypairs$", After: true, Action: countproxy.ActionReset},
			{Name: "tags refused", Method: "PUT", Path: "/tags$", Action: countproxy.ActionStatus, Status: 503},
		}
		for i := range faults {
			faults[i].Times = 1
		}
		Expect(proxy.SetFaults(faults...)).To(Succeed())
		requests := label("interrupted")
		attempts := 1
		for _, err := part.Reconcile(ctx, s, keep(s)); err != nil; _, err = part.Reconcile(ctx, s, keep(s)) {
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient), "%v", err)
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
		objects, err := inspector.Objects(ctx, shoot)
		Expect(err).NotTo(HaveOccurred())
		kinds := map[string]int{}
		for _, object := range objects {
			kinds[object.Kind]++
		}
		Expect(kinds).To(And(
			HaveKeyWithValue("network", 1), HaveKeyWithValue("subnet", 1), HaveKeyWithValue("router", 1),
			HaveKeyWithValue("security group", 1), HaveKeyWithValue("key pair", 1),
		))
	})

	It("should keep the key pair that machine classes name until the next rotation", func(ctx SpecContext) {
		reconcile := func(key string) string {
			GinkgoHelper()
			s.SSHPublicKey = []byte(key)
			status, err := part.Reconcile(ctx, s, keep(s))
			Expect(err).NotTo(HaveOccurred())
			return status.OpenStack.KeyName
		}
		keyPairs := func() []string {
			GinkgoHelper()
			objects, err := inspector.Objects(ctx, shoot)
			Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, object := range objects {
				if object.Kind == "key pair" {
					names = append(names, object.Name)
				}
			}
			return names
		}
		first, second := reconcile(publicKey), reconcile(publicKey+"-2")
		Expect(keyPairs()).To(ConsistOf(first, second))
		Expect(reconcile(publicKey + "-2")).To(Equal(second))
		Expect(keyPairs()).To(ConsistOf(first, second), "after a reconciliation that rotates nothing")
		third := reconcile(publicKey + "-3")
		Expect(keyPairs()).To(ConsistOf(second, third))

		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(inspector.Objects(ctx, shoot)).To(BeEmpty())
	})

	It("should use what it is given, and neither change nor delete it", func(ctx SpecContext) {
		given := newSite(shoot)
		given.Name, given.Config.Name, given.Profile.Name = "given", "given", "given"
		owned, err := part.Reconcile(ctx, given, keep(given))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(part.Delete(ctx, given, keep(given))).To(Succeed()) })
		before, err := inspector.Objects(ctx, shoot)
		Expect(err).NotTo(HaveOccurred())

		s.SSHPublicKey = nil
		s.Config.OpenStack = &v1alpha1.OpenStackInfrastructure{
			Network:       &v1alpha1.OpenStackNetwork{ID: owned.OpenStack.NetworkID},
			Subnet:        &v1alpha1.OpenStackReference{ID: owned.OpenStack.SubnetID},
			Router:        &v1alpha1.OpenStackReference{ID: owned.OpenStack.RouterID},
			SecurityGroup: &v1alpha1.OpenStackReference{ID: owned.OpenStack.SecurityGroupID},
		}
		requests := label("given")
		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(status.OpenStack.NetworkID).To(Equal(owned.OpenStack.NetworkID))
		Expect(s.State.OpenStack.Network.Managed).To(BeFalse())
		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(slices.DeleteFunc(requests(), func(r countproxy.Request) bool { return r.Kind != countproxy.KindWrite })).To(BeEmpty())
		Expect(inspector.Objects(ctx, shoot)).To(ConsistOf(before))
	})

	It("should delete the port of a machine that an interrupted creation left behind", func(ctx SpecContext) {
		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		_, err = ports.Create(ctx, networkService(ctx), ports.CreateOpts{
			Name:        shoot + "-machine",
			Description: owner.Owner{Shoot: shoot, Site: s.Name}.Description(),
			NetworkID:   status.OpenStack.NetworkID,
		}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(inspector.Objects(ctx, shoot)).To(BeEmpty())
	})

	suite.NightlyIt("should make a subnet of the whole stretched network whose pool is the site's part of it", func(ctx SpecContext) {
		given, err := networks.Create(ctx, networkService(ctx), networks.CreateOpts{Name: "stretched"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(networks.Delete(ctx, networkService(ctx), given.ID).ExtractErr()).To(Succeed())
		})
		s.Network.Topology = v1alpha1.TopologyStretched
		s.Network.Subnets = []netip.Prefix{netip.MustParsePrefix("10.250.0.0/16")}
		s.Config.OpenStack.Network = &v1alpha1.OpenStackNetwork{ID: given.ID}

		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(status.OpenStack.NetworkID).To(Equal(given.ID))
		subnet, err := subnets.Get(ctx, networkService(ctx), status.OpenStack.SubnetID).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(subnet).To(PointTo(MatchFields(IgnoreExtras, Fields{
			"CIDR":            Equal("10.250.0.0/16"),
			"GatewayIP":       Equal("10.250.0.1"),
			"DNSNameservers":  ConsistOf("192.0.2.53"),
			"AllocationPools": ConsistOf(subnets.AllocationPool{Start: "10.250.0.2", End: "10.250.63.255"}),
		})))

		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		left, err := networks.Get(ctx, networkService(ctx), given.ID).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(left.Subnets).To(BeEmpty())
		Expect(left.Tags).To(BeEmpty())
	})

	DescribeTable("should name the field of what does not exist",
		func(ctx SpecContext, change func(*v1alpha1.OpenStackInfrastructure), field string) {
			change(s.Config.OpenStack)
			_, err := part.Reconcile(ctx, s, keep(s))
			Expect(err).To(MatchError(And(ContainSubstring("site \"cloud\""), ContainSubstring(field))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("network", func(o *v1alpha1.OpenStackInfrastructure) { o.Network = &v1alpha1.OpenStackNetwork{ID: missing} },
			"openstack.network.id"),
		Entry("router", func(o *v1alpha1.OpenStackInfrastructure) { o.Router = &v1alpha1.OpenStackReference{ID: missing} },
			"openstack.router.id"),
		Entry("security group", func(o *v1alpha1.OpenStackInfrastructure) { o.SecurityGroup = &v1alpha1.OpenStackReference{ID: missing} },
			"openstack.securityGroup.id"),
		Entry("floating pool", func(o *v1alpha1.OpenStackInfrastructure) { o.FloatingPoolName = "nowhere" }, "openstack.floatingPoolName"),
	)

	It("should say that the credentials were refused, without showing them", func(ctx SpecContext) {
		s.Credentials["password"] = "not-the-password"
		_, err := part.Reconcile(ctx, s, keep(s))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
		Expect(err).NotTo(MatchError(ContainSubstring("not-the-password")))
		s.Credentials = siteCredentials()
	})

	It("should change the rules when another site comes or goes", func(ctx SpecContext) {
		_, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		s.Network.Foreign = []netip.Prefix{netip.MustParsePrefix("10.250.128.0/18")}
		requests := label("other site")
		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		writes := slices.DeleteFunc(requests(), func(r countproxy.Request) bool { return r.Kind != countproxy.KindWrite })
		create := HaveField("Pattern", ContainSubstring("POST /v2.0/security-group-rules"))
		last := len(writes) - 1
		Expect(writes[0]).To(create, "those that are needed come first")
		Expect(writes[1:last]).To(Or(BeEmpty(), HaveEach(HaveField("Method", "DELETE"))))
		Expect(writes[last]).To(create, "those for metrics come last")

		requests = label("no-op after other site")
		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(requests()).To(HaveEach(HaveField("Kind", countproxy.KindRead)))
	})
})

const missing = "00000000-0000-4000-8000-000000000000"
