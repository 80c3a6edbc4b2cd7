// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	// keptSize is what counts of an object that is kept, in bytes.
	keptSize = 512
	// maxEntities is the maximum number of objects that are kept.
	maxEntities = 50_000
	// maxDepth limits the number of folders above an object.
	maxDepth = 50
	// uplinkTag is the tag of port groups that connect a switch to the physical network, and uplinkName a part of the names that they get.
	uplinkTag  = "SYSTEM/DVS.UPLINKPG"
	uplinkName = "-DVUplinks"
)

// listed are the properties that are read of each type.
var listed = []types.PropertySpec{
	{Type: "Folder", PathSet: []string{"name", "parent"}},
	{Type: "Datacenter", PathSet: []string{"name", "parent"}},
	{Type: "ComputeResource", PathSet: []string{"name", "parent"}},
	{Type: "ClusterComputeResource", PathSet: []string{"name", "parent", "datastore", "network"}},
	{Type: "ResourcePool", PathSet: []string{"name", "parent"}},
	{Type: "VirtualApp", PathSet: []string{"name", "parent"}},
	{Type: "Datastore", PathSet: []string{"name", "parent", "summary"}},
	{Type: "Network", PathSet: []string{"name", "parent"}},
	{Type: "OpaqueNetwork", PathSet: []string{"name", "parent"}},
	{Type: "DistributedVirtualPortgroup", PathSet: []string{"name", "parent", "tag"}},
	{Type: "VirtualMachine", PathSet: []string{
		"name", "parent", "config.template", "config.hardware.numCPU", "config.hardware.memoryMB", "config.guestId",
		client.ExtraConfigProperty(owner.KeyShoot),
	}},
}

// entity is an object of the inventory.
type entity struct {
	mo.ManagedEntity
	// datastores and networks are those of a cluster.
	datastores, networks []types.ManagedObjectReference
	summary              *types.DatastoreSummary
	template             *types.VirtualMachineConfigInfo
	// path is the inventory path, and datacenter that of the datacenter, which is empty for objects outside.
	path, datacenter string
}

// entities are the objects of the inventory that are visible to the credentials.
type entities struct {
	root types.ManagedObjectReference
	all  map[types.ManagedObjectReference]*entity
}

func retrieve(ctx context.Context, session *client.Session) (*entities, error) {
	found := &entities{root: session.VIM().ServiceContent.RootFolder, all: map[types.ManagedObjectReference]*entity{}}
	err := session.EachBelow(ctx, found.root, listed, func(content types.ObjectContent) (int, error) {
		e, err := load(content)
		if e == nil || err != nil {
			return 0, err
		}
		if len(found.all) >= maxEntities {
			return 0, platform.NewError(platform.ClassConfiguration, "the vCenter has more than %d objects", maxEntities)
		}
		if found.all[e.Self] == nil || len(e.datastores) > 0 {
			found.all[e.Self] = e
		}
		return keptSize, nil
	})
	if err != nil {
		return nil, err
	}
	for _, e := range found.all {
		e.path, e.datacenter = found.place(e)
	}
	return found, nil
}

// load returns the object, nil for virtual machines that are not templates for machines.
func load(content types.ObjectContent) (*entity, error) {
	if content.Obj.Type == "VirtualMachine" {
		vm, err := client.LoadVirtualMachine(content)
		if err != nil || vm.Config == nil || !vm.Config.Template || vm.ExtraConfig[owner.KeyShoot] != "" {
			return nil, err
		}
		return &entity{ManagedEntity: vm.ManagedEntity, template: vm.Config}, nil
	}
	content.MissingSet = nil
	object, err := mo.ObjectContentToType(content, true)
	if err != nil {
		return nil, client.Classify(err)
	}
	managed, ok := object.(mo.Entity)
	if !ok {
		return nil, nil
	}
	e := &entity{ManagedEntity: *managed.Entity()}
	switch o := object.(type) {
	case *mo.ClusterComputeResource:
		e.datastores, e.networks = o.Datastore, o.Network
	case *mo.Datastore:
		e.summary = &o.Summary
	// The types of networks have names of their own.
	case *mo.Network:
		e.Name = o.Name
	case *mo.OpaqueNetwork:
		e.Name = o.Name
	case *mo.DistributedVirtualPortgroup:
		e.Name = o.Name
	}
	return e, nil
}

// place returns the inventory path of the object and that of its datacenter, both empty if it or an object above is not visible.
func (s *entities) place(e *entity) (place, datacenter string) {
	names, of := []string{}, -1
	for depth := 0; depth < maxDepth && e.Name != ""; depth++ {
		names = append(names, e.Name)
		if e.Self.Type == "Datacenter" {
			of = depth
		}
		if e.Parent == nil || *e.Parent == s.root {
			slices.Reverse(names)
			if of >= 0 {
				datacenter = path.Join("/", path.Join(names[:len(names)-of]...))
			}
			return path.Join("/", path.Join(names...)), datacenter
		}
		above := s.all[*e.Parent]
		if above == nil {
			return "", ""
		}
		e = above
	}
	return "", ""
}

