// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

var _ = Describe("Given objects of another shoot in the project", func() {
	const own, neighbour = "shoot--local--a", "shoot--local--b"
	var (
		part    platform.Infrastructure
		authURL string
		foreign *v1alpha1.OpenStackStatus
	)
	siteOf := func(shoot, name string) *site.Site {
		nodes := netip.MustParsePrefix("10.250.0.0/18")
		return &site.Site{
			Name:  name,
			Shoot: shoot,
			Profile: &v1alpha1.CloudProfileSite{Name: name,
				OpenStack: &v1alpha1.OpenStackProfile{AuthURL: authURL, Region: openstackstub.Region}},
			Config: &v1alpha1.InfrastructureSite{Name: name,
				OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: openstackstub.FloatingPool}},
			Credentials: site.Credentials{"domainName": "Default", "tenantName": "own", "username": "u", "password": "p"},
			Network: site.Network{
				Topology: v1alpha1.TopologyRouted, Subnets: []netip.Prefix{nodes}, Nodes: []netip.Prefix{nodes},
				Gateway: netip.MustParseAddr("10.250.0.1"),
			},
		}
	}
	reconcile := func(ctx context.Context, s *site.Site) (*v1alpha1.SiteStatus, error) {
		return part.Reconcile(ctx, s, func(_ context.Context, state *v1alpha1.SiteState) error {
			s.State = state
			return nil
		})
	}
	named := func(s *site.Site, status *v1alpha1.OpenStackStatus) *v1alpha1.OpenStackInfrastructure {
		s.Config.OpenStack = &v1alpha1.OpenStackInfrastructure{
			FloatingPoolName: openstackstub.FloatingPool,
			Network:          &v1alpha1.OpenStackNetwork{ID: status.NetworkID},
			Subnet:           &v1alpha1.OpenStackReference{ID: status.SubnetID},
			Router:           &v1alpha1.OpenStackReference{ID: status.RouterID},
			SecurityGroup:    &v1alpha1.OpenStackReference{ID: status.SecurityGroupID},
		}
		return s.Config.OpenStack
	}

	BeforeEach(func(ctx SpecContext) {
		stub, err := openstackstub.New(openstackstub.Settings{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stub.Close)
		authURL = stub.AuthURL()
		part = New(client.NewSessions())
		status, err := reconcile(ctx, siteOf(neighbour, "cloud"))
		Expect(err).NotTo(HaveOccurred())
		foreign = status.OpenStack
	})

	DescribeTable("should be refused, and not be told whose they are",
		func(ctx SpecContext, field string, only func(*v1alpha1.OpenStackInfrastructure)) {
			s := siteOf(own, "cloud")
			only(named(s, foreign))
			_, err := reconcile(ctx, s)
			Expect(err).To(MatchError(And(ContainSubstring("openstack."+field+": "), ContainSubstring("was not made for this shoot"),
				Not(ContainSubstring(neighbour)))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))

			findings, err := part.Validate(ctx, siteWith(s), platform.ValidationRequest{Path: fieldpath.NewPath("sites").Index(0)})
			Expect(err).NotTo(HaveOccurred())
			Expect(findings.Err()).To(MatchError(And(ContainSubstring("sites[0].openstack."+field),
				ContainSubstring("was not made for this shoot"), Not(ContainSubstring(neighbour)))))
		},
		Entry("a network", "network.id", func(c *v1alpha1.OpenStackInfrastructure) { c.Subnet, c.Router, c.SecurityGroup = nil, nil, nil }),
		Entry("a router", "router.id", func(c *v1alpha1.OpenStackInfrastructure) { c.Network, c.Subnet, c.SecurityGroup = nil, nil, nil }),
		Entry("a security group", "securityGroup.id",
			func(c *v1alpha1.OpenStackInfrastructure) { c.Network, c.Subnet, c.Router = nil, nil, nil }),
	)

	It("should be used if the CloudProfile says that shoots may name them", func(ctx SpecContext) {
		s := siteOf(own, "cloud")
		named(s, foreign).Router = nil
		s.Profile.OpenStack.Networks, s.Profile.OpenStack.SecurityGroups = []string{foreign.NetworkID}, []string{foreign.SecurityGroupID}
		status, err := reconcile(ctx, s)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.OpenStack.NetworkID).To(Equal(foreign.NetworkID))
		Expect(status.OpenStack.SecurityGroupID).To(Equal(foreign.SecurityGroupID))
	})

	It("should be used if they are those of another site of the shoot", func(ctx SpecContext) {
		s := siteOf(neighbour, "second")
		named(s, foreign)
		_, err := reconcile(ctx, s)
		Expect(err).NotTo(HaveOccurred())
	})
})

// siteWith is the site as it is before anything was made.
func siteWith(s *site.Site) *site.Site {
	fresh := *s
	fresh.State = nil
	return &fresh
}
