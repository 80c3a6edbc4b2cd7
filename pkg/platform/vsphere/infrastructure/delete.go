// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// delete deletes what is ours: machines that are left, what the state knows and what has our tag. A folder that still has something in it is left, as
// deleting it would delete that, too.
func (f *flow) delete(ctx context.Context) error {
	if err := f.deleteRules(ctx); err != nil {
		return err
	}
	owned, err := f.owned(ctx)
	if err != nil {
		return err
	}
	if err := f.deleteMachines(ctx, owned); err != nil {
		return err
	}
	for _, o := range owned.children() {
		if err := f.deleteChild(ctx, o); err != nil {
			return err
		}
	}
	if err := f.refuseMoved(ctx, owned.machines); err != nil {
		return err
	}
	if owned.tagID != "" {
		if err := f.deleteOwnerTag(ctx, owned.tagID); err != nil {
			return err
		}
	}
	return f.Record(ctx, func(state *v1alpha1.VSphereState) {
		state.Folders, state.ResourcePools, state.OwnerTag, state.ComputeClusters = nil, nil, nil, nil
	})
}

// ownedObjects are what exists of a shoot at a site.
type ownedObjects struct {
	tagID    string
	folders  []types.ManagedObjectReference
	pools    []types.ManagedObjectReference
	machines []types.ManagedObjectReference
}

func (o *ownedObjects) children() []types.ManagedObjectReference {
	return slices.Concat(o.folders, o.pools)
}

func (o *ownedObjects) all() []types.ManagedObjectReference {
	return slices.Concat(o.machines, o.folders, o.pools)
}

// owned finds the shoot's objects by tag, by state and, for those that were not tagged yet, by name. Tags of objects that do not
// exist any more are left out.
func (f *flow) owned(ctx context.Context) (*ownedObjects, error) {
	result := &ownedObjects{}
	references, err := f.taggedObjects(ctx, result)
	if err != nil {
		return nil, err
	}
	state := f.State()
	for _, folder := range state.Folders {
		references = append(references, types.ManagedObjectReference{Type: "Folder", Value: folder.ID})
	}
	for _, pool := range state.ResourcePools {
		references = append(references, types.ManagedObjectReference{Type: "ResourcePool", Value: pool.ID})
	}
	named, err := f.namedLikeOurs(ctx)
	if err != nil {
		return nil, err
	}
	references = append(references, named...)

	existing, err := f.existing(ctx, references)
	if err != nil {
		return nil, err
	}
	for _, reference := range existing {
		switch reference.Type {
		case "Folder":
			result.folders = append(result.folders, reference)
		case "ResourcePool":
			result.pools = append(result.pools, reference)
		case "VirtualMachine":
			result.machines = append(result.machines, reference)
		}
	}
	return result, nil
}

// taggedObjects returns the objects with our tag.
func (f *flow) taggedObjects(ctx context.Context, into *ownedObjects) ([]types.ManagedObjectReference, error) {
	id, err := f.findOwnerTag(ctx)
	if err != nil || id == "" {
		return nil, err
	}
	attached, err := f.tags.ListAttachedObjects(ctx, id)
	if err != nil {
		return nil, client.IgnoreNotFound(err) // somebody deleted the tag
	}
	into.tagID = id
	var references []types.ManagedObjectReference
	for _, o := range attached {
		references = append(references, o.Reference())
	}
	return references, nil
}

func (f *flow) findOwnerTag(ctx context.Context) (string, error) {
	if known := f.State().OwnerTag; known != nil {
		return known.ID, nil
	}
	category, err := inventory.LookupCategory(ctx, f.tags, owner.TagCategory)
	if err != nil || category == nil {
		return "", err
	}
	tag, err := inventory.LookupTag(ctx, f.tags, category.ID, f.owner.Name())
	if err != nil || tag == nil {
		return "", err
	}
	return tag.ID, nil
}

