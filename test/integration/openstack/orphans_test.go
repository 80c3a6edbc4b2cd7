// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"net/http"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/servergroup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("Orphans", func() {
	var (
		shoot  string
		s      *site.Site
		part   platform.Infrastructure
		status *v1alpha1.OpenStackStatus
		cloud  *services
	)

	BeforeEach(func(ctx SpecContext) {
		shoot = shootName()
		s = newSite(shoot)
		part = infrastructure.New(newSessions())
		DeferCleanup(func(ctx SpecContext) {
			Expect(proxy.SetFaults()).To(Succeed())
			Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		})
		result, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		status = result.OpenStack
		cloud = newServices(ctx, credentials)
	})

	orphan := func(kind, id string) OmegaMatcher {
		return And(HaveField("Site", "cloud"), HaveField("Kind", kind), HaveField("ID", id), HaveField("Name", Not(BeEmpty())))
	}
	infrastructureOrphans := func() []any {
		return []any{
			orphan("key pair", status.KeyName),
			orphan("security group", status.SecurityGroupID),
			orphan("subnet", status.SubnetID),
			orphan("network", status.NetworkID),
			orphan("router", status.RouterID),
		}
	}

	It("should be all that there is of the shoot, and nothing of others", func(ctx SpecContext) {
		o := owner.Owner{Shoot: shoot, Site: s.Name}
		port, err := ports.Create(ctx, cloud.network,
			ports.CreateOpts{Name: shoot + "-machine", Description: o.Description(), NetworkID: status.NetworkID}).Extract()
		Expect(err).NotTo(HaveOccurred())
		server := createServer(ctx, cloud,
			servers.CreateOpts{Name: shoot + "-machine", Metadata: o.Metadata(), Networks: []servers.Network{{Port: port.ID}}})
		group, err := servergroup.Ensure(ctx, cloud.compute, o, "pool", "anti-affinity")
		Expect(err).NotTo(HaveOccurred())
		volume := createVolume(ctx, cloud, shoot)
		createVolume(ctx, cloud, shoot+"-x")
		balancer := cloud.active(ctx, cloud.loadBalancer(ctx, shoot, "web", status.SubnetID).ID)
		address := cloud.floatingIP(ctx, shoot, status.FloatingNetworkID, balancer.VipPortID)
		cloud.floatingIP(ctx, shoot+"-x", status.FloatingNetworkID, "")
		serviceGroup := cloud.securityGroup(ctx, shoot)
		cloud.securityGroup(ctx, shoot+"-x")

		requests := label("orphans")
		orphans, err := part.Orphans(ctx, s)
		Expect(err).NotTo(HaveOccurred())
		Expect(orphans).To(ConsistOf(append(infrastructureOrphans(),
			orphan("server", server.ID),
			orphan("port", port.ID),
			orphan("server group", group.ID),
			orphan("volume", volume.ID),
			orphan("load balancer", balancer.ID),
			orphan("floating IP", address.ID),
			orphan("security group", serviceGroup.ID),
		)...))
		Expect(requests()).To(HaveEach(HaveField("Kind", Not(Equal(countproxy.KindWrite)))))

		By("deleting what Infrastructure deletes")
		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(part.Orphans(ctx, s)).To(ConsistOf(orphan("volume", volume.ID)))
	})

	suite.NightlyIt("should be found without state, and by the state alone", func(ctx SpecContext) {
		state, config, profile, network := s.State, s.Config, s.Profile, s.Network
		s.State = nil
		Expect(part.Orphans(ctx, s)).To(ConsistOf(infrastructureOrphans()...))
		s.State, s.Config, s.Profile, s.Network = state, nil, nil, site.Network{}
		Expect(part.Orphans(ctx, s)).To(ConsistOf(infrastructureOrphans()...))
		s.Config, s.Profile, s.Network = config, profile, network
	})

	It("should not be what was given", func(ctx SpecContext) {
		given := newSite(shoot)
		given.Name, given.Config.Name, given.Profile.Name = "given", "given", "given"
		given.SSHPublicKey = nil
		given.Config.OpenStack = &v1alpha1.OpenStackInfrastructure{
			Network:       &v1alpha1.OpenStackNetwork{ID: status.NetworkID},
			Subnet:        &v1alpha1.OpenStackReference{ID: status.SubnetID},
			Router:        &v1alpha1.OpenStackReference{ID: status.RouterID},
			SecurityGroup: &v1alpha1.OpenStackReference{ID: status.SecurityGroupID},
		}
		_, err := part.Reconcile(ctx, given, keep(given))
		Expect(err).NotTo(HaveOccurred())
		Expect(part.Orphans(ctx, given)).To(BeEmpty())
	})

	suite.NightlyIt("should be listed as far as possible", func(ctx SpecContext) {
		Expect(proxy.SetFaults(
			countproxy.Fault{Service: "cinder", Action: countproxy.ActionStatus, Status: http.StatusServiceUnavailable},
			countproxy.Fault{Service: "octavia", Action: countproxy.ActionStatus, Status: http.StatusForbidden},
		)).To(Succeed())
		orphans, err := part.Orphans(ctx, s)
		Expect(err).To(MatchError(And(ContainSubstring(`site "cloud"`), ContainSubstring("503"), ContainSubstring("403"))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
		Expect(orphans).To(ConsistOf(infrastructureOrphans()...))
	})
})

func createServer(ctx SpecContext, cloud *services, options servers.CreateOpts) *servers.Server {
	GinkgoHelper()
	flavorPages, err := flavors.ListDetail(cloud.compute, flavors.ListOpts{}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	known, err := flavors.ExtractFlavors(flavorPages)
	Expect(err).NotTo(HaveOccurred())
	options.FlavorRef = known[slices.IndexFunc(known, func(f flavors.Flavor) bool { return f.Name == "m1.tiny" })].ID
	imagePages, err := images.List(cloud.image, images.ListOpts{Name: "gardenlinux"}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	found, err := images.ExtractImages(imagePages)
	Expect(err).NotTo(HaveOccurred())
	options.ImageRef = found[0].ID
	options.AvailabilityZone = "az1"
	server, err := servers.Create(ctx, cloud.compute, options, nil).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { deleteServer(ctx, cloud, server.ID) })
	return server
}

func deleteServer(ctx SpecContext, cloud *services, id string) {
	GinkgoHelper()
	Eventually(func(ctx SpecContext) bool {
		err := servers.Delete(ctx, cloud.compute, id).ExtractErr()
		return gophercloud.ResponseCodeIs(err, http.StatusNotFound)
	}).WithContext(ctx).Within(time.Minute).ProbeEvery(time.Second).Should(BeTrue())
}

func createVolume(ctx SpecContext, cloud *services, cluster string) *volumes.Volume {
	GinkgoHelper()
	volume, err := volumes.Create(ctx, cloud.volume, volumes.CreateOpts{
		Name:     "pvc-0b5ff1a5",
		Size:     1,
		Metadata: map[string]string{"cinder.csi.openstack.org/cluster": cluster},
	}, nil).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Eventually(func(ctx SpecContext) bool {
			err := volumes.Delete(ctx, cloud.volume, volume.ID, nil).ExtractErr() // refused while it is created
			return gophercloud.ResponseCodeIs(err, http.StatusNotFound)
		}).WithContext(ctx).Within(time.Minute).ProbeEvery(time.Second).Should(BeTrue())
	})
	return volume
}
