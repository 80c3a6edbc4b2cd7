// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// delete deletes the objects of the shoot: remaining machines, what the state knows, and what has its tag. A folder that is not empty is
// kept, because deleting it would delete its content, too.
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
	if err := f.releaseAddresses(ctx); err != nil {
		return err
	}
	for _, o := range slices.Concat(owned.folders, owned.pools) {
		if err := f.deleteEmpty(ctx, o.reference); err != nil {
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

// deleteEmpty deletes a folder or resource pool if it is empty.
func (f *flow) deleteEmpty(ctx context.Context, reference types.ManagedObjectReference) error {
	content, err := f.contentOf(ctx, reference)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if len(content) > 0 {
		names := lists.Map(content, func(o ownedObject) string { return o.name })
		return platform.NewError(platform.ClassConflict, "%s is not empty, it contains %q", reference, names)
	}
	_, err = f.session.Run(ctx, object.NewCommon(f.vim, reference).Destroy)
	return client.IgnoreNotFound(err)
}

// refuseMoved returns an error that names the virtual machines with the tag of the shoot that are outside its folders: without the tag,
// they would never be found again.
func (f *flow) refuseMoved(ctx context.Context, machines []ownedObject) error {
	left, err := f.existing(ctx, references(machines))
	if err != nil || len(left) == 0 {
		return err
	}
	names := lists.Map(left, func(o ownedObject) string { return fmt.Sprintf("%s (%s)", o.name, o.reference.Value) })
	return platform.NewError(platform.ClassConflict,
		"virtual machines outside the folders of the shoot have its tag %q: %s; delete them, or remove the tag from them",
		f.owner.Name(), strings.Join(names, ", "))
}

// deleteMachines deletes the virtual machines that are left without a machine, and bastions, in the same way as the driver: those below the
// shoot's folders, and those with its tag wherever they are. One is left if its clone ended after its machine was deleted: the collection
// of orphans needs a machine class, and the last one may be deleted before. It returns an error until all are deleted.
func (f *flow) deleteMachines(ctx context.Context, owned *ownedObjects) error {
	folders := references(owned.folders)
	for _, machine := range owned.machines {
		var entity mo.ManagedEntity
		err := property.DefaultCollector(f.vim).RetrieveOne(ctx, machine.reference, []string{"parent"}, &entity)
		if err = client.IgnoreNotFound(err); err != nil {
			return err
		}
		if entity.Parent != nil && entity.Parent.Type == "Folder" && !slices.Contains(folders, *entity.Parent) {
			folders = append(folders, *entity.Parent)
		}
	}
	return errors.Join(lists.Map(folders, func(folder types.ManagedObjectReference) error { return f.deleteMachinesIn(ctx, folder) })...)
}

func (f *flow) deleteMachinesIn(ctx context.Context, folder types.ManagedObjectReference) error {
	for _, bastions := range []bool{true, false} {
		if err := f.deleteListed(ctx, folder, bastions); err != nil {
			return err
		}
	}
	cloning, err := f.session.Cloning(ctx, folder.Value)
	if err == nil && len(cloning) > 0 {
		err = platform.NewProgress("virtual machines are still being made: %q", cloning)
	}
	return err
}

// deleteListed deletes the machines or bastions in a folder.
func (f *flow) deleteListed(ctx context.Context, folder types.ManagedObjectReference, bastions bool) error {
	request := platform.MachineRequest{
		Bastion: bastions,
		Spec: &v1alpha1.MachineProviderSpec{Site: f.owner.Site, Shoot: f.owner.Shoot, VSphere: &v1alpha1.VSphereMachineSpec{
			Connection: f.connection, Folder: folder.Value, FolderPath: folder.Value,
		}},
		Credentials: f.site.Credentials,
	}
	found, err := f.machines.List(ctx, request)
	if err != nil {
		return err
	}
	errs := platform.Each(len(found), func(i int) error {
		request := request
		request.Name, request.ProviderID = found[i].Name, found[i].ProviderID
		return f.machines.Delete(ctx, request)
	})
	return errors.Join(errs...)
}

func (f *flow) deleteOwnerTag(ctx context.Context, id string) error {
	tag, err := f.tags.GetTag(ctx, id)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(f.tags.DeleteTag(ctx, tag))
}

func (f *flow) deleteRules(ctx context.Context) error {
	rules, err := f.rules(ctx)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		remove := types.ClusterRuleSpec{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationRemove, RemoveKey: rule.key}}
		_, err := f.session.Run(ctx, func(ctx context.Context) (*object.Task, error) {
			return object.NewClusterComputeResource(f.vim, rule.cluster).Reconfigure(ctx,
				&types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{remove}}, true)
		})
		if err := client.IgnoreNotFound(err); err != nil {
			return err
		}
	}
	return nil
}
