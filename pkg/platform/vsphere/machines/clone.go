// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// firstNewKey is the first of the temporary keys of new devices. They are negative.
const firstNewKey = -200

// cloneSpec describes the virtual machine as a whole, so that one task makes it and turns it on.
func (p *plan) cloneSpec(uuid string, extraConfig []types.BaseOptionValue) (*types.VirtualMachineCloneSpec, error) {
	disks, err := p.diskChanges()
	if err != nil {
		return nil, err
	}
	pool := reference("ResourcePool", p.spec.ResourcePool)
	config := &types.VirtualMachineConfigSpec{
		Uuid:         uuid,
		NumCPUs:      p.spec.CPUs,
		MemoryMB:     p.spec.MemoryMiB,
		ExtraConfig:  extraConfig,
		DeviceChange: append(p.cardChanges(), disks...),
	}
	if p.spec.MemoryReservationLockedToMax {
		config.MemoryReservationLockedToMax = new(true)
	}
	return &types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{
			Pool:      &pool,
			Datastore: &p.datastore,
			Profile:   profile(p.spec.StoragePolicyID),
			Disk:      p.diskLocators(),
		},
		Config:  config,
		PowerOn: true,
	}, nil
}

// diskLocators give the disks of the template the storage policy, which is otherwise for the other files only.
func (p *plan) diskLocators() []types.VirtualMachineRelocateSpecDiskLocator {
	if p.spec.StoragePolicyID == "" {
		return nil
	}
	var locators []types.VirtualMachineRelocateSpecDiskLocator
	for _, disk := range disksOf(p.devices) {
		locators = append(locators, types.VirtualMachineRelocateSpecDiskLocator{
			DiskId:    disk.Key,
			Datastore: p.datastore,
			Profile:   profile(p.spec.StoragePolicyID),
		})
	}
	return locators
}

func profile(policyID string) []types.BaseVirtualMachineProfileSpec {
	if policyID == "" {
		return nil
	}
	return []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: policyID}}
}

// cardChanges put the first network card of the template into the network and remove the others.
func (p *plan) cardChanges() []types.BaseVirtualDeviceConfigSpec {
	cards := cardsOf(p.devices)
	if len(cards) == 0 {
		return []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd,
			Device: &types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: types.VirtualEthernetCard{
				VirtualDevice: types.VirtualDevice{Key: firstNewKey, Backing: p.network, Connectable: connected()},
				AddressType:   string(types.VirtualEthernetCardMacTypeGenerated),
			}}},
		}}
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	for i, card := range cards {
		if i > 0 {
			changes = append(changes, &types.VirtualDeviceConfigSpec{
				Operation: types.VirtualDeviceConfigSpecOperationRemove,
				Device:    card.(types.BaseVirtualDevice),
			})
			continue
		}
		edited := *card.GetVirtualEthernetCard()
		edited.Backing = p.network
		edited.Connectable = connected()
		edited.AddressType = string(types.VirtualEthernetCardMacTypeGenerated)
		edited.MacAddress = ""
		edited.ExternalId = ""
		changes = append(changes, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationEdit,
			Device:    sameCard(card, edited),
		})
	}
	return changes
}

// sameCard returns a card of the same type, because an edit does not change the type.
func sameCard(card types.BaseVirtualEthernetCard, edited types.VirtualEthernetCard) types.BaseVirtualDevice {
	switch card.(type) {
	case *types.VirtualE1000:
		return &types.VirtualE1000{VirtualEthernetCard: edited}
	case *types.VirtualE1000e:
		return &types.VirtualE1000e{VirtualEthernetCard: edited}
	case *types.VirtualSriovEthernetCard:
		return &types.VirtualSriovEthernetCard{VirtualEthernetCard: edited}
	case *types.VirtualVmxnet2:
		return &types.VirtualVmxnet2{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: edited}}
	case *types.VirtualPCNet32:
		return &types.VirtualPCNet32{VirtualEthernetCard: edited}
	default:
		return &types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: edited}}
	}
}

func connected() *types.VirtualDeviceConnectInfo {
	return &types.VirtualDeviceConnectInfo{StartConnected: true, AllowGuestControl: true, Connected: true}
}

// diskChanges grow the first disk of the template and add the data disks to its controller.
func (p *plan) diskChanges() ([]types.BaseVirtualDeviceConfigSpec, error) {
	disks := disksOf(p.devices)
	if len(disks) == 0 {
		return nil, platform.NewError(platform.ClassConfiguration, "template %s has no disk", p.spec.Template)
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	root := *disks[0]
	if size := int64(p.spec.RootDiskGiB) * kibPerGiB; size > root.CapacityInKB {
		root.CapacityInKB = size
		root.CapacityInBytes = size * 1024
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &root})
	}

	units := p.freeUnits(root.ControllerKey)
	if len(units) < len(p.spec.DataDisks) {
		return nil, platform.NewError(platform.ClassConfiguration,
			"the controller of the template's first disk has room for %d more disks, not %d", len(units), len(p.spec.DataDisks))
	}
	for i, disk := range p.spec.DataDisks {
		policy := disk.StoragePolicyID
		if policy == "" {
			policy = p.spec.StoragePolicyID
		}
		changes = append(changes, &types.VirtualDeviceConfigSpec{
			Operation:     types.VirtualDeviceConfigSpecOperationAdd,
			FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate,
			Profile:       profile(policy),
			Device: &types.VirtualDisk{
				VirtualDevice: types.VirtualDevice{
					Key:           firstNewKey - 1 - int32(i),
					ControllerKey: root.ControllerKey,
					UnitNumber:    &units[i],
					Backing: &types.VirtualDiskFlatVer2BackingInfo{
						DiskMode:        string(types.VirtualDiskModePersistent),
						ThinProvisioned: new(true),
					},
				},
				CapacityInKB:    int64(disk.SizeGiB) * kibPerGiB,
				CapacityInBytes: int64(disk.SizeGiB) * kibPerGiB * 1024,
			},
		})
	}
	return changes, nil
}

// freeUnits are the numbers on a controller that no device has. Number 7 is that of a SCSI controller itself.
func (p *plan) freeUnits(controller int32) []int32 {
	taken := map[int32]bool{7: true}
	for _, device := range p.devices {
		if d := device.GetVirtualDevice(); d.ControllerKey == controller && d.UnitNumber != nil {
			taken[*d.UnitNumber] = true
		}
	}
	var free []int32
	for unit := range unitsOf(p.devices, controller) {
		if !taken[unit] {
			free = append(free, unit)
		}
	}
	return free
}

// unitsOf is how many devices a controller can have.
func unitsOf(devices object.VirtualDeviceList, controller int32) int32 {
	switch devices.FindByKey(controller).(type) {
	case types.BaseVirtualSCSIController:
		return 16
	case types.BaseVirtualSATAController:
		return 30
	case *types.VirtualNVMEController:
		return 15
	default:
		return 2
	}
}

// options returns extra configuration as the vCenter takes it.
func options(extraConfig map[string]string) []types.BaseOptionValue {
	var result []types.BaseOptionValue
	for key, value := range extraConfig {
		result = append(result, &types.OptionValue{Key: key, Value: value})
	}
	return result
}
