// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// deleteMachines deletes the virtual machines that are left when the machines are gone, as the driver does: those below the shoot's folders,
// and those with our tag wherever they are. One is left if its clone ended after its machine was deleted: who collects such virtual
// machines asks by machine class, and the last class can go before it is asked for. What goes on is an error; the next deletion goes on
// from there.
func (f *flow) deleteMachines(ctx context.Context, owned *ownedObjects) error {
	places := slices.Clone(owned.folders)
	for _, machine := range owned.machines {
		var entity mo.ManagedEntity
		err := property.DefaultCollector(f.vim).RetrieveOne(ctx, machine, []string{"parent"}, &entity)
		if err = client.IgnoreNotFound(err); err != nil {
			return err
		}
		if entity.Parent != nil && entity.Parent.Type == "Folder" && !slices.Contains(places, *entity.Parent) {
			places = append(places, *entity.Parent)
		}
	}
	var errs []error
	for _, place := range places {
		errs = append(errs, f.deleteMachinesIn(ctx, place))
	}
	return errors.Join(errs...)
}

func (f *flow) deleteMachinesIn(ctx context.Context, folder types.ManagedObjectReference) error {
	request := platform.MachineRequest{
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
	if err := errors.Join(errs...); err != nil {
		return err
	}
	cloning, err := f.session.Cloning(ctx, folder.Value)
	if err == nil && len(cloning) > 0 {
		err = platform.NewProgress("virtual machines are still being made: %q", cloning)
	}
	return err
}
