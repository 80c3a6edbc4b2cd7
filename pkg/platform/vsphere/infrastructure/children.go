// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"path"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
)

// ensureFolders creates the shoot's folder in each datacenter, and returns the folders by the path of the datacenter.
func (f *flow) ensureFolders(ctx context.Context, zones []zone, tagID string) (map[string]v1alpha1.VSphereObject, error) {
	folders := map[string]v1alpha1.VSphereObject{}
	for _, z := range zones {
		if _, done := folders[z.datacenterPath]; done {
			continue
		}
		folder, err := f.ensureChild(ctx, child{
			kind: inventory.Folder,
			path: path.Join(z.parentPath, f.owner.Name()),
			create: func(ctx context.Context) (mo.Reference, error) {
				return object.NewFolder(f.vim, z.parent).CreateFolder(ctx, f.owner.Name())
			},
			place: func(state *v1alpha1.VSphereState) *[]v1alpha1.VSphereObject { return &state.Folders },
		}, tagID)
		if err != nil {
			return nil, err
		}
		folders[z.datacenterPath] = folder
	}
	return folders, nil
}

// ensureResourcePool creates the shoot's resource pool in the zone if configured, and returns the resource pool for the machines.
func (f *flow) ensureResourcePool(ctx context.Context, z zone, tagID string) (types.ManagedObjectReference, error) {
	if pools := f.site.Profile.VSphere.ResourcePools; pools == nil || !pools.PerShoot {
		return z.resourcePool, nil
	}
	pool, err := f.ensureChild(ctx, child{
		kind: inventory.ResourcePool,
		path: path.Join(z.poolPath, f.owner.Name()),
		create: func(ctx context.Context) (mo.Reference, error) {
			return object.NewResourcePool(f.vim, z.resourcePool).Create(ctx, f.owner.Name(), types.DefaultResourceConfigSpec())
		},
		place: func(state *v1alpha1.VSphereState) *[]v1alpha1.VSphereObject { return &state.ResourcePools },
	}, tagID)
	return types.ManagedObjectReference{Type: "ResourcePool", Value: pool.ID}, err
}

// child is a folder or resource pool of the shoot below one of the operator.
type child struct {
	kind   inventory.Kind
	path   string
	create func(context.Context) (mo.Reference, error)
	place  func(*v1alpha1.VSphereState) *[]v1alpha1.VSphereObject
}

// ensureChild finds or creates the object, records it and tags it as the shoot's. An object with the name but without the tag was left by
// an interrupted reconciliation if it is empty.
func (f *flow) ensureChild(ctx context.Context, c child, tagID string) (v1alpha1.VSphereObject, error) {
	var none v1alpha1.VSphereObject
	found, err := f.known(ctx, c, tagID)
	if err == nil && found == nil {
		found, err = inventory.Lookup(ctx, f.vim, c.kind, c.path)
	}
	if err != nil {
		return none, err
	}
	if found == nil {
		created, err := c.create(ctx)
		if err != nil {
			return none, client.Classify(err)
		}
		found = new(created.Reference())
	} else if err := f.checkAdoptable(ctx, *found, c, tagID); err != nil {
		return none, err
	}

	result := v1alpha1.VSphereObject{ID: found.Value, Path: c.path}
	if err := f.Record(ctx, func(state *v1alpha1.VSphereState) {
		list := c.place(state)
		if i := slices.IndexFunc(*list, func(o v1alpha1.VSphereObject) bool { return o.Path == c.path }); i >= 0 {
			(*list)[i] = result
		} else {
			*list = append(*list, result)
		}
	}); err != nil {
		return none, err
	}
	return result, f.tag(ctx, tagID, *found)
}

// known returns the object that the state has for the path, wherever it is now and whatever its name is, or nil if it does not exist. As
// long as it is not known which vCenter has it, it must have the shoot's name or tag, because IDs are meaningless in another vCenter.
func (f *flow) known(ctx context.Context, c child, tagID string) (*types.ManagedObjectReference, error) {
	state := f.State()
	list := *c.place(&state)
	i := slices.IndexFunc(list, func(o v1alpha1.VSphereObject) bool { return o.Path == c.path })
	if i < 0 {
		return nil, nil
	}
	reference := c.kind.Reference(list[i].ID)
	name, err := f.nameOf(ctx, reference)
	if client.IsNotFound(err) {
		return nil, nil
	}
	if err != nil || f.connection.InstanceUUID != "" || name == f.owner.Name() {
		return &reference, err
	}
	tagged, err := f.isTagged(ctx, tagID, reference)
	if err != nil || !tagged {
		return nil, err
	}
	return &reference, nil
}

// checkAdoptable returns an error if an existing object with the name may belong to someone else.
func (f *flow) checkAdoptable(ctx context.Context, found types.ManagedObjectReference, c child, tagID string) error {
	known := f.State()
	if slices.ContainsFunc(*c.place(&known), func(o v1alpha1.VSphereObject) bool { return o.ID == found.Value }) {
		return nil
	}
	tagged, err := f.isTagged(ctx, tagID, found)
	if err != nil || tagged {
		return err
	}
	content, err := f.contentOf(ctx, found)
	if err != nil {
		return err
	}
	if len(content) > 0 {
		return platform.NewError(platform.ClassConflict,
			"%q exists already, is missing the tag of the shoot, and is not empty; remove it or its content", c.path)
	}
	return nil
}
