// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// get reports a machine as existing while its creation, which the vCenter has accepted, is running. The creation of a machine without an ID
// may have been interrupted: such a machine is not found unless it is complete, so that it will be completed.
func (c *call) get(ctx context.Context) (platform.Machine, error) {
	if creation := c.creations.find(c.creationKey()); creation != nil {
		if !isClosed(creation.done) {
			if !isClosed(creation.accepted) {
				return platform.Machine{}, c.notAccepted()
			}
			if creation.commit() {
				return c.machine(), nil
			}
		}
		if err := c.failure(creation); err != nil {
			return platform.Machine{}, err
		}
	}
	vm, err := c.find(ctx)
	if err != nil {
		return platform.Machine{}, err
	}
	if vm == nil {
		if err := c.proveAbsence(ctx); err != nil {
			return platform.Machine{}, err
		}
		return platform.Machine{}, platform.NewError(platform.ClassNotFound, "virtual machine %q (%s) does not exist", c.request.Name, c.uuid())
	}
	if c.request.ProviderID == "" {
		missing, err := c.missing(ctx, vm)
		if err != nil {
			return platform.Machine{}, err
		}
		if missing != "" {
			return platform.Machine{}, platform.NewError(platform.ClassNotFound, "virtual machine %q is incomplete: %s", c.request.Name, missing)
		}
	}
	return vm.machine(c.request.Name), nil
}

// failure returns the error of an ended creation, or nil if what exists on the site counts.
func (c *call) failure(creation *creation) error {
	switch known := c.request.ProviderID != ""; {
	case creation.err == nil:
		return nil
	case known && creation.session == c.session:
		return creation.err
	case known:
		// The other credentials may be why it failed.
		c.creations.forget(c.creationKey(), creation)
		return nil
	}
	// The machine was not reported as existing. The error is reported once, unless it is transient.
	c.creations.forget(c.creationKey(), creation)
	if class := platform.ClassOf(creation.err); class == platform.ClassTransient || class == platform.ClassNotFound {
		return nil
	}
	return creation.err
}

// missing returns what a virtual machine lacks. It is empty if nothing is missing, or if a creation would not complete it: if it was
// renamed or moved, another one would be created, which is impossible if the template, network or datastore no longer exists.
func (c *call) missing(ctx context.Context, vm *virtualMachine) (string, error) {
	if vm.Name != c.request.Name || !c.inFolder(vm.VirtualMachine) {
		return "", nil
	}
	plan, err := c.plan(ctx)
	if platform.ClassOf(err) == platform.ClassConfiguration {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !vm.isOn() {
		return "it is powered off", nil
	}
	if mismatch := plan.specMismatch(vm); mismatch != "" {
		return mismatch, nil
	}
	return c.missingTag(ctx, vm)
}
