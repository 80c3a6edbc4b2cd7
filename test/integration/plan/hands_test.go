// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	openstackowner "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/servergroup"
	vsphereowner "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// cloud is what somebody does by hand in a project.
type cloud struct {
	inspector                          *openstack.Client
	network, compute, balancing, image *gophercloud.ServiceClient
}

func newCloud(ctx context.Context, project int) *cloud {
	GinkgoHelper()
	var (
		c         = credentials[project]
		endpoints = gophercloud.EndpointOpts{Region: c.Region}
		result    = &cloud{}
		err       error
	)
	result.inspector, err = openstack.NewClient(ctx, c)
	Expect(err).NotTo(HaveOccurred())
	provider, err := gopheropenstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: c.AuthURL, Username: c.Username, Password: c.Password, DomainName: c.Domain, TenantName: c.Project,
	})
	Expect(err).NotTo(HaveOccurred())
	for _, service := range []struct {
		into *(*gophercloud.ServiceClient)
		open func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
	}{
		{&result.network, gopheropenstack.NewNetworkV2}, {&result.compute, gopheropenstack.NewComputeV2},
		{&result.balancing, gopheropenstack.NewLoadBalancerV2}, {&result.image, gopheropenstack.NewImageV2},
	} {
		*service.into, err = service.open(provider, endpoints)
		Expect(err).NotTo(HaveOccurred())
	}
	return result
}

func ownerOf(shoot, site string) openstackowner.Owner {
	return openstackowner.Owner{Shoot: shoot, Site: site}
}

// removeRule deletes a rule for the nodes of another site.
func (c *cloud) removeRule(ctx context.Context, group string) {
	GinkgoHelper()
	found, err := groups.Get(ctx, c.network, group).Extract()
	Expect(err).NotTo(HaveOccurred())
	for _, rule := range found.Rules {
		if rule.PortRangeMin == 10250 {
			Expect(rules.Delete(ctx, c.network, rule.ID).ExtractErr()).To(Succeed())
			return
		}
	}
	Fail("there is no rule for the kubelet")
}

func (c *cloud) removeTags(ctx context.Context, kind, id string) {
	GinkgoHelper()
	Expect(attributestags.DeleteAll(ctx, c.network, kind, id).ExtractErr()).To(Succeed())
}

func (c *cloud) removeGateway(ctx context.Context, router string) {
	GinkgoHelper()
	_, err := routers.Update(ctx, c.network, router, routers.UpdateOpts{GatewayInfo: &routers.GatewayInfo{}}).Extract()
	Expect(err).NotTo(HaveOccurred())
}

func (c *cloud) renameNetwork(ctx context.Context, id, name string) {
	GinkgoHelper()
	_, err := networks.Update(ctx, c.network, id, networks.UpdateOpts{Name: &name}).Extract()
	Expect(err).NotTo(HaveOccurred())
}

// newRouter returns the ID of a router that does not belong to a shoot, with a gateway in the external network.
func (c *cloud) newRouter(ctx context.Context) string {
	GinkgoHelper()
	page, err := networks.List(c.network, networks.ListOpts{Name: "public"}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	external, err := networks.ExtractNetworks(page)
	Expect(err).NotTo(HaveOccurred())
	router, err := routers.Create(ctx, c.network, routers.CreateOpts{
		Name: "theirs", GatewayInfo: &routers.GatewayInfo{NetworkID: external[0].ID},
	}).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(routers.Delete(ctx, c.network, router.ID).ExtractErr()).To(Succeed()) })
	return router.ID
}

// leaveBehind creates what Services and machines of the shoot may leave behind.
func (c *cloud) leaveBehind(ctx context.Context, shoot string, state *v1alpha1.OpenStackState) {
	GinkgoHelper()
	balancer, err := loadbalancers.Create(ctx, c.balancing, loadbalancers.CreateOpts{
		Name: fmt.Sprintf("kube_service_%s_default_web", shoot), VipSubnetID: state.Subnet.ID,
	}).Extract()
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(ctx context.Context) (string, error) {
		balancer, err = loadbalancers.Get(ctx, c.balancing, balancer.ID).Extract()
		return balancer.ProvisioningStatus, err
	}).WithContext(ctx).Within(time.Minute).ProbeEvery(200 * time.Millisecond).Should(Equal("ACTIVE"))
	for _, port := range []string{balancer.VipPortID, ""} {
		_, err := floatingips.Create(ctx, c.network, floatingips.CreateOpts{
			Description:       "Floating IP for Kubernetes external service default/web from cluster " + shoot,
			FloatingNetworkID: state.FloatingNetwork.ID, PortID: port,
		}).Extract()
		Expect(err).NotTo(HaveOccurred())
	}
	_, err = groups.Create(ctx, c.network, groups.CreateOpts{
		Name: shoot + "-web", Description: "Security Group for default/web Service LoadBalancer in cluster " + shoot,
	}).Extract()
	Expect(err).NotTo(HaveOccurred())
	_, err = routers.Update(ctx, c.network, state.Router.ID, routers.UpdateOpts{
		Routes: &[]routers.Route{{DestinationCIDR: "100.96.1.0/24", NextHop: "10.250.0.77"}},
	}).Extract()
	Expect(err).NotTo(HaveOccurred())
	c.leaveServer(ctx, shoot, state)
}

