// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = suite.Nightly("Two projects", func() {
	var (
		shoot      string
		part       platform.Infrastructure
		inspectors [2]*openstack.Client
		sites      [2]*site.Site
	)

	BeforeEach(func(ctx SpecContext) {
		shoot = shootName()
		part = infrastructure.New(newSessions())
		for i, project := range openstack.Projects {
			c, err := bed.Credentials(project)
			Expect(err).NotTo(HaveOccurred())
			inspectors[i], err = openstack.NewClient(ctx, c)
			Expect(err).NotTo(HaveOccurred())
			s := newSite(shoot)
			s.Credentials = c.SiteCredentials()
			s.Profile.Zones = []v1alpha1.SiteZone{{Name: project + "-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}}}
			sites[i] = s
		}
		DeferCleanup(func(ctx context.Context) {
			for _, s := range sites {
				Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
			}
			for _, inspector := range inspectors {
				Expect(inspector.Objects(ctx, shoot)).To(BeEmpty())
			}
		})
	})

	reconcile := func(ctx SpecContext) (statuses [2]*v1alpha1.SiteStatus) {
		GinkgoHelper()
		for i, s := range sites {
			var err error
			statuses[i], err = part.Reconcile(ctx, s, keep(s))
			Expect(err).NotTo(HaveOccurred())
		}
		return statuses
	}
	ids := func(ctx SpecContext, i int) []string {
		GinkgoHelper()
		objects, err := inspectors[i].Objects(ctx, shoot)
		Expect(err).NotTo(HaveOccurred())
		var result []string
		for _, object := range objects {
			if object.Kind != "key pair" {
				result = append(result, object.ID)
			}
		}
		return result
	}

	DescribeTable("should not mix objects of equal names", func(ctx SpecContext, change func(i int, s *site.Site)) {
		for i, s := range sites {
			change(i, s)
		}
		statuses := reconcile(ctx)
		for i, s := range sites {
			other := statuses[1-i].OpenStack
			own := statuses[i].OpenStack
			Expect(ids(ctx, i)).To(ContainElements(own.NetworkID, own.SubnetID, own.RouterID, own.SecurityGroupID))
			for _, id := range []string{other.NetworkID, other.SubnetID, other.RouterID, other.SecurityGroupID} {
				Expect(ids(ctx, i)).NotTo(ContainElement(id))
			}
			s.State = nil
		}
		Expect(reconcile(ctx)).To(Equal(statuses))

		left := ids(ctx, 1)
		Expect(part.Delete(ctx, sites[0], keep(sites[0]))).To(Succeed())
		Expect(inspectors[0].Objects(ctx, shoot)).To(BeEmpty())
		Expect(ids(ctx, 1)).To(ConsistOf(left))
	},
		Entry("if even the sites' names are equal, as in two landscapes", func(int, *site.Site) {}),
		Entry("of two sites of a routed network", func(i int, s *site.Site) {
			name(s, openstack.Projects[i])
			nodes := []netip.Prefix{netip.MustParsePrefix("10.250.0.0/18"), netip.MustParsePrefix("10.250.64.0/18")}
			s.Network.Subnets, s.Network.Nodes, s.Network.Foreign = nodes[i:i+1], nodes[i:i+1], nodes[1-i:2-i]
			s.Network.Gateway = nodes[i].Addr().Next()
		}),
		Entry("of two sites of a stretched network", func(i int, s *site.Site) {
			name(s, openstack.Projects[i])
			nodes := []netip.Prefix{netip.MustParsePrefix("10.250.0.0/18"), netip.MustParsePrefix("10.250.64.0/18")}
			s.Network.Topology, s.Network.Subnets = v1alpha1.TopologyStretched, []netip.Prefix{netip.MustParsePrefix("10.250.0.0/16")}
			s.Network.Nodes, s.Network.Foreign = nodes[i:i+1], nodes[1-i:2-i]
		}),
	)

	It("should not take objects of another site in the same project", func(ctx SpecContext) {
		sites[1].Credentials = sites[0].Credentials
		inspectors[1] = inspectors[0]
		name(sites[1], "cloud-2")
		statuses := reconcile(ctx)
		for _, s := range sites {
			s.State = nil
		}
		Expect(reconcile(ctx)).To(Equal(statuses))
		Expect(statuses[0].OpenStack.NetworkID).NotTo(Equal(statuses[1].OpenStack.NetworkID))

		Expect(part.Delete(ctx, sites[0], keep(sites[0]))).To(Succeed())
		description := owner.Owner{Shoot: shoot, Site: "cloud-2"}.Description()
		objects, err := inspectors[0].Objects(ctx, shoot)
		Expect(err).NotTo(HaveOccurred())
		kinds := map[string]int{}
		for _, object := range objects {
			if object.Name == shoot+"-cloud-2" {
				kinds[object.Kind]++
				Expect(object.Marks).To(ContainElement(description))
			}
		}
		Expect(kinds).To(Equal(map[string]int{"network": 1, "subnet": 1, "router": 1, "security group": 1}))
		Expect(objects).NotTo(ContainElement(HaveField("Name", shoot+"-cloud")))
		again, err := part.Reconcile(ctx, sites[1], keep(sites[1]))
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(Equal(statuses[1]))
	})
})

func name(s *site.Site, name string) {
	s.Name, s.Config.Name, s.Profile.Name = name, name, name
}