// namedLikeOurs returns the folders and pools that have our name where we make them, as far as the CloudProfile tells where. One
// has no tag yet if its creation was interrupted.
func (f *flow) namedLikeOurs(ctx context.Context) ([]types.ManagedObjectReference, error) {
	if f.site.Profile == nil || f.site.Profile.VSphere == nil {
		return nil, nil
	}
	var references []types.ManagedObjectReference
	profile := f.site.Profile.VSphere
	for _, z := range f.site.Profile.Zones {
		if z.VSphere == nil {
			continue
		}
		named := inventory.Zone{Site: profile, Zone: z.VSphere}
		places := map[string]inventory.Kind{path.Join(named.Folder(), f.owner.Name()): inventory.Folder}
		if profile.ResourcePools != nil {
			places[path.Join(named.ResourcePool(), f.owner.Name())] = inventory.ResourcePool
		}
		for place, kind := range places {
			found, err := inventory.Lookup(ctx, f.vim, kind, place)
			if err != nil {
				return nil, err
			}
			if found != nil {
				references = append(references, *found)
			}
		}
	}
	return references, nil
}

// existing returns the references whose objects exist, each once.
func (f *flow) existing(ctx context.Context, references []types.ManagedObjectReference) ([]types.ManagedObjectReference, error) {
	var result []types.ManagedObjectReference
	for _, reference := range references {
		if slices.Contains(result, reference) {
			continue
		}
		switch _, err := f.nameOf(ctx, reference); {
		case err == nil:
			result = append(result, reference)
		case !client.IsNotFound(err):
			return nil, err
		}
	}
	return result, nil
}

func (f *flow) deleteChild(ctx context.Context, reference types.ManagedObjectReference) error {
	content, err := f.contentOf(ctx, reference)
	if client.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(content) > 0 {
		return platform.NewError(platform.ClassConflict, "%s is not empty, it still has %q", reference, content)
	}
	task, err := object.NewCommon(f.vim, reference).Destroy(ctx)
	if err == nil {
		err = task.Wait(ctx)
	}
	return client.IgnoreNotFound(err)
}

// refuseMoved returns an error that names the virtual machines that have our tag although no folder of ours has them: without the tag
// nobody would find them again.
func (f *flow) refuseMoved(ctx context.Context, machines []types.ManagedObjectReference) error {
	var names []string
	for _, machine := range machines {
		name, err := f.nameOf(ctx, machine)
		if client.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		names = append(names, fmt.Sprintf("%s (%s)", name, machine.Value))
	}
	if len(names) == 0 {
		return nil
	}
	return platform.NewError(platform.ClassConflict,
		"virtual machines outside of the folders of the shoot have its tag %q: %s; delete them, or remove the tag from them",
		f.owner.Name(), strings.Join(names, ", "))
}

func (f *flow) deleteOwnerTag(ctx context.Context, id string) error {
	tag, err := f.tags.GetTag(ctx, id)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(f.tags.DeleteTag(ctx, tag))
}

func (f *flow) nameOf(ctx context.Context, reference types.ManagedObjectReference) (string, error) {
	var entity mo.ManagedEntity
	err := property.DefaultCollector(f.vim).RetrieveOne(ctx, reference, []string{"name"}, &entity)
	return entity.Name, client.Classify(err)
}

// contentOf returns the names of what is in a folder or resource pool.
func (f *flow) contentOf(ctx context.Context, reference types.ManagedObjectReference) ([]string, error) {
	var children []types.ManagedObjectReference
	if reference.Type == "Folder" {
		var folder mo.Folder
		if err := property.DefaultCollector(f.vim).RetrieveOne(ctx, reference, []string{"childEntity"}, &folder); err != nil {
			return nil, client.Classify(err)
		}
		children = folder.ChildEntity
	} else {
		var pool mo.ResourcePool
		if err := property.DefaultCollector(f.vim).RetrieveOne(ctx, reference, []string{"vm", "resourcePool"}, &pool); err != nil {
			return nil, client.Classify(err)
		}
		children = slices.Concat(pool.Vm, pool.ResourcePool)
	}

	var names []string
	for _, child := range children {
		name, err := f.nameOf(ctx, child)
		if client.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}