// leaveServer creates a server as the driver does, in a server group.
func (c *cloud) leaveServer(ctx context.Context, shoot string, state *v1alpha1.OpenStackState) {
	GinkgoHelper()
	owner := ownerOf(shoot, "cloud")
	group, err := servergroup.Ensure(ctx, c.compute, owner, "pool", "soft-anti-affinity")
	Expect(err).NotTo(HaveOccurred())
	port, err := ports.Create(ctx, c.network, ports.CreateOpts{
		Name: shoot + "-left", Description: owner.Description(), NetworkID: state.Network.ID,
	}).Extract()
	Expect(err).NotTo(HaveOccurred())
	page, err := flavors.ListDetail(c.compute, nil).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	allFlavors, err := flavors.ExtractFlavors(page)
	Expect(err).NotTo(HaveOccurred())
	flavor := slices.IndexFunc(allFlavors, func(f flavors.Flavor) bool { return f.Name == "m1.tiny" })
	Expect(flavor).NotTo(Equal(-1))
	page, err = images.List(c.image, images.ListOpts{Name: "gardenlinux"}).AllPages(ctx) // other suites have images of their own
	Expect(err).NotTo(HaveOccurred())
	allImages, err := images.ExtractImages(page)
	Expect(err).NotTo(HaveOccurred())
	Expect(allImages).To(HaveLen(1))
	server, err := servers.Create(ctx, c.compute, servers.CreateOpts{
		Name: shoot + "-left", FlavorRef: allFlavors[flavor].ID, ImageRef: allImages[0].ID, Networks: []servers.Network{{Port: port.ID}},
		Metadata: owner.Metadata(),
	}, servers.SchedulerHintOpts{Group: group.ID}).Extract()
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(ctx context.Context) (string, error) {
		server, err = servers.Get(ctx, c.compute, server.ID).Extract()
		return server.Status, err
	}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(500 * time.Millisecond).Should(Equal("ACTIVE"))
}

// place is what somebody does by hand in the vCenter.
type place struct {
	finder *find.Finder
}

func newPlace(ctx context.Context) *place {
	GinkgoHelper()
	for _, datacenter := range []string{"DC0", "DC1"} {
		root, err := object.NewSearchIndex(vim).FindByInventoryPath(ctx, "/"+datacenter+"/vm")
		Expect(err).NotTo(HaveOccurred())
		_, err = root.(*object.Folder).CreateFolder(ctx, "gardener")
		Expect(err).NotTo(HaveOccurred())
	}
	finder := find.NewFinder(vim)
	datacenter, err := finder.Datacenter(ctx, "/DC0")
	Expect(err).NotTo(HaveOccurred())
	finder.SetDatacenter(datacenter)
	return &place{finder: finder}
}

func reference(kind, id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: kind, Value: id}
}

// await waits for a task.
func (p *place) await(ctx context.Context) func(*object.Task, error) {
	return func(task *object.Task, err error) {
		GinkgoHelper()
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Wait(ctx)).To(Succeed())
	}
}

func (p *place) destroy(ctx context.Context, reference types.ManagedObjectReference) {
	GinkgoHelper()
	p.await(ctx)(object.NewCommon(vim, reference).Destroy(ctx))
}

// leaveBehind creates a virtual machine as the driver does, and the anti-affinity rule of its pool.
func (p *place) leaveBehind(ctx context.Context, s *shoot) {
	GinkgoHelper()
	var (
		owner  = vsphereowner.Owner{Shoot: s.name, Site: "vc"}
		name   = s.name + "-left"
		folder = object.NewFolder(vim, reference("Folder", s.state(ctx, "vc").VSphere.Folders[0].ID))
		extra  []types.BaseOptionValue
	)
	template, err := p.finder.VirtualMachine(ctx, vcenter.Template)
	Expect(err).NotTo(HaveOccurred())
	cluster, err := p.finder.ClusterComputeResource(ctx, "DC0_C0")
	Expect(err).NotTo(HaveOccurred())
	pool, err := cluster.ResourcePool(ctx)
	Expect(err).NotTo(HaveOccurred())
	datastore, err := p.finder.Datastore(ctx, "LocalDS_0")
	Expect(err).NotTo(HaveOccurred())
	marks := owner.ExtraConfig()
	marks[vsphereowner.KeyMachine] = name
	for key, value := range marks {
		extra = append(extra, &types.OptionValue{Key: key, Value: value})
	}
	p.await(ctx)(template.Clone(ctx, folder, name, types.VirtualMachineCloneSpec{
		PowerOn:  true,
		Location: types.VirtualMachineRelocateSpec{Pool: new(pool.Reference()), Datastore: new(datastore.Reference())},
		Config:   &types.VirtualMachineConfigSpec{Uuid: owner.UUID(name), ExtraConfig: extra},
	}))
	p.await(ctx)(cluster.Reconfigure(ctx, &types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
		Info: &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: types.ClusterRuleInfo{
			Name: owner.RuleName("pool", "vc-a"), Enabled: new(true),
		}},
	}}}, true))
}
