// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// Hardware is what a virtual machine is made of.
type Hardware struct {
	// ID is the managed object ID of the virtual machine.
	ID string
	// Name is its name.
	Name string
	// UUID is that of its firmware.
	UUID string
	// System is its guest operating system.
	System string
	// Booted is when it was powered on, zero if it is off.
	Booted time.Time
	// Cards are its network cards.
	Cards []Card
	// Info is what its guest can ask for: the extra configuration whose keys begin with "guestinfo.".
	Info map[string]string
}

// Card is a network card.
type Card struct {
	// MAC is its hardware address.
	MAC string
	// Network is the key of the port group that it is in.
	Network string
}

// Hardware returns the hardware of the virtual machines that are not templates.
func (w *Watch) Hardware(ctx context.Context) ([]Hardware, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	client, err := w.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the vCenter: %w", err)
	}
	found, err := retrieve[mo.VirtualMachine](ctx, client, "VirtualMachine", "name", "config", "runtime.powerState",
		"summary.runtime.bootTime")
	if err != nil {
		return nil, fmt.Errorf("look at the vCenter: %w", err)
	}
	var machines []Hardware
	for _, vm := range found {
		if vm.Config == nil || vm.Config.Template || !strings.HasPrefix(vm.Name, w.prefix) {
			continue
		}
		h := Hardware{ID: vm.Self.Value, Name: vm.Name, UUID: vm.Config.Uuid, System: vm.Config.GuestId, Info: map[string]string{}}
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			h.Booted = ptr.Deref(vm.Summary.Runtime.BootTime, time.Time{})
		}
		for _, device := range object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualEthernetCard)(nil)) {
			card := Card{MAC: device.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard().MacAddress}
			if port, ok := device.GetVirtualDevice().Backing.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo); ok {
				card.Network = port.Port.PortgroupKey
			}
			h.Cards = append(h.Cards, card)
		}
		for _, option := range vm.Config.ExtraConfig {
			if o := option.GetOptionValue(); strings.HasPrefix(o.Key, "guestinfo.") {
				h.Info[o.Key] = fmt.Sprint(o.Value)
			}
		}
		machines = append(machines, h)
	}
	return machines, nil
}

// PortGroup returns the key of the port group with a path in the inventory.
func (v *VCenter) PortGroup(ctx context.Context, path string) (string, error) {
	client, err := v.Client(ctx)
	if err != nil {
		return "", err
	}
	network, err := find.NewFinder(client).Network(ctx, path)
	if err != nil {
		return "", err
	}
	group, ok := network.(*object.DistributedVirtualPortgroup)
	if !ok {
		return "", fmt.Errorf("%s is no port group of a distributed switch", path)
	}
	var found mo.DistributedVirtualPortgroup
	err = group.Properties(ctx, group.Reference(), []string{"key"}, &found)
	return found.Key, err
}

// Report tells the vCenter what runs in virtual machines, and returns what it was asked to let them do.
func (v *VCenter) Report(ctx context.Context, guests []control.Guest) (control.Wishes, error) {
	wishes := control.Wishes{}
	err := v.post(ctx, control.PathMachines, guests, &wishes)
	return wishes, err
}
