// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// delete begins the deletion of the virtual machine, or waits for one that is running. A slow guest or vCenter does not occupy the workers
// that other sites need.
func (c *call) delete(ctx context.Context) error {
	start := time.Now()
	if creation := c.creations.find(c.creationKey()); creation != nil {
		// Otherwise the virtual machine might appear after it was not found.
		creation.cancel()
		if !waitFor(ctx, creation.done, createWait) {
			return platform.NewProgress("virtual machine %q is still being made", c.request.Name)
		}
		c.creations.forget(c.creationKey(), creation)
	}
	key := operationKey{owner: c.owner, id: c.uuid()}
	running := c.deletions.find(key)
	if running == nil {
		vm, err := c.findToDelete(ctx)
		if err != nil {
			return err
		}
		if vm == nil {
			if err := c.proveDeletion(ctx); err != nil {
				return err
			}
			return c.claim().release(ctx)
		}
		running = c.deletions.begin(key, func(*deletion) bool { return false }, func() *deletion {
			return startDeletion(ctx, func(ctx context.Context) error { return c.remove(ctx, vm) }, func(ended *deletion) {
				if c.request.Once {
					c.deletions.forget(key, ended) // no caller waits for the result
				}
			})
		})
	}
	if !waitFor(ctx, running.done, deleteWait-time.Since(start)) {
		return platform.NewProgress("virtual machine %q is being deleted", c.request.Name)
	}
	c.deletions.forget(key, running)
	if running.err != nil {
		return running.err
	}
	return c.claim().release(ctx)
}

// remove shuts the virtual machine down and deletes it.
func (c *call) remove(ctx context.Context, vm *virtualMachine) error {
	vm.shutDown(ctx)
	if err := vm.remove(ctx); err != nil {
		return err
	}
	c.ensureAntiAffinity(ctx, types.ManagedObjectReference{})
	return nil
}

// findToDelete is like find, but ignores a virtual machine that has the name and belongs to someone else.
func (c *call) findToDelete(ctx context.Context) (*virtualMachine, error) {
	vm, err := c.findByUUID(ctx)
	if err != nil || vm != nil {
		return vm, err
	}
	if vm, err = c.findByName(ctx); errors.Is(err, client.ErrForeign) {
		return nil, nil
	}
	return vm, err
}

// proveDeletion is like proveAbsence, but also returns an error while a clone of a former process is running, which would appear later.
func (c *call) proveDeletion(ctx context.Context) error {
	cloning, err := c.session.Cloning(ctx, c.spec.Folder)
	if err != nil {
		return err
	}
	if slices.Contains(cloning, c.request.Name) {
		return platform.NewProgress("virtual machine %q is still being made", c.request.Name)
	}
	return c.proveAbsence(ctx)
}
