// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"
	"net/netip"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = suite.Nightly("Network", func() {
	var (
		s    *site.Site
		part platform.Infrastructure
	)

	BeforeEach(func() {
		s = newSite(shootName())
		s.SSHPublicKey = nil
		part = infrastructure.New(newSessions())
		DeferCleanup(func(ctx SpecContext) {
			Expect(proxy.SetFaults()).To(Succeed())
			Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		})
	})

	mtuOf := func(ctx SpecContext, id string) int {
		GinkgoHelper()
		var n mtu.NetworkMTUExt
		Expect(networks.Get(ctx, networkService(ctx), id).ExtractInto(&n)).To(Succeed())
		return n.MTU
	}

	It("should have the MTU that is asked for, change it, and keep it when nobody asks", func(ctx SpecContext) {
		for _, wanted := range []int32{1400, 1300, 0} {
			s.Network.MTU = wanted
			status, err := part.Reconcile(ctx, s, keep(s))
			Expect(err).NotTo(HaveOccurred())
			if wanted == 0 {
				wanted = 1300
			}
			Expect(status.OpenStack.NetworkMTU).To(Equal(wanted))
			Expect(mtuOf(ctx, status.OpenStack.NetworkID)).To(Equal(int(wanted)))

			requests := label("MTU no-op")
			Expect(part.Reconcile(ctx, s, keep(s))).To(Equal(status))
			Expect(requests()).To(HaveEach(HaveField("Kind", countproxy.KindRead)))
		}
	})

	It("should name the field of an MTU that the site does not carry", func(ctx SpecContext) {
		s.Network.MTU = 9000
		_, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).To(MatchError(ContainSubstring(`site "cloud": mtu: `)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))

		s.Network.MTU = 0
		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		s.Network.MTU = 9000
		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(err).To(MatchError(ContainSubstring(`site "cloud": mtu: `)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	It("should check the MTU of a given network, and not change it", func(ctx SpecContext) {
		given, err := networks.Create(ctx, networkService(ctx),
			mtu.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: "given"}, MTU: 1350}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
			Expect(networks.Delete(ctx, networkService(ctx), given.ID).ExtractErr()).To(Succeed())
		})
		s.Config.OpenStack.Network = &v1alpha1.OpenStackNetwork{ID: given.ID}

		s.Network.MTU = 1400
		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(err).To(MatchError(And(ContainSubstring(`site "cloud": mtu: `), ContainSubstring("1350"), ContainSubstring("1400"))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		for _, wanted := range []int32{1300, 1350, 0} {
			s.Network.MTU = wanted
			status, err := part.Reconcile(ctx, s, keep(s))
			Expect(err).NotTo(HaveOccurred())
			Expect(status.OpenStack.NetworkMTU).To(BeEquivalentTo(1350))
		}
		Expect(mtuOf(ctx, given.ID)).To(Equal(1350))
	})

	Describe("with provider attributes", func() {
		var (
			admin          *administrator
			adminInspector *openstack.Client
			shoot          string
		)

		BeforeEach(func(ctx SpecContext) {
			shoot = s.Shoot
			admin = newAdministrator(ctx)
			c, err := bed.Credentials("admin")
			Expect(err).NotTo(HaveOccurred())
			adminInspector, err = openstack.NewClient(ctx, c)
			Expect(err).NotTo(HaveOccurred())
			s.Credentials = c.SiteCredentials()
			deleteLeftovers(ctx, part, s, admin)
		})

		DescribeTable("should be created, found again and deleted by an administrator",
			func(ctx SpecContext, wanted v1alpha1.OpenStackProviderNetwork, expected provider.NetworkProviderExt) {
				s.Config.OpenStack.Network = &v1alpha1.OpenStackNetwork{Provider: &wanted}
				status, err := part.Reconcile(ctx, s, keep(s))
				Expect(err).NotTo(HaveOccurred())
				var made struct {
					networks.Network
					provider.NetworkProviderExt
				}
				Expect(networks.Get(ctx, admin.network, status.OpenStack.NetworkID).ExtractInto(&made)).To(Succeed())
				Expect(made.NetworkProviderExt).To(Equal(expected))
				Expect(made.Name).To(Equal(owner.Owner{Shoot: shoot, Site: s.Name}.Name()))
				Expect(s.State.OpenStack.Network.Managed).To(BeTrue())

				for _, lost := range []bool{false, true} {
					if lost {
						s.State = nil
					}
					requests := label("provider network no-op")
					Expect(part.Reconcile(ctx, s, keep(s))).To(Equal(status))
					Expect(requests()).To(HaveEach(HaveField("Kind", countproxy.KindRead)))
				}

				Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
				Expect(adminInspector.Objects(ctx, shoot)).To(BeEmpty())
				Expect(gophercloud.ResponseCodeIs(networks.Get(ctx, admin.network, made.ID).Err, 404)).To(BeTrue())
			},
			Entry("VLAN", v1alpha1.OpenStackProviderNetwork{NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationID: new(int32(177))},
				provider.NetworkProviderExt{NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationID: "177"}),
			Entry("flat", v1alpha1.OpenStackProviderNetwork{NetworkType: "flat", PhysicalNetwork: "racks"},
				provider.NetworkProviderExt{NetworkType: "flat", PhysicalNetwork: "racks"}),
		)

		It("should make the subnet of a stretched network", func(ctx SpecContext) {
			s.Config.OpenStack.Network = &v1alpha1.OpenStackNetwork{Provider: &v1alpha1.OpenStackProviderNetwork{NetworkType: "vlan",
				PhysicalNetwork: "physnet1", SegmentationID: new(int32(178))}}
			s.Network.Topology, s.Network.Subnets = v1alpha1.TopologyStretched, []netip.Prefix{netip.MustParsePrefix("10.250.0.0/16")}
			s.Network.MTU = 1450
			status, err := part.Reconcile(ctx, s, keep(s))
			Expect(err).NotTo(HaveOccurred())
			Expect(status.OpenStack.NetworkMTU).To(BeEquivalentTo(1450))
			Expect(status.EgressCIDRs).To(HaveLen(1))
			requests := label("stretched provider network no-op")
			Expect(part.Reconcile(ctx, s, func(context.Context, *v1alpha1.SiteState) error { return context.Canceled })).To(Equal(status))
			Expect(len(requests())).To(BeNumerically("<=", 7))
		})

		It("should name the field if the VLAN is in use", func(ctx SpecContext) {
			taken, err := networks.Create(ctx, admin.network, provider.CreateOptsExt{
				CreateOptsBuilder: networks.CreateOpts{Name: "taken"},
				Segments:          []provider.Segment{{NetworkType: "vlan", PhysicalNetwork: "physnet1", SegmentationID: 179}},
			}).Extract()
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func(ctx SpecContext) {
				Expect(networks.Delete(ctx, admin.network, taken.ID).ExtractErr()).To(Succeed())
			})
			s.Config.OpenStack.Network = &v1alpha1.OpenStackNetwork{Provider: &v1alpha1.OpenStackProviderNetwork{NetworkType: "vlan",
				PhysicalNetwork: "physnet1", SegmentationID: new(int32(179))}}
			_, err = part.Reconcile(ctx, s, keep(s))
			Expect(err).To(MatchError(ContainSubstring(`site "cloud": openstack.network.provider: `)))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))
		})

		It("should be refused for members, and name the field", func(ctx SpecContext) {
			s.Credentials = siteCredentials()
			s.Config.OpenStack.Network = &v1alpha1.OpenStackNetwork{Provider: &v1alpha1.OpenStackProviderNetwork{NetworkType: "vlan",
				PhysicalNetwork: "physnet1", SegmentationID: new(int32(180))}}
			_, err := part.Reconcile(ctx, s, keep(s))
			Expect(err).To(MatchError(ContainSubstring(`site "cloud": openstack.network.provider: `)))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
		})
	})
})

// deleteLeftovers deletes the networks that an interrupted run left: a VLAN, or a physical network without VLANs, can be used once.
func deleteLeftovers(ctx context.Context, part platform.Infrastructure, like *site.Site, admin *administrator) {
	GinkgoHelper()
	pages, err := networks.List(admin.network, networks.ListOpts{}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	var found []struct {
		networks.Network
		provider.NetworkProviderExt
	}
	Expect(networks.ExtractNetworksInto(pages, &found)).To(Succeed())
	for _, n := range found {
		shoot, ours := strings.CutSuffix(n.Name, "-"+like.Name)
		if n.PhysicalNetwork == "" || !ours || !strings.HasPrefix(shoot, "shoot--it--") {
			continue
		}
		left := *like
		left.Shoot, left.State = shoot, nil
		Expect(part.Delete(ctx, &left, keep(&left))).To(Succeed())
	}
}
