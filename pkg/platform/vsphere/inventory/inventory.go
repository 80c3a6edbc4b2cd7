// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package inventory finds objects of a vCenter by name.
package inventory

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// Kind is a kind of objects, with its folder in a datacenter and its types.
type Kind struct {
	name   string
	folder string
	types  []string
}

var (
	// Datacenter are datacenters.
	Datacenter = Kind{name: "datacenter", types: []string{"Datacenter"}}
	// ComputeCluster are clusters.
	ComputeCluster = Kind{name: "compute cluster", folder: "host", types: []string{"ClusterComputeResource", "ComputeResource"}}
	// Datastore are datastores.
	Datastore = Kind{name: "datastore", folder: "datastore", types: []string{"Datastore"}}
	// Network are port groups and NSX networks.
	Network = Kind{name: "network", folder: "network", types: []string{"Network", "DistributedVirtualPortgroup", "OpaqueNetwork"}}
	// Folder are folders of virtual machines.
	Folder = Kind{name: "folder", folder: "vm", types: []string{"Folder"}}
	// Template are templates of virtual machines.
	Template = Kind{name: "template", folder: "vm", types: []string{"VirtualMachine"}}
	// ResourcePool are resource pools below a cluster.
	ResourcePool = Kind{name: "resource pool", types: []string{"ResourcePool", "VirtualApp"}}
)

// Path returns the inventory path of the object with the name in the datacenter. A name may be a path below the folder of its kind, or an
// inventory path if it starts with a slash.
func (k Kind) Path(datacenter, name string) string {
	if strings.HasPrefix(name, "/") {
		return path.Clean(name)
	}
	if k.name == Datacenter.name {
		return path.Join("/", name)
	}
	return path.Join(Datacenter.Path("", datacenter), k.folder, name)
}

// Reference returns the reference to the object of the kind with the managed object ID.
func (k Kind) Reference(id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: k.types[0], Value: id}
}

// Find returns the object of the kind with the inventory path in one request, or an error of ClassConfiguration if there is none.
func Find(ctx context.Context, c *vim25.Client, kind Kind, inventoryPath string) (types.ManagedObjectReference, error) {
	reference, err := Lookup(ctx, c, kind, inventoryPath)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	if reference == nil {
		return types.ManagedObjectReference{}, platform.NewError(platform.ClassConfiguration,
			"%s %q does not exist or is not visible to the credentials; the name of an object in a folder must be its path",
			kind.name, inventoryPath)
	}
	return *reference, nil
}

// Lookup is like Find, but returns nil if there is no such object.
func Lookup(ctx context.Context, c *vim25.Client, kind Kind, inventoryPath string) (*types.ManagedObjectReference, error) {
	found, err := methods.FindByInventoryPath(ctx, c,
		&types.FindByInventoryPath{This: *c.ServiceContent.SearchIndex, InventoryPath: inventoryPath})
	if err != nil {
		return nil, client.Classify(err)
	}
	reference := found.Returnval
	if reference == nil || slices.Contains(kind.types, reference.Type) {
		return reference, nil
	}
	return nil, platform.NewError(platform.ClassConfiguration, "%q must be a %s, but is a %s", inventoryPath, kind.name,
		platform.Printable(reference.Type))
}

// Zone resolves the names in a zone of a vSphere site.
type Zone struct {
	Name string
	Site *v1alpha1.VSphereProfile
	Zone *v1alpha1.VSphereZone
}

// ZonesOf returns the zones of a site that have a vsphere block. The profile may be nil.
func ZonesOf(profile *v1alpha1.CloudProfileSite) []Zone {
	if profile == nil || profile.VSphere == nil {
		return nil
	}
	var zones []Zone
	for _, z := range profile.Zones {
		if z.VSphere != nil {
			zones = append(zones, Zone{Name: z.Name, Site: profile.VSphere, Zone: z.VSphere})
		}
	}
	return zones
}

