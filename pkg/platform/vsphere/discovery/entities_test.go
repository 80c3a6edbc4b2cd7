// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

func TestDiscovery(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "vSphere Discovery Suite")
}

var _ = Describe("Entities", func() {
	reference := func(kind, id string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: kind, Value: id}
	}
	root := reference("Folder", "root")
	var found *entities

	add := func(kind, id, name string, parent types.ManagedObjectReference) *entity {
		e := &entity{}
		e.Self, e.Name, e.Parent = reference(kind, id), name, &parent
		found.all[e.Self] = e
		return e
	}
	// datacenter adds a datacenter with a cluster and a template.
	datacenter := func(name, template string) *entity {
		dc := add("Datacenter", name, name, root)
		hosts := add("Folder", name+"-h", "host", dc.Self)
		machines := add("Folder", name+"-v", "vm", dc.Self)
		stores := add("Folder", name+"-s", "datastore", dc.Self)
		networks := add("Folder", name+"-n", "network", dc.Self)
		store := add("Datastore", name+"-ds", "ds", stores.Self)
		store.summary = &types.DatastoreSummary{Accessible: true, FreeSpace: 1}
		best := add("Datastore", name+"-best", "best", stores.Self)
		best.summary = &types.DatastoreSummary{Accessible: true, FreeSpace: 2}
		dead := add("Datastore", name+"-dead", "dead", stores.Self)
		dead.summary = &types.DatastoreSummary{FreeSpace: 3}
		cluster := add("ClusterComputeResource", name+"-c", "cluster", hosts.Self)
		network := add("Network", name+"-net", "nodes", networks.Self)
		uplinks := add("DistributedVirtualPortgroup", name+"-up", "DVS-DVUplinks-1", networks.Self)
		cluster.datastores = []types.ManagedObjectReference{store.Self, best.Self, dead.Self, reference("Datastore", "invisible")}
		cluster.networks = []types.ManagedObjectReference{network.Self, uplinks.Self}
		vm := add("VirtualMachine", name+"-t", template, machines.Self)
		vm.template = &types.VirtualMachineConfigInfo{Hardware: types.VirtualHardware{NumCPU: 2, MemoryMB: 4096}, GuestId: "otherLinux64Guest"}
		return cluster
	}
	offerOf := func() *platform.Offer {
		for _, e := range found.all {
			e.path, e.datacenter = found.place(e)
		}
		offer := &platform.Offer{}
		found.offer(&v1alpha1.CloudProfileSite{Name: "vc", VSphere: &v1alpha1.VSphereProfile{}}, offer)
		return offer
	}
	entries := func(offer *platform.Offer) (zones []v1alpha1.SiteZone, images []v1alpha1.VSphereImage, sizes []string) {
		for _, object := range offer.Objects {
			switch entries := object.Entries; {
			case entries.Zone != nil:
				zones = append(zones, *entries.Zone)
			case entries.Image != nil:
				images = append(images, *entries.Image.VSphere)
			case entries.MachineType != nil:
				sizes = append(sizes, object.Name)
			}
		}
		return zones, images, sizes
	}
	BeforeEach(func() { found = &entities{root: root, all: map[types.ManagedObjectReference]*entity{}} })

	It("should be a zone for each cluster, and one image for templates of the same system", func() {
		datacenter("dc-1", "ubuntu-24.04")
		datacenter("dc-2", "Ubuntu 24.04")
		zones, images, sizes := entries(offerOf())
		Expect(zones).To(HaveExactElements(
			v1alpha1.SiteZone{Name: "vc-dc-1-cluster", VSphere: &v1alpha1.VSphereZone{ComputeCluster: "cluster", Datastore: "best",
				Network: "nodes"}},
			v1alpha1.SiteZone{Name: "vc-dc-2-cluster", VSphere: &v1alpha1.VSphereZone{Datacenter: "dc-2", ComputeCluster: "cluster",
				Datastore: "best", Network: "nodes"}}))
		Expect(images).To(HaveExactElements(v1alpha1.VSphereImage{Template: "ubuntu-24.04",
			Zones: []v1alpha1.VSphereImageZone{{Name: "vc-dc-2-cluster", Template: "Ubuntu 24.04"}}}))
		Expect(sizes).To(HaveExactElements("vm-2-4gi"))
	})

	It("should say what is missing where", func() {
		datacenter("dc-1", "ubuntu-24.04")
		lonely := datacenter("dc-2", "other")
		lonely.networks = nil
		offer := offerOf()
		Expect(offer.Omitted).To(ConsistOf(
			And(HaveField("Kind", platform.KindNetwork), HaveField("Reason", ContainSubstring("which of 0 networks"))),
			And(HaveField("Kind", platform.KindImage), HaveField("Reason",
				`datacenter "dc-2" has no such template, so that it cannot be used in zone "vc-dc-2-cluster"`))))
	})

	It("should not be zones without a datastore or a cluster", func() {
		datacenter("dc-1", "ubuntu-24.04").datastores = nil
		add("ComputeResource", "host", "esx-1", reference("Folder", "dc-1-h"))
		offer := offerOf()
		zones, _, _ := entries(offer)
		Expect(zones).To(BeEmpty())
		Expect(offer.Objects).To(ContainElements(
			And(HaveField("Name", "/dc-1/host/cluster"), HaveField("Unusable", ContainSubstring("datastores"))),
			And(HaveField("Name", "/dc-1/host/esx-1"), HaveField("Unusable", "it is a host without a cluster"))))
	})

	It("should have no place if a folder above is not visible, has no name, or is below itself", func() {
		hidden := add("Folder", "a", "a", reference("Folder", "invisible"))
		nameless := add("Folder", "b", "", root)
		below := add("Folder", "c", "c", nameless.Self)
		loop := add("Folder", "d", "d", reference("Folder", "d"))
		for _, e := range []*entity{hidden, nameless, below, loop} {
			place, datacenter := found.place(e)
			Expect(place).To(BeEmpty())
			Expect(datacenter).To(BeEmpty())
		}
	})

	It("should be referred to by paths", func() {
		site := &v1alpha1.CloudProfileSite{Name: "vc", VSphere: &v1alpha1.VSphereProfile{Datacenter: "dc-1", Folder: "gardener",
			Allowed: &v1alpha1.VSphereAllowed{StoragePolicies: []string{"gold"}}},
			Zones: []v1alpha1.SiteZone{{Name: "z", VSphere: &v1alpha1.VSphereZone{Datacenter: "dc-2", ComputeCluster: "c", ResourcePool: "p",
				Datastore: "d", Network: "n"}}}}
		named := func(part platform.ProfilePart) []string {
			var names []string
			for _, r := range (&discovery{}).References(part) {
				names = append(names, string(r.Kinds[0])+" "+r.Name)
			}
			return names
		}
		Expect(named(platform.ProfilePart{Site: site, Zone: &site.Zones[0]})).To(ConsistOf("zone /dc-2/host/c", "datacenter /dc-2",
			"resource pool /dc-2/host/c/Resources/p", "network /dc-2/network/n", "folder /dc-2/vm/gardener", "datastore /dc-2/datastore/d"))
		Expect(named(platform.ProfilePart{Site: site})).To(ConsistOf("datacenter /dc-1", "volume type gold"))
		Expect(named(platform.ProfilePart{Site: site, Image: &v1alpha1.SiteMachineImage{VSphere: &v1alpha1.VSphereImage{Template: "t"}}})).To(
			ConsistOf("image /dc-2/vm/t"))
		Expect(named(platform.ProfilePart{Site: site,
			MachineType: &v1alpha1.SiteMachineType{VSphere: &v1alpha1.VSphereMachineType{}}})).To(BeEmpty())
	})
})
