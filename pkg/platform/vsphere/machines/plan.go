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
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	kibPerGiB = 1 << 20
	// planAge is how long the lookup of templates, networks and datastores is cached.
	planAge = 5 * time.Minute
)

// plan describes the virtual machines of a machine class.
type plan struct {
	spec *v1alpha1.VSphereMachineSpec
	// devices are those of the template.
	devices object.VirtualDeviceList
	// network is the backing of the network card.
	network types.BaseVirtualDeviceBackingInfo
	// datastore is where the virtual machine is stored.
	datastore types.ManagedObjectReference
	// address is the address of the machine, nil if it uses DHCP.
	address *ipam.Address
}

type planKey struct{ template, network, datastore, policy, cluster string }

// plan returns the plan of the request's machine class. The lookup takes up to six requests, and all machines share it.
func (c *call) plan(ctx context.Context) (*plan, error) {
	key := planKey{c.spec.Template, c.spec.Network.ID, c.spec.Datastore, c.spec.StoragePolicyID, c.spec.ComputeCluster}
	shared := client.Value(c.session, key, newCached[*plan])
	found, err := shared.get(ctx, planAge, func(ctx context.Context) (*plan, error) { return lookup(ctx, c.session, c.spec) })
	if err != nil {
		return nil, err
	}
	return &plan{spec: c.spec, devices: found.devices, network: found.network, datastore: found.datastore}, nil
}

func lookup(ctx context.Context, session *client.Session, spec *v1alpha1.VSphereMachineSpec) (*plan, error) {
	var template mo.VirtualMachine
	if err := property.DefaultCollector(session.VIM()).RetrieveOne(ctx, reference("VirtualMachine", spec.Template),
		[]string{"config.hardware.device"}, &template); err != nil {
		return nil, missingObject("template", spec.Template, err)
	}
	if template.Config == nil {
		return nil, platform.NewError(platform.ClassTransient, "template %s has no configuration", spec.Template)
	}
	if err := CheckDisks(template.Config.Hardware.Device); err != nil {
		return nil, platform.NewError(platform.ClassOf(err), "template %s: %w", spec.Template, err)
	}
	network, ok := object.NewReference(session.VIM(), reference(spec.Network.Type, spec.Network.ID)).(object.NetworkReference)
	if !ok {
		return nil, platform.NewError(platform.ClassConfiguration, "network %s has the unknown type %q", spec.Network.ID, spec.Network.Type)
	}
	backing, err := network.EthernetCardBackingInfo(ctx)
	if err != nil {
		return nil, missingObject("network", spec.Network.ID, err)
	}
	datastore, err := findDatastore(ctx, session, spec)
	if err != nil {
		return nil, err
	}
	return &plan{devices: template.Config.Hardware.Device, network: backing, datastore: datastore}, nil
}

// CheckDisks returns an error if a template has independent disks: those of its clones could not be told from volumes, which must outlive
// the virtual machine.
func CheckDisks(devices object.VirtualDeviceList) error {
	for _, disk := range disksOf(devices) {
		if mode, file := backingOf(disk); isIndependent(mode) {
			return platform.NewError(platform.ClassConfiguration, "disk %s has the mode %s; it must be %s, so that it is deleted with the machines",
				file, mode, types.VirtualDiskModePersistent)
		}
	}
	return nil
}

// missingObject classifies err. If an object that the machine class refers to does not exist, it is a configuration error.
func missingObject(kind, id string, err error) error {
	if err = client.Classify(err); client.IsNotFound(err) {
		return platform.NewError(platform.ClassConfiguration, "%s %s no longer exists: %w", kind, id, err)
	}
	return err
}

// specMismatch returns how a virtual machine differs from the plan if only a new one could fix it, or an empty string.
func (p *plan) specMismatch(vm *virtualMachine) string {
	if vm.Config == nil {
		return "it has no configuration"
	}
	hardware := vm.Config.Hardware
	if hardware.NumCPU != p.spec.CPUs || int64(hardware.MemoryMB) != p.spec.MemoryMiB {
		return fmt.Sprintf("it has %d CPUs and %d MiB memory instead of %d and %d",
			hardware.NumCPU, hardware.MemoryMB, p.spec.CPUs, p.spec.MemoryMiB)
	}
	var sizes []int64
	for _, disk := range disksOf(vm.devices()) {
		if !vm.isForeign(disk) {
			sizes = append(sizes, disk.CapacityInKB)
		}
	}
	wanted := p.diskSizes()
	if len(sizes) < len(wanted) {
		return fmt.Sprintf("it has %d disks instead of %d", len(sizes), len(wanted))
	}
	for i := range wanted {
		if sizes[i] < wanted[i] {
			return fmt.Sprintf("its disk %d has %d KiB instead of %d", i, sizes[i], wanted[i])
		}
	}
	if p.address != nil && vm.isOn() && vm.ExtraConfig[owner.KeyAddress] != p.address.IP.String() {
		return fmt.Sprintf("it was started with the address %q instead of %s", vm.ExtraConfig[owner.KeyAddress], p.address.IP)
	}
	cards := cardsOf(vm.devices())
	if len(cards) != 1 {
		return fmt.Sprintf("it has %d network cards instead of 1", len(cards))
	}
	if !sameNetwork(cards[0].GetVirtualEthernetCard().Backing, p.network) {
		return "its network card is not in network " + p.spec.Network.ID
	}
	return ""
}

// diskSizes returns the minimum sizes of the disks in KiB: those of the template, the first of them grown, and the data disks.
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

// sameNetwork reports whether a card is in the network. It ignores the port, which the vCenter chooses.
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

// findDatastore returns the configured datastore or, if there is only a storage policy, the datastore of the cluster that complies with the
// policy and has the most free space. Without a datastore, a clone would stay on that of its template.
func findDatastore(ctx context.Context, session *client.Session, spec *v1alpha1.VSphereMachineSpec) (types.ManagedObjectReference, error) {
	if spec.Datastore != "" {
		return reference("Datastore", spec.Datastore), nil
	}
	collector := property.DefaultCollector(session.VIM())
	var cluster mo.ComputeResource
	if err := collector.RetrieveOne(ctx, reference("ClusterComputeResource", spec.ComputeCluster), []string{"datastore"},
		&cluster); err != nil {
		return types.ManagedObjectReference{}, missingObject("compute cluster", spec.ComputeCluster, err)
	}
	compatible, err := session.CompatibleDatastores(ctx, spec.StoragePolicyID, cluster.Datastore)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	var found []mo.Datastore
	if err := collector.Retrieve(ctx, cluster.Datastore, []string{"summary"}, &found); err != nil {
		return types.ManagedObjectReference{}, client.Classify(err)
	}
	found = slices.DeleteFunc(found, func(d mo.Datastore) bool {
		return !d.Summary.Accessible || client.InMaintenance(&d.Summary) || !slices.Contains(compatible, d.Self.Value)
	})
	if len(found) == 0 {
		return types.ManagedObjectReference{}, platform.NewError(platform.ClassExhausted,
			"no datastore of compute cluster %s complies with storage policy %s", spec.ComputeCluster, spec.StoragePolicyID)
	}
	return slices.MaxFunc(found, func(a, b mo.Datastore) int {
		return int(a.Summary.FreeSpace>>20) - int(b.Summary.FreeSpace>>20)
	}).Self, nil
}
