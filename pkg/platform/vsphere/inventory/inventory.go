// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package inventory finds objects of a vCenter by the names that people gave them.
package inventory

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// Kind is a kind of objects: in which of a datacenter's folders they are and which types they have.
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
	// Network are port groups and the networks of NSX.
	Network = Kind{name: "network", folder: "network", types: []string{"Network", "DistributedVirtualPortgroup", "OpaqueNetwork"}}
	// Folder are folders of virtual machines.
	Folder = Kind{name: "folder", folder: "vm", types: []string{"Folder"}}
	// Template are virtual machines to clone.
	Template = Kind{name: "template", folder: "vm", types: []string{"VirtualMachine"}}
	// ResourcePool are resource pools; they are found below a cluster.
	ResourcePool = Kind{name: "resource pool", types: []string{"ResourcePool", "VirtualApp"}}
)

// Path returns the inventory path of the object with the name in the datacenter. A name may be a path below the folder of its
// kind; one that begins with a slash is an inventory path already.
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

// Find returns the object of the kind with the inventory path, in one request. The error's class is ClassConfiguration if there
// is none.
func Find(ctx context.Context, c *vim25.Client, kind Kind, inventoryPath string) (types.ManagedObjectReference, error) {
	reference, err := Lookup(ctx, c, kind, inventoryPath)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	if reference == nil {
		return types.ManagedObjectReference{}, platform.NewError(platform.ClassConfiguration,
			"%s %q does not exist or is not visible to the credentials; objects in folders are named with their path", kind.name, inventoryPath)
	}
	return *reference, nil
}

// Lookup is Find that returns nil if there is no such object.
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
	return nil, platform.NewError(platform.ClassConfiguration, "%q is no %s but a %s", inventoryPath, kind.name,
		platform.Printable(reference.Type))
}
