// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// call is one operation on the virtual machines of one shoot on one site.
type call struct {
	request   platform.MachineRequest
	spec      *v1alpha1.VSphereMachineSpec
	owner     owner.Owner
	session   *client.Session
	creations *operations[*creation]
	deletions *operations[*deletion]
}

// creationKey is the key of the machine's creation.
func (c *call) creationKey() operationKey {
	return operationKey{owner: c.owner, id: c.request.Name}
}

// uuid returns the UUID of the virtual machine.
func (c *call) uuid() string {
	if id := strings.TrimPrefix(c.request.ProviderID, client.ProviderIDPrefix); id != "" {
		return id
	}
	return c.owner.UUID(c.request.Name)
}

// machine returns what is known about the machine without a request.
func (c *call) machine() platform.Machine {
	return platform.Machine{Name: c.request.Name, ProviderID: client.ProviderIDPrefix + c.uuid()}
}

func (c *call) notAccepted() error {
	if c.spec.Addresses != nil {
		return platform.NewError(platform.ClassTransient, "virtual machine %q with an address from %s is still being made", c.request.Name,
			ipam.Describe(c.spec.Addresses.PoolRef))
	}
	return platform.NewError(platform.ClassTransient, "the vCenter has not accepted yet to create virtual machine %q", c.request.Name)
}

// marks are the properties that identify the owner of a virtual machine.
var marks = []string{client.ExtraConfigProperty(owner.KeyShoot), client.ExtraConfigProperty(owner.KeySite),
	client.ExtraConfigProperty(owner.KeyMachine)}

// addressMark is the property with the address that a virtual machine got from a pool.
var addressMark = client.ExtraConfigProperty(owner.KeyAddress)

// details are the properties that are read of one virtual machine.
var details = append([]string{
	"name", "parent", "config.uuid", "config.template", "config.hardware", "config.memoryReservationLockedToMax", "config.files.vmPathName",
	"runtime.powerState", "runtime.connectionState", "guest.toolsRunningStatus", "guest.net",
}, marks...)

func (c *call) search() client.Search {
	return client.Search{Name: c.request.Name, InFolder: c.inFolder, Properties: c.marked(details), Check: c.check}
}

// marked returns the properties, with the address if there is a pool.
func (c *call) marked(properties []string) []string {
	if c.spec.Addresses == nil {
		return properties
	}
	return append(properties[:len(properties):len(properties)], addressMark)
}

// inFolder reports whether the virtual machine is in the shoot's folder.
func (c *call) inFolder(vm *client.VirtualMachine) bool {
	return vm.Parent != nil && vm.Parent.Value == c.spec.Folder
}

// check returns an error if the virtual machine is not the one of the machine.
func (c *call) check(vm *client.VirtualMachine) error {
	switch {
	case vm.Config == nil:
		return platform.NewError(platform.ClassTransient,
			"virtual machine %q (%s, %s) has no configuration: it is still being made, or the vCenter or the credentials cannot read it",
			vm.Name, vm.Self.Value, vm.Runtime.ConnectionState)
	case !c.owner.OwnsVM(vm.ExtraConfig):
		return platform.NewError(platform.ClassConflict, "%w: virtual machine %q (%s, %s) does not have the marks of shoot %q and site %q",
			client.ErrForeign, vm.Name, vm.Self.Value, vm.Runtime.ConnectionState, c.owner.Shoot, c.owner.Site)
	case c.owner.MachineOf(vm.Config.Uuid, c.request.Name) == "":
		return platform.NewError(platform.ClassConflict,
			"%w: virtual machine %q (%s, %s) has the marks of shoot %q and site %q, but not the UUID of machine %q; it is a copy",
			client.ErrForeign, vm.Name, vm.Self.Value, vm.Runtime.ConnectionState, c.owner.Shoot, c.owner.Site, c.request.Name)
	}
	return nil
}

// find returns the virtual machine with the UUID of the request, wherever it is and whatever its name is, or else the one with the name
// in the shoot's folder: a virtual machine that is still being cloned has no UUID. It returns nil if there is none, and an error if it does
// not belong to the machine.
func (c *call) find(ctx context.Context) (*virtualMachine, error) {
	vm, err := c.findByUUID(ctx)
	if err != nil || vm != nil {
		return vm, err
	}
	return c.findByName(ctx)
}

func (c *call) findByUUID(ctx context.Context) (*virtualMachine, error) {
	return c.operable(c.session.FindByUUID(ctx, c.uuid(), c.search()))
}

func (c *call) findByName(ctx context.Context) (*virtualMachine, error) {
	return c.operable(c.session.FindByName(ctx, c.spec.Folder, c.search()))
}

func (c *call) operable(vm *client.VirtualMachine, err error) (*virtualMachine, error) {
	if err != nil || vm == nil {
		return nil, err
	}
	return &virtualMachine{VirtualMachine: vm, session: c.session}, nil
}

// proveAbsence returns nil if a virtual machine that was not found does not exist, and an error if the credentials may not see it.
func (c *call) proveAbsence(ctx context.Context) error {
	if err := c.session.CheckFolder(ctx, c.spec.Connection, c.spec.Folder); err != nil {
		return platform.NewError(platform.ClassOf(err), "virtual machine %q was not found, but may exist in %q: %w", c.request.Name,
			c.spec.FolderPath, err)
	}
	return nil
}

func reference(kind, id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: kind, Value: id}
}
