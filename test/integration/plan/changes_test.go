// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// change is something that changes, and what a plan says then about objects that do not stay as they are.
type change struct {
	name     string
	do       func(ctx SpecContext)
	expected []string
}

var _ = Describe("Plan", Ordered, func() {
	var (
		s      *shoot
		ost    [2]*cloud
		vc     *place
		router string
	)

	BeforeAll(func(ctx SpecContext) {
		s = newShoot()
		ost = [2]*cloud{newCloud(ctx, 0), newCloud(ctx, 1)}
		vc = newPlace(ctx)
		router = ost[1].newRouter(ctx)
		DeferCleanup(func(ctx SpecContext) {
			s.deleted = true
			s.reconcile(ctx)
			for _, c := range ost {
				Eventually(c.inspector.Objects).WithContext(ctx).WithArguments(s.name).Within(time.Minute).ProbeEvery(time.Second).Should(BeEmpty())
			}
			Expect(server.Objects(ctx, s.name)).To(BeEmpty())
		}, NodeTimeout(4*time.Minute))
	})

	for _, c := range []change{
		{"the first reconciliation", nil, []string{
			"cloud Create network", "cloud Create subnet", "cloud Create router", "cloud Create security group", "cloud Create key pair",
			"vc Create tag category", "vc Create tag", "vc Create folder",
		}},
		{"nothing", nil, nil},
		{"the MTU", func(SpecContext) { s.site("cloud").MTU = new(int32(1400)) }, []string{"cloud Change network mtu"}},
		{"the resolvers", func(SpecContext) { s.site("cloud").DNSServers = []string{"192.0.2.54", "192.0.2.55"} },
			[]string{"cloud Change subnet dns_nameservers"}},
		{"the gateway", func(SpecContext) { s.site("cloud").Gateway = "10.250.0.9" },
			[]string{"cloud Change router interface", "cloud Change subnet allocation_pools gateway_ip"}},
		{"the range of another site", func(SpecContext) { s.site("vc").Nodes = []string{"10.250.128.0/18"} },
			[]string{"cloud Change security group rule"}},
		{"a key that is rotated", func(SpecContext) { s.key = publicKey + "-2" }, []string{"cloud Create key pair"}},
		{"a key that is rotated again", func(SpecContext) { s.key = publicKey + "-3" },
			[]string{"cloud Create key pair", "cloud Delete key pair"}},
		{"a wanted share network", func(SpecContext) {
			s.site("cloud").OpenStack.ShareNetwork = &v1alpha1.OpenStackShareNetwork{Enabled: true}
		}, []string{"cloud Create share network"}},
		{"a share network that is no longer wanted", func(SpecContext) { s.site("cloud").OpenStack.ShareNetwork = nil },
			[]string{"cloud Delete share network"}},
		{"a rule that somebody removed", func(ctx SpecContext) { ost[0].removeRule(ctx, s.state(ctx, "cloud").OpenStack.SecurityGroup.ID) },
			[]string{"cloud Change security group rule"}},
		{"a rule that somebody added", func(ctx SpecContext) {
			_, err := rules.Create(ctx, ost[0].network, rules.CreateOpts{
				SecGroupID: s.state(ctx, "cloud").OpenStack.SecurityGroup.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4,
				Protocol: rules.ProtocolTCP, PortRangeMin: 22, PortRangeMax: 22, RemoteIPPrefix: "0.0.0.0/0",
			}).Extract()
			Expect(err).NotTo(HaveOccurred())
		}, []string{"cloud Change security group rule"}},
		{"tags that somebody removed", func(ctx SpecContext) {
			ost[0].removeTags(ctx, "networks", s.state(ctx, "cloud").OpenStack.Network.ID)
			ost[0].removeTags(ctx, "routers", s.state(ctx, "cloud").OpenStack.Router.ID)
		}, []string{"cloud Change network tags", "cloud Change router tags"}},
		{"an interface that somebody removed", func(ctx SpecContext) {
			state := s.state(ctx, "cloud").OpenStack
			_, err := routers.RemoveInterface(ctx, ost[0].network, state.Router.ID,
				routers.RemoveInterfaceOpts{SubnetID: state.Subnet.ID}).Extract()
			Expect(err).NotTo(HaveOccurred())
		}, []string{"cloud Change router interface"}},
		{"a gateway that somebody removed", func(ctx SpecContext) {
			ost[0].removeGateway(ctx, s.state(ctx, "cloud").OpenStack.Router.ID)
		}, []string{"cloud Change router external_gateway_info"}},
		{"a security group that somebody deleted", func(ctx SpecContext) {
			Expect(groups.Delete(ctx, ost[0].network, s.state(ctx, "cloud").OpenStack.SecurityGroup.ID).ExtractErr()).To(Succeed())
		}, []string{"cloud Create security group"}},
		{"a network that somebody renamed", func(ctx SpecContext) {
			ost[0].renameNetwork(ctx, s.state(ctx, "cloud").OpenStack.Network.ID, "theirs")
		}, nil},
		{"a state that was lost", func(ctx SpecContext) {
			ost[0].renameNetwork(ctx, s.state(ctx, "cloud").OpenStack.Network.ID, s.name+"-cloud")
			s.loseState(ctx)
		}, []string{
			"cloud Adopt network", "cloud Adopt subnet", "cloud Adopt router", "cloud Adopt security group", "cloud Adopt key pair",
			"vc Adopt folder", "vc Adopt tag",
		}},
		{"another zone in the same datacenter", func(SpecContext) {
			vcenter := s.siteProfile("vc")
			vcenter.Zones = append(vcenter.Zones, vSphereZone("vc-b", "DC0", "DC0_C1"))
		}, nil},
		{"another datacenter", func(SpecContext) {
			vcenter := s.siteProfile("vc")
			vcenter.Zones = append(vcenter.Zones, vSphereZone("vc-c", "DC1", "DC1_C0"))
		}, []string{"vc Create folder"}},
		{"resource pools of shoots", func(SpecContext) {
			s.siteProfile("vc").VSphere.ResourcePools = &v1alpha1.VSphereResourcePools{PerShoot: true}
		}, []string{"vc Create resource pool", "vc Create resource pool", "vc Create resource pool"}},
		{"tags of zones", func(SpecContext) {
			vcenter := s.siteProfile("vc")
			vcenter.VSphere.Topology = &v1alpha1.VSphereTopology{
				RegionCategory: "k8s-region-" + s.name, ZoneCategory: "k8s-zone-" + s.name, Create: true,
			}
			for i := range vcenter.Zones {
				vcenter.Zones[i].VSphere.TopologyTag = vcenter.Zones[i].Name
			}
		}, []string{
			"vc Create tag category", "vc Create tag category", "vc Create tag", "vc Create tag", "vc Create tag", "vc Create tag",
			"vc Change datacenter tag", "vc Change datacenter tag", "vc Change cluster tag", "vc Change cluster tag", "vc Change cluster tag",
		}},
		{"a folder without its tag", func(ctx SpecContext) {
			state := s.state(ctx, "vc").VSphere
			Expect(tagging.DetachTag(ctx, state.OwnerTag.ID, reference("Folder", state.Folders[0].ID))).To(Succeed())
		}, []string{"vc Change folder tag"}},
		{"a folder that somebody deleted", func(ctx SpecContext) {
			vc.destroy(ctx, reference("Folder", s.state(ctx, "vc").VSphere.Folders[0].ID))
		}, []string{"vc Create folder"}},
		{"a folder that somebody renamed", func(ctx SpecContext) {
			folder := reference("Folder", s.state(ctx, "vc").VSphere.Folders[0].ID)
			vc.await(ctx)(object.NewCommon(vim, folder).Rename(ctx, "theirs"))
		}, nil},
		{"a tag that somebody deleted", func(ctx SpecContext) {
			tag, err := tagging.GetTag(ctx, s.state(ctx, "vc").VSphere.OwnerTag.ID)
			Expect(err).NotTo(HaveOccurred())
			Expect(tagging.DeleteTag(ctx, tag)).To(Succeed())
		}, []string{
			"vc Create tag", "vc Change folder tag", "vc Change folder tag", "vc Change resource pool tag", "vc Change resource pool tag",
			"vc Change resource pool tag",
		}},
		{"another site with a router that is given", func(SpecContext) {
			s.config.Sites = append(s.config.Sites, v1alpha1.InfrastructureSite{Name: "east", Nodes: []string{"10.250.192.0/18"},
				OpenStack: &v1alpha1.OpenStackInfrastructure{Router: &v1alpha1.OpenStackReference{ID: router}}})
		}, []string{
			"cloud Change security group rule", "east Create network", "east Create subnet", "east Create security group",
			"east Create key pair", "east Change router interface",
		}},
		{"a removed site with machines", func(ctx SpecContext) {
			s.config.Sites = s.config.Sites[:2]
			Expect(s.client.Create(ctx, s.machine("east"))).To(Succeed())
		}, []string{"cloud Change security group rule"}},
		{"a removed site without machines", func(ctx SpecContext) { Expect(s.client.Delete(ctx, s.machine("east"))).To(Succeed()) }, []string{
			"east Delete network", "east Delete subnet", "east Delete security group", "east Delete key pair", "east Change router interface",
		}},
		{"a deletion with what Services and machines have left behind", func(ctx SpecContext) {
			state := s.state(ctx, "cloud").OpenStack
			ost[0].leaveBehind(ctx, s.name, state)
			_, err := ports.Create(ctx, ost[0].network, ports.CreateOpts{
				Name: s.name + "-machine", Description: ownerOf(s.name, "cloud").Description(), NetworkID: state.Network.ID,
			}).Extract()
			Expect(err).NotTo(HaveOccurred())
			vc.leaveBehind(ctx, s)
			s.deleted = true
		}, []string{
			"cloud Delete load balancer", "cloud Delete floating IP", "cloud Delete floating IP", "cloud Delete port", "cloud Delete server",
			"cloud Delete port", "cloud Delete router", "cloud Delete subnet", "cloud Delete network",
			"cloud Delete security group", "cloud Delete security group", "cloud Delete key pair", "cloud Delete key pair",
			"cloud Delete server group",
			"vc Delete anti-affinity rule", "vc Delete virtual machine", "vc Delete folder", "vc Delete folder", "vc Delete resource pool",
			"vc Delete resource pool", "vc Delete resource pool", "vc Delete tag",
		}},
		{"nothing after the deletion", nil, nil},
	} {
		It("should be what is done after "+c.name, func(ctx SpecContext) {
			if c.do != nil {
				c.do(ctx)
			}
			planned := s.plan(ctx)
			Expect(summary(planned)).To(ConsistOf(c.expected))
			Expect(difference(plannedRequests(planned), s.reconcile(ctx))).To(BeEmpty())
			Expect(summary(s.plan(ctx))).To(BeEmpty(), "after the reconciliation")
		}, SpecTimeout(4*time.Minute))
	}
})

// machine returns a machine of the shoot on the site.
func (s *shoot) machine(site string) *machinev1alpha1.Machine {
	machine := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: "machine"}}
	machine.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: site}
	return machine
}
