// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// errForeign means that there is a virtual machine of the name that was not made for the shoot.
var errForeign = errors.New("not ours")

// errBusy means that the vCenter is still making the virtual machine.
var errBusy = errors.New("still being made")

// Create implements platform.Machines. One task makes the virtual machine with all that it needs and turns it on. Its ID is known
// before; a call does not wait long for the end of the task, and calls for the same machine share one creation.
func (m *machines) Create(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	c, err := m.call(ctx, request)
	if err != nil {
		return platform.Machine{}, platform.InSite(request.Spec.Site, err)
	}
	creation := c.creations.begin(ctx, c.key(), c.session, c.create)
	ended := creation.wait(ctx, createWait)
	accepted := creation.isAccepted()
	if accepted && !ended {
		ended = !creation.promise()
	}
	switch {
	case ended:
		c.creations.forget(creation)
		return creation.machine, platform.InSite(request.Spec.Site, creation.err)
	case accepted:
		creation.leave(request.Spec.Site, request.Name)
		return c.machine(), nil
	default:
		creation.leave(request.Spec.Site, request.Name)
		return platform.Machine{}, platform.InSite(request.Spec.Site, c.notAccepted())
	}
}

// Initialize implements platform.Machines. It waits a while for a creation that went on when Create returned.
func (m *machines) Initialize(ctx context.Context, request platform.MachineRequest) error {
	c, err := m.call(ctx, request)
	if err != nil {
		return platform.InSite(request.Spec.Site, err)
	}
	if creation := c.creations.find(c.key()); creation != nil && creation.wait(ctx, initializeWait) && creation.session == c.session {
		return platform.InSite(request.Spec.Site, creation.err)
	}
	return nil
}

// create makes the virtual machine, or completes what an interrupted creation left behind.
func (c *call) create(ctx context.Context, accept func()) (platform.Machine, error) {
	plan, err := c.plan(ctx)
	if err != nil {
		return platform.Machine{}, err
	}
	vm, err := c.clone(ctx, plan, accept)
	if client.IsDuplicateName(err) {
		vm, err = c.adopt(ctx, plan, accept)
	}
	if errors.Is(err, errBusy) {
		return c.machine(), nil
	}
	if err != nil {
		return platform.Machine{}, err
	}
	if err := c.complete(ctx, vm); err != nil {
		return platform.Machine{}, err
	}
	return vm.machine(c.request.Name), nil
}

// clone makes the virtual machine and looks at what came out: one that lacks something is of no use to anybody.
func (c *call) clone(ctx context.Context, plan *plan, accept func()) (*virtualMachine, error) {
	config, err := extraConfig(c.request, c.owner, c.uuid())
	if err != nil {
		return nil, err
	}
	spec, err := plan.cloneSpec(c.uuid(), options(config))
	if err != nil {
		return nil, err
	}
	vim := c.session.VIM()
	folder := object.NewFolder(vim, reference("Folder", c.spec.Folder))
	task, err := object.NewVirtualMachine(vim, reference("VirtualMachine", c.spec.Template)).Clone(ctx, folder, c.request.Name, *spec)
	if err != nil {
		return nil, missingObject("template, folder, resource pool or datastore", c.spec.Template, err)
	}
	accept()
	result, err := c.session.Wait(ctx, task.Reference())
	if err != nil {
		return nil, err
	}
	cloned, ok := result.(types.ManagedObjectReference)
	if !ok {
		return nil, platform.NewError(platform.ClassTransient, "the clone has the unexpected result %v", result)
	}
	vm, err := c.read(ctx, cloned)
	if vm == nil {
		return nil, cmp.Or(err,
			error(platform.NewError(platform.ClassTransient, "virtual machine %q is gone right after it was made", c.request.Name)))
	}
	flaw := plan.flaw(vm)
	if err != nil {
		flaw = fmt.Sprintf("it has the UUID %s and not %s, by which it would be found", vm.Config.Uuid, c.uuid())
	}
	if flaw == "" {
		return vm, nil
	}
	err = platform.NewError(platform.ClassTransient, "virtual machine %q was not made as asked for and is made again: %s",
		c.request.Name, flaw)
	// Nobody knows of it: all disks are its own.
	return nil, errors.Join(err, c.turnOff(ctx, vm), c.destroy(ctx, vm))
}

// adopt returns the virtual machine that has the name already. One that lacks something is replaced.
func (c *call) adopt(ctx context.Context, plan *plan, accept func()) (*virtualMachine, error) {
	vm, err := c.findByName(ctx)
	if err != nil {
		return nil, err
	}
	if vm == nil {
		return nil, platform.NewError(platform.ClassTransient, "the name %q is taken, but there is no such virtual machine", c.request.Name)
	}
	accept()
	flaw := plan.flaw(vm)
	if flaw == "" {
		return vm, nil
	}
	klog.InfoS("Virtual machine is replaced", "site", c.request.Spec.Site, "machine", c.request.Name, "reason", flaw)
	if err := busy(c.remove(ctx, vm)); err != nil {
		return nil, err
	}
	return c.clone(ctx, plan, accept)
}

// complete does what may be missing without harm to the virtual machine.
func (c *call) complete(ctx context.Context, vm *virtualMachine) error {
	if err := c.reserveMemory(ctx, vm); err != nil {
		return err
	}
	if !vm.on() {
		if err := busy(c.powerOn(ctx, vm)); err != nil && !errors.Is(err, errBusy) {
			return err
		}
	}
	if err := c.attachTags(ctx, vm.reference); err != nil {
		return err
	}
	c.keepApart(ctx, vm.reference)
	return nil
}

func (c *call) powerOn(ctx context.Context, vm *virtualMachine) error {
	task, err := object.NewVirtualMachine(c.session.VIM(), vm.reference).PowerOn(ctx)
	if err != nil {
		return client.Classify(err)
	}
	if _, err := c.session.Wait(ctx, task.Reference()); err != nil && !client.IsInvalidPowerState(err) {
		return err
	}
	return nil
}

// reserveMemory reserves the memory if the clone does not.
func (c *call) reserveMemory(ctx context.Context, vm *virtualMachine) error {
	wanted := c.spec.MemoryReservationLockedToMax
	if reserved := vm.Config.MemoryReservationLockedToMax; !wanted || reserved != nil && *reserved {
		return nil
	}
	return c.reconfigure(ctx, vm, types.VirtualMachineConfigSpec{MemoryReservationLockedToMax: &wanted})
}

func (c *call) reconfigure(ctx context.Context, vm *virtualMachine, spec types.VirtualMachineConfigSpec) error {
	task, err := object.NewVirtualMachine(c.session.VIM(), vm.reference).Reconfigure(ctx, spec)
	if err != nil {
		return client.Classify(err)
	}
	_, err = c.session.Wait(ctx, task.Reference())
	return err
}

// busy marks an error that says that another task, such as the clone of an earlier process, is not done with the virtual machine.
func busy(err error) error {
	if client.IsTaskInProgress(err) {
		return errors.Join(errBusy, err)
	}
	return err
}
