// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// template is the name of a template in each datacenter.
const template = "gardenlinux"

// hardware is the version of the hardware of the templates of versions.
const hardware = "vmx-19"

// versions are further templates in each datacenter. Their clones have the same guest, by which one sees what they were made of.
var versions = map[string]types.VirtualMachineGuestOsIdentifier{
	template + "-1877.3.0": types.VirtualMachineGuestOsIdentifierDebian11_64Guest,
	template + "-1877.4.0": types.VirtualMachineGuestOsIdentifierDebian12_64Guest,
}

// createTemplates makes templates of the first virtual machine of each datacenter and deletes the others, so that there is
// nothing in the inventory that a test did not make.
func createTemplates(ctx context.Context, address *url.URL) error {
	client, err := govmomi.NewClient(ctx, address, true)
	if err != nil {
		return err
	}
	defer func() { _ = client.Logout(ctx) }()

	finder := find.NewFinder(client.Client)
	datacenters, err := finder.DatacenterList(ctx, "*")
	if err != nil {
		return err
	}
	for _, datacenter := range datacenters {
		machines, err := machinesOf(ctx, client, datacenter)
		if err != nil {
			return err
		}
		if err := createVersions(ctx, datacenter, machines[0]); err != nil {
			return fmt.Errorf("%s: %w", datacenter.Name(), err)
		}
		for i, machine := range machines {
			if err := useOrDelete(ctx, machine, i == 0); err != nil {
				return fmt.Errorf("%s: %w", datacenter.Name(), err)
			}
		}
	}
	return nil
}

// createVersions makes a template of a virtual machine for each version.
func createVersions(ctx context.Context, datacenter *object.Datacenter, machine *object.VirtualMachine) error {
	folders, err := datacenter.Folders(ctx)
	if err != nil {
		return err
	}
	pool, err := machine.ResourcePool(ctx)
	if err != nil {
		return err
	}
	for name, guest := range versions {
		task, err := machine.Clone(ctx, folders.VmFolder, name,
			types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: types.NewReference(pool.Reference())}})
		if err != nil {
			return err
		}
		result, err := task.WaitForResult(ctx)
		if err != nil {
			return err
		}
		clone := object.NewVirtualMachine(machine.Client(), result.Result.(types.ManagedObjectReference))
		if task, err = clone.Reconfigure(ctx, types.VirtualMachineConfigSpec{GuestId: string(guest), Version: hardware}); err != nil {
			return err
		}
		if err := task.Wait(ctx); err != nil {
			return err
		}
		if err := clone.MarkAsTemplate(ctx); err != nil {
			return err
		}
	}
	return nil
}

func machinesOf(ctx context.Context, client *govmomi.Client, datacenter *object.Datacenter) ([]*object.VirtualMachine, error) {
	v, err := view.NewManager(client.Client).CreateContainerView(ctx, datacenter.Reference(), []string{"VirtualMachine"}, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Destroy(ctx) }()
	var found []mo.VirtualMachine
	if err := v.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name"}, &found); err != nil {
		return nil, err
	}
	var machines []*object.VirtualMachine
	for _, vm := range found {
		machines = append(machines, object.NewVirtualMachine(client.Client, vm.Self))
	}
	return machines, nil
}

func useOrDelete(ctx context.Context, machine *object.VirtualMachine, use bool) error {
	change := machine.Destroy
	if use {
		change = func(ctx context.Context) (*object.Task, error) { return machine.Rename(ctx, template) }
	}
	task, err := change(ctx)
	if err != nil {
		return err
	}
	if err := task.Wait(ctx); err != nil || !use {
		return err
	}
	return machine.MarkAsTemplate(ctx)
}
