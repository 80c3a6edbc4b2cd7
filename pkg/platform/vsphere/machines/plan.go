// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

const (
	kibPerGiB = 1 << 20
	// planAge is for how long templates, networks and datastores are taken for what they were.
	planAge = 5 * time.Minute
)

// plan is what the virtual machines of a machine class are made of.
type plan struct {
	spec *v1alpha1.VSphereMachineSpec
	// devices are those of the template.
	devices object.VirtualDeviceList
	// network is the backing of the network card.
	network types.BaseVirtualDeviceBackingInfo
	// datastore is where the virtual machine is stored.
	datastore types.ManagedObjectReference
}

type planKey struct{ template, network, datastore, policy, cluster string }

// plan returns the plan of the request's machine class. Looking up takes up to six requests, once for all machines.
func (c *call) plan(ctx context.Context) (*plan, error) {
	key := planKey{c.spec.Template, c.spec.Network.ID, c.spec.Datastore, c.spec.StoragePolicyID, c.spec.ComputeCluster}
	shared := c.session.Value(key, func() any { return &cached[*plan]{} }).(*cached[*plan])
	found, err := shared.get(ctx, planAge, c.lookup)
	if err != nil {
		return nil, err
	}
	return &plan{spec: c.spec, devices: found.devices, network: found.network, datastore: found.datastore}, nil
}

func (c *call) lookup(ctx context.Context) (*plan, error) {
	var template mo.VirtualMachine
	collector := property.DefaultCollector(c.session.VIM())
	if err := collector.RetrieveOne(ctx, reference("VirtualMachine", c.spec.Template), []string{"config.hardware.device"},
		&template); err != nil {
		return nil, missingObject("template", c.spec.Template, err)
	}
	if template.Config == nil {
		return nil, platform.NewError(platform.ClassTransient, "template %s has no configuration", c.spec.Template)
	}
	if err := CheckDisks(template.Config.Hardware.Device); err != nil {
		return nil, platform.NewError(platform.ClassOf(err), "template %s: %w", c.spec.Template, err)
	}
	network, err := c.backing(ctx)
	if err != nil {
		return nil, missingObject("network", c.spec.Network.ID, err)
	}
	datastore, err := c.datastore(ctx)
	if err != nil {
		return nil, err
	}
	return &plan{devices: template.Config.Hardware.Device, network: network, datastore: datastore}, nil
}

// CheckDisks refuses a template with disks that are independent of snapshots: those of virtual machines made of it could not be told from
// volumes, which outlive their virtual machines.
func CheckDisks(devices object.VirtualDeviceList) error {
	for _, disk := range disksOf(devices) {
		switch mode, file := backingOf(disk); types.VirtualDiskMode(mode) {
		case types.VirtualDiskModeIndependent_persistent, types.VirtualDiskModeIndependent_nonpersistent:
			return platform.NewError(platform.ClassConfiguration, "disk %s has the mode %s; it must be %s, so that it is deleted with the machines",
				file, mode, types.VirtualDiskModePersistent)
		}
	}
	return nil
}

// missingObject classifies err. An object that the machine class names is a mistake of the configuration if it does not exist.
func missingObject(kind, id string, err error) error {
	if err = client.Classify(err); client.IsNotFound(err) {
		return platform.NewError(platform.ClassConfiguration, "%s %s does not exist any more: %w", kind, id, err)
	}
	return err
}

func (c *call) backing(ctx context.Context) (types.BaseVirtualDeviceBackingInfo, error) {
	ref := reference(c.spec.Network.Type, c.spec.Network.ID)
	network, ok := object.NewReference(c.session.VIM(), ref).(object.NetworkReference)
	if !ok {
		return nil, platform.NewError(platform.ClassConfiguration, "network %s has the unknown type %q", c.spec.Network.ID, c.spec.Network.Type)
	}
	return network.EthernetCardBackingInfo(ctx)
}

// flaw says what a virtual machine lacks that only a new one would have, and is empty if that is nothing.
func (p *plan) flaw(vm *virtualMachine) string {
	if vm.Config == nil {
		return "it has no configuration"
	}
	hardware := vm.Config.Hardware
	if hardware.NumCPU != p.spec.CPUs || int64(hardware.MemoryMB) != p.spec.MemoryMiB {
		return fmt.Sprintf("it has %d CPUs and %d MiB memory, not %d and %d", hardware.NumCPU, hardware.MemoryMB, p.spec.CPUs, p.spec.MemoryMiB)
	}
	var sizes []int64
	for _, disk := range disksOf(vm.devices()) {
		if !vm.isForeign(disk) {
			sizes = append(sizes, disk.CapacityInKB)
		}
	}
	wanted := p.diskSizes()
	if len(sizes) < len(wanted) {
		return fmt.Sprintf("it has %d disks, not %d", len(sizes), len(wanted))
	}
	for i := range wanted {
		if sizes[i] < wanted[i] {
			return fmt.Sprintf("its disk %d has %d KiB, not %d", i, sizes[i], wanted[i])
		}
	}
	cards := cardsOf(vm.devices())
	if len(cards) != 1 {
		return fmt.Sprintf("it has %d network cards, not 1", len(cards))
	}
	if !sameNetwork(cards[0].GetVirtualEthernetCard().Backing, p.network) {
		return "its network card is not in network " + p.spec.Network.ID
	}
	return ""
}

// diskSizes are the sizes that the disks have at least, in KiB: those of the template, the first of them grown, and the data disks.
func (p *plan) diskSizes() []int64 {
	var sizes []int64
	for i, disk := range disksOf(p.devices) {
		size := disk.CapacityInKB
		if i == 0 {
			size = max(size, int64(p.spec.RootDiskGiB)*kibPerGiB)
		}
		sizes = append(sizes, size)
	}
	for _, disk := range p.spec.DataDisks {
		sizes = append(sizes, int64(disk.SizeGiB)*kibPerGiB)
	}
	return sizes
}

// sameNetwork compares what says which network a card is in; a vCenter adds the port that it chose.
func sameNetwork(a, b types.BaseVirtualDeviceBackingInfo) bool {
	switch wanted := b.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		got, ok := a.(*types.VirtualEthernetCardNetworkBackingInfo)
		return ok && got.DeviceName == wanted.DeviceName
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		got, ok := a.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo)
		return ok && got.Port.PortgroupKey == wanted.Port.PortgroupKey && got.Port.SwitchUuid == wanted.Port.SwitchUuid
	case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
		got, ok := a.(*types.VirtualEthernetCardOpaqueNetworkBackingInfo)
		return ok && got.OpaqueNetworkId == wanted.OpaqueNetworkId
	default:
		return reflect.DeepEqual(a, b)
	}
}

// disksOf returns the disks in the order of their place at the controller, the root disk first.
func disksOf(devices object.VirtualDeviceList) []*types.VirtualDisk {
	var disks []*types.VirtualDisk
	for _, device := range devices {
		if disk, ok := device.(*types.VirtualDisk); ok {
			disks = append(disks, disk)
		}
	}
	slices.SortFunc(disks, func(a, b *types.VirtualDisk) int { return int(a.Key) - int(b.Key) })
	return disks
}

func cardsOf(devices object.VirtualDeviceList) []types.BaseVirtualEthernetCard {
	var cards []types.BaseVirtualEthernetCard
	for _, device := range devices {
		if card, ok := device.(types.BaseVirtualEthernetCard); ok {
			cards = append(cards, card)
		}
	}
	return cards
}
