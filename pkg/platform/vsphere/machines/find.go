// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// marks are the properties that tell whose a virtual machine is. Single entries of the extra configuration are cheap; all of it
// holds the user data.
var marks = []string{client.ExtraConfigProperty(owner.KeyShoot), client.ExtraConfigProperty(owner.KeySite),
	client.ExtraConfigProperty(owner.KeyMachine)}

// details are the properties of one virtual machine.
var details = append([]string{
	"name", "parent", "config.uuid", "config.template", "config.hardware", "config.memoryReservationLockedToMax", "config.files.vmPathName",
	"runtime.powerState", "runtime.connectionState", "guest.toolsRunningStatus", "guest.net",
}, marks...)

// virtualMachine is what the vCenter says about a virtual machine.
type virtualMachine struct {
	mo.VirtualMachine

	reference   types.ManagedObjectReference
	extraConfig map[string]string
}

func newVirtualMachine(content types.ObjectContent) (*virtualMachine, error) {
	vm := &virtualMachine{reference: content.Obj}
	var err error
	vm.VirtualMachine, vm.extraConfig, err = client.LoadVirtualMachine(content)
	return vm, err
}

func (v *virtualMachine) on() bool {
	return v.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
}

func (v *virtualMachine) devices() object.VirtualDeviceList {
	if v.Config == nil {
		return nil
	}
	return v.Config.Hardware.Device
}

// machineName is the name of the machine that the virtual machine was made for, whatever its own is by now. It is empty for one that no
// machine of the owner has: a copy has all marks, but a UUID of its own. Versions that did not write the name left it in the path of the
// files and in the guest.
func (v *virtualMachine) machineName(o owner.Owner) string {
	if v.Config == nil || !o.OwnsVM(v.extraConfig) {
		return ""
	}
	var home object.DatastorePath
	home.FromString(v.Config.Files.VmPathName)
	names := []string{v.extraConfig[owner.KeyMachine], v.Name, path.Base(path.Dir(home.Path))}
	if v.Guest != nil {
		names = append(names, v.Guest.HostName)
	}
	return o.MachineOf(v.Config.Uuid, names...)
}

// machine is the virtual machine as that of the machine with the name.
func (v *virtualMachine) machine(name string) platform.Machine {
	m := platform.Machine{
		Name:      name,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
	}
	if v.Config != nil {
		m.ProviderID = providerIDPrefix + strings.ToLower(v.Config.Uuid)
	}
	if v.Guest != nil {
		for _, card := range v.Guest.Net {
			for _, address := range card.IpAddress {
				if ip := net.ParseIP(address); ip != nil && ip.IsGlobalUnicast() {
					m.Addresses = append(m.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
				}
			}
		}
	}
	return m
}

// find returns the virtual machine with the UUID of the request, wherever it is and whatever its name is, or else the one with the name
// in the shoot's folder: one that is still being made has no UUID. It is nil if there is none. One that is not ours is an error.
func (c *call) find(ctx context.Context) (*virtualMachine, error) {
	vm, err := c.findByID(ctx)
	if err != nil || vm != nil {
		return vm, err
	}
	return c.findByName(ctx)
}

// findByID returns the virtual machine with the UUID of the request, nil if there is none. If none that has it is ours that is an error.
func (c *call) findByID(ctx context.Context) (*virtualMachine, error) {
	found, err := c.session.FindMachines(ctx, c.uuid())
	if err != nil {
		return nil, err
	}
	var (
		ours    []*virtualMachine
		foreign error
	)
	for _, candidate := range found {
		vm, err := c.read(ctx, candidate)
		switch {
		case errors.Is(err, errForeign):
			foreign = err
		case err != nil:
			return nil, err
		case vm != nil:
			ours = append(ours, vm)
		}
	}
	if len(ours) == 0 {
		return nil, foreign
	}
	if vm, ok := client.Choose(ours, c.inFolder, func(vm *virtualMachine) bool { return vm.Name == c.request.Name }); ok {
		return vm, nil
	}
	var names []string
	for _, vm := range ours {
		names = append(names, fmt.Sprintf("%s (%s)", vm.Name, vm.reference.Value))
	}
	slices.Sort(names)
	return nil, platform.NewError(platform.ClassConflict,
		"several virtual machines have the UUID and the marks of machine %q: %s; remove %s and %s from the extra configuration of those that are not it",
		c.request.Name, strings.Join(names, ", "), owner.KeyShoot, owner.KeySite)
}

// inFolder reports whether the virtual machine is in the shoot's folder.
func (c *call) inFolder(vm *virtualMachine) bool {
	return vm.Parent != nil && vm.Parent.Value == c.spec.Folder
}

// findByName returns the virtual machine with the name of the request in the shoot's folder, wherever somebody moved that, nil if
// there is none. One that is not ours is an error.
func (c *call) findByName(ctx context.Context) (*virtualMachine, error) {
	found, err := c.session.FindChild(ctx, c.spec.Folder, c.request.Name)
	if err != nil || found == nil {
		return nil, err
	}
	return c.read(ctx, *found)
}

// proveAbsence returns nil if what was not found does not exist, and an error if the credentials may just not see it.
func (c *call) proveAbsence(ctx context.Context) error {
	if err := c.session.CheckFolder(ctx, c.spec.Connection, c.spec.Folder); err != nil {
		return platform.NewError(platform.ClassOf(err), "virtual machine %q was not found, but may be in %q: %w", c.request.Name,
			c.spec.FolderPath, err)
	}
	return nil
}

// read returns the virtual machine, nil if there is none any more. One that is not that of the machine is an error.
func (c *call) read(ctx context.Context, reference types.ManagedObjectReference) (*virtualMachine, error) {
	var contents []types.ObjectContent
	err := property.DefaultCollector(c.session.VIM()).Retrieve(ctx, []types.ManagedObjectReference{reference}, details, &contents)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	vm, err := newVirtualMachine(contents[0])
	if err != nil {
		return nil, err
	}
	if vm.Config == nil {
		return nil, platform.NewError(platform.ClassTransient,
			"virtual machine %q (%s, %s) has no configuration: it is still being made, or the vCenter or the credentials cannot read it",
			vm.Name, reference.Value, vm.Runtime.ConnectionState)
	}
	if !c.owner.OwnsVM(vm.extraConfig) {
		return nil, platform.NewError(platform.ClassConflict, "%w: virtual machine %q (%s, %s) does not name shoot %q and site %q",
			errForeign, vm.Name, reference.Value, vm.Runtime.ConnectionState, c.owner.Shoot, c.owner.Site)
	}
	if c.owner.MachineOf(vm.Config.Uuid, c.request.Name) == "" {
		return vm, platform.NewError(platform.ClassConflict,
			"%w: virtual machine %q (%s, %s) has the marks of shoot %q and site %q, but not the UUID of machine %q; it is a copy",
			errForeign, vm.Name, reference.Value, vm.Runtime.ConnectionState, c.owner.Shoot, c.owner.Site, c.request.Name)
	}
	return vm, nil
}