// Datacenter returns the name or the inventory path of the datacenter, which is that of the site by default.
func (z Zone) Datacenter() string {
	return cmp.Or(z.Zone.Datacenter, z.Site.Datacenter)
}

// ComputeCluster returns the inventory path of the cluster.
func (z Zone) ComputeCluster() string {
	return ComputeCluster.Path(z.Datacenter(), z.Zone.ComputeCluster)
}

// RootPool is the name of the resource pool that each cluster has.
const RootPool = "Resources"

// ResourcePool returns the inventory path of the resource pool of all shoots, which is that of the cluster by default.
func (z Zone) ResourcePool() string {
	return path.Join(z.ComputeCluster(), RootPool, z.Zone.ResourcePool)
}

// Folder returns the inventory path of the folder of all shoots.
func (z Zone) Folder() string {
	return Folder.Path(z.Datacenter(), z.Site.Folder)
}

// Datastore returns the inventory path of the datastore, empty if the zone has a storage policy instead.
func (z Zone) Datastore() string {
	if z.Zone.Datastore == "" {
		return ""
	}
	return Datastore.Path(z.Datacenter(), z.Zone.Datastore)
}

// Template returns the inventory path of the image's template in the zone, which is that of all zones by default.
func (z Zone) Template(image *v1alpha1.VSphereImage) string {
	name := image.Template
	if own := lists.Find(image.Zones, func(i *v1alpha1.VSphereImageZone) bool { return i.Name == z.Name }); own != nil {
		name = own.Template
	}
	return Template.Path(z.Datacenter(), name)
}

// LookupCategory returns the ID of the tag category with the name, or an empty string if there is none.
func LookupCategory(ctx context.Context, manager *tags.Manager, name string) (string, error) {
	ids, err := manager.ListCategories(ctx)
	if err != nil {
		return "", client.Classify(err)
	}
	return first(ids, func(id string) (bool, error) {
		category, err := manager.GetCategory(ctx, id)
		return err == nil && category.Name == name, err
	})
}

// LookupTag returns the ID of the tag of the category with the name, or an empty string if there is none.
func LookupTag(ctx context.Context, manager *tags.Manager, categoryID, name string) (string, error) {
	ids, err := manager.ListTagsForCategory(ctx, categoryID)
	if err != nil {
		return "", client.Classify(err)
	}
	return first(ids, func(id string) (bool, error) {
		tag, err := manager.GetTag(ctx, id)
		return err == nil && tag.Name == name, err
	})
}

// first returns the first ID of an object that matches, or an empty string if none does. It skips objects that no longer exist.
func first(ids []string, matches func(id string) (bool, error)) (string, error) {
	for _, id := range ids {
		ok, err := matches(id)
		if ok {
			return id, nil
		}
		if err := client.IgnoreNotFound(err); err != nil {
			return "", err
		}
	}
	return "", nil
}

// FindTags returns the IDs of tags, which are named <category>/<tag>. Errors of ClassConfiguration name all that do not exist.
func FindTags(ctx context.Context, manager *tags.Manager, names []string) ([]string, error) {
	var (
		ids  []string
		errs []error
	)
	for _, name := range names {
		categoryName, tagName, _ := strings.Cut(name, "/")
		category, err := LookupCategory(ctx, manager, categoryName)
		if err != nil {
			return nil, err
		}
		if category == "" {
			errs = append(errs, platform.NewError(platform.ClassConfiguration,
				"tag %q: category %q does not exist or is not visible to the credentials", name, categoryName))
			continue
		}
		id, err := LookupTag(ctx, manager, category, tagName)
		if err != nil {
			return nil, err
		}
		if id == "" {
			errs = append(errs, platform.NewError(platform.ClassConfiguration, "tag %q does not exist or is not visible to the credentials", name))
			continue
		}
		ids = append(ids, id)
	}
	return ids, errors.Join(errs...)
}