// of returns the objects of the types in the order of their paths.
func (s *entities) of(kinds ...string) []*entity {
	var found []*entity
	for _, e := range s.all {
		if e.path != "" && slices.Contains(kinds, e.Self.Type) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *entity) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.Self.Value, b.Self.Value))
	})
	return found
}

// defaultDatacenter returns the datacenter of the site, or the name of the first that has a cluster.
func (s *entities) defaultDatacenter(profile *v1alpha1.CloudProfileSite) string {
	if profile.VSphere.Datacenter != "" {
		return profile.VSphere.Datacenter
	}
	for _, cluster := range s.of("ClusterComputeResource") {
		return strings.TrimPrefix(cluster.datacenter, "/")
	}
	return ""
}

// offer adds the objects to the offer.
func (s *entities) offer(profile *v1alpha1.CloudProfileSite, offer *platform.Offer) {
	add := func(kind platform.ObjectKind, e *entity) {
		offer.Add(platform.Object{Kind: kind, Name: e.path, ID: e.Self.Value})
	}
	for _, e := range s.of("Datacenter") {
		add(platform.KindDatacenter, e)
	}
	for _, e := range s.of("Datastore") {
		add(platform.KindDatastore, e)
	}
	for _, e := range s.of("Network", "OpaqueNetwork", "DistributedVirtualPortgroup") {
		if !e.isUplink() {
			add(platform.KindNetwork, e)
		}
	}
	for _, e := range s.of("ResourcePool", "VirtualApp") {
		if above := s.all[*e.Parent]; above != nil && !strings.HasSuffix(above.Self.Type, "ComputeResource") {
			add(platform.KindResourcePool, e)
		}
	}
	for _, e := range s.of("Folder") {
		if strings.HasPrefix(e.path, inventory.Folder.Path(e.datacenter, "")+"/") {
			add(platform.KindFolder, e)
		}
	}
	site := profile.DeepCopy()
	site.VSphere.Datacenter = s.defaultDatacenter(profile)
	site.Zones = s.zones(site, offer)
	s.templates(site, offer)
}

func (e *entity) isUplink() bool {
	return strings.Contains(e.Name, uplinkName) || slices.ContainsFunc(e.Tag, func(tag types.Tag) bool { return tag.Key == uplinkTag })
}

// relative returns the path of the object below the folder of its kind in its datacenter.
func (e *entity) relative(kind inventory.Kind) string {
	return strings.TrimPrefix(e.path, kind.Path(e.datacenter, "")+"/")
}

// zones adds the clusters, and returns those that a CloudProfile could have.
func (s *entities) zones(profile *v1alpha1.CloudProfileSite, offer *platform.Offer) []v1alpha1.SiteZone {
	var (
		zones       []v1alpha1.SiteZone
		datacenters = len(s.of("Datacenter"))
	)
	for _, cluster := range s.of("ComputeResource", "ClusterComputeResource") {
		object := platform.Object{Kind: platform.KindZone, Name: cluster.path, ID: cluster.Self.Value}
		if cluster.Self.Type != "ClusterComputeResource" {
			object.Unusable = "it is a host without a cluster"
			offer.Add(object)
			continue
		}
		zone := v1alpha1.SiteZone{Name: platform.EntryName(profile.Name, cluster.Name), VSphere: &v1alpha1.VSphereZone{
			ComputeCluster: cluster.relative(inventory.ComputeCluster),
		}}
		if datacenters > 1 {
			zone.Name = platform.EntryName(profile.Name, path.Base(cluster.datacenter), cluster.Name)
		}
		if cluster.datacenter != inventory.Datacenter.Path("", profile.VSphere.Datacenter) {
			zone.VSphere.Datacenter = strings.TrimPrefix(cluster.datacenter, "/")
		}
		datastore := s.datastore(cluster)
		if datastore == nil {
			object.Unusable = "none of its datastores is visible and accessible"
			offer.Add(object)
			continue
		}
		zone.VSphere.Datastore = datastore.relative(inventory.Datastore)
		if networks := s.networks(cluster); len(networks) == 1 {
			zone.VSphere.Network = networks[0]
		} else {
			offer.Omit(platform.KindNetwork, zone.Name, "which of %d networks of the zone the nodes have is not known; set its network, or let "+
				"Shoots choose: %s", len(networks), platform.Printable(strings.Join(networks, ", ")))
		}
		object.Entries.Zone = &zone
		offer.Add(object)
		zones = append(zones, zone)
	}
	return zones
}

// datastore returns the datastore of the cluster that has the most free space, nil if none is visible and accessible.
func (s *entities) datastore(cluster *entity) *entity {
	var most *entity
	for _, reference := range cluster.datastores {
		datastore := s.all[reference]
		if datastore == nil || datastore.path == "" || !datastore.summary.Accessible || client.InMaintenance(datastore.summary) {
			continue
		}
		if most == nil || datastore.summary.FreeSpace > most.summary.FreeSpace {
			most = datastore
		}
	}
	return most
}

// networks returns the networks of the cluster.
func (s *entities) networks(cluster *entity) []string {
	var networks []string
	for _, reference := range cluster.networks {
		if network := s.all[reference]; network != nil && network.path != "" && !network.isUplink() {
			networks = append(networks, network.relative(inventory.Network))
		}
	}
	slices.Sort(networks)
	return slices.Compact(networks)
}
