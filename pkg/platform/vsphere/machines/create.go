// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// errBusy is the error if another task, such as the clone of a former process, is working on the virtual machine.
var errBusy = errors.New("still being made")

// begin starts the creation, or joins the one that is running. It returns after createWait at the latest.
func (c *call) begin(ctx context.Context) (platform.Machine, error) {
	key := c.creationKey()
	creation := c.startCreation(ctx, c.create)
	ended := waitFor(ctx, creation.done, createWait)
	accepted := isClosed(creation.accepted)
	if accepted && !ended {
		ended = !creation.commit()
	}
	if ended {
		c.creations.forget(key, creation)
		return creation.machine, creation.err
	}
	creation.detach(c.request.Spec.Site, c.request.Name)
	if !accepted {
		return platform.Machine{}, c.notAccepted()
	}
	return c.machine(), nil
}

func (c *call) startCreation(ctx context.Context, create create) *creation {
	key := c.creationKey()
	return c.creations.begin(key, func(existing *creation) bool { return isClosed(existing.done) }, func() *creation {
		return startCreation(ctx, c.session, create, func(succeeded *creation) { c.creations.forget(key, succeeded) })
	})
}

// initialize returns the error of a creation that ends while it waits.
func (c *call) initialize(ctx context.Context) error {
	creation := c.creations.find(c.creationKey())
	if creation != nil && waitFor(ctx, creation.done, initializeWait) && creation.session == c.session {
		return creation.err
	}
	return nil
}

// create creates the virtual machine, or completes what an interrupted creation left behind.
func (c *call) create(ctx context.Context, accept func()) (platform.Machine, error) {
	plan, err := c.plan(ctx)
	if err != nil {
		return platform.Machine{}, err
	}
	if c.spec.Addresses != nil {
		return c.createWithAddress(ctx, plan, accept)
	}
	vm, err := c.cloneOrAdopt(ctx, plan, accept)
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

func (c *call) cloneOrAdopt(ctx context.Context, plan *plan, accept func()) (*virtualMachine, error) {
	vm, err := c.clone(ctx, plan, accept)
	if client.IsDuplicateName(err) {
		vm, err = c.adopt(ctx, plan, accept)
	}
	return vm, err
}

// clone creates the virtual machine and checks the result. It deletes one that is not as requested.
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
	result, err := c.session.Run(ctx, func(ctx context.Context) (*object.Task, error) {
		folder := object.NewFolder(vim, reference("Folder", c.spec.Folder))
		task, err := object.NewVirtualMachine(vim, reference("VirtualMachine", c.spec.Template)).Clone(ctx, folder, c.request.Name, *spec)
		if err != nil {
			return nil, missingObject("template, folder, resource pool or datastore", c.spec.Template, err)
		}
		accept()
		return task, nil
	})
	if err != nil {
		return nil, err
	}
	cloned, ok := result.(types.ManagedObjectReference)
	if !ok {
		return nil, platform.NewError(platform.ClassTransient,
			"the clone task of virtual machine %q has the unexpected result %v", c.request.Name, result)
	}
	vm, err := c.operable(c.session.ReadVirtualMachine(ctx, cloned, c.marked(details)))
	if err != nil {
		return nil, err
	}
	if vm == nil {
		return nil, platform.NewError(platform.ClassTransient, "virtual machine %q disappeared right after it was cloned", c.request.Name)
	}
	mismatch := plan.specMismatch(vm)
	if err := c.check(vm.VirtualMachine); err != nil {
		if vm.Config == nil || !c.owner.OwnsVM(vm.ExtraConfig) {
			return nil, err
		}
		mismatch = fmt.Sprintf("it has the UUID %s instead of %s, by which it would be found", vm.Config.Uuid, c.uuid())
	}
	if mismatch == "" {
		return vm, nil
	}
	err = platform.NewError(platform.ClassTransient,
		"virtual machine %q was not created as requested and will be replaced: %s", c.request.Name, mismatch)
	// It was never reported as existing: all its disks are its own.
	return nil, errors.Join(err, vm.powerOff(ctx), vm.destroy(ctx))
}

// adopt returns the existing virtual machine with the name. It replaces one that is not as requested.
func (c *call) adopt(ctx context.Context, plan *plan, accept func()) (*virtualMachine, error) {
	vm, err := c.findByName(ctx)
	if err != nil {
		return nil, err
	}
	if vm == nil {
		return nil, platform.NewError(platform.ClassTransient, "the name %q is taken, but there is no such virtual machine", c.request.Name)
	}
	accept()
	mismatch := plan.specMismatch(vm)
	if mismatch == "" {
		return vm, nil
	}
	klog.InfoS("Replacing virtual machine", "site", c.request.Spec.Site, "machine", c.request.Name, "reason", mismatch)
	if err := busy(vm.remove(ctx)); err != nil {
		return nil, err
	}
	return c.clone(ctx, plan, accept)
}

// complete adds what is missing and can be added without harm to the virtual machine.
func (c *call) complete(ctx context.Context, vm *virtualMachine) error {
	wanted := c.spec.MemoryReservationLockedToMax
	if reserved := vm.Config.MemoryReservationLockedToMax; wanted && (reserved == nil || !*reserved) {
		if err := vm.reconfigure(ctx, types.VirtualMachineConfigSpec{MemoryReservationLockedToMax: &wanted}); err != nil {
			return err
		}
	}
	if !vm.isOn() {
		if err := busy(vm.powerOn(ctx)); err != nil && !errors.Is(err, errBusy) {
			return err
		}
	}
	if err := c.attachTags(ctx, vm); err != nil {
		return err
	}
	c.ensureAntiAffinity(ctx, vm.Self)
	return nil
}

// attachTags attaches the tags of the machine in one request. It is a no-op for tags that are attached already.
func (c *call) attachTags(ctx context.Context, vm *virtualMachine) error {
	if len(c.spec.TagIDs) == 0 {
		return nil
	}
	err := client.Classify(c.session.Tags().AttachMultipleTagsToObject(ctx, c.spec.TagIDs, vm))
	if client.IsNotFound(err) {
		return platform.NewError(platform.ClassConfiguration, "one of the tags %q no longer exists: %w", c.spec.TagIDs, err)
	}
	return err
}

// missingTag returns which tag the virtual machine lacks, or an empty string if it has all.
func (c *call) missingTag(ctx context.Context, vm *virtualMachine) (string, error) {
	if len(c.spec.TagIDs) == 0 {
		return "", nil
	}
	attached, err := c.session.Tags().ListAttachedTags(ctx, vm)
	if err != nil {
		return "", client.Classify(err)
	}
	for _, id := range c.spec.TagIDs {
		if !slices.Contains(attached, id) {
			return "it does not have the tag " + id, nil
		}
	}
	return "", nil
}

func busy(err error) error {
	if client.IsTaskInProgress(err) {
		return errors.Join(errBusy, err)
	}
	return err
}
