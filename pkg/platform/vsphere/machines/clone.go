// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/extraconfig"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
)

// firstNewKey is the first temporary key of new devices, which are negative.
const firstNewKey = -200

// cloneSpec describes the whole virtual machine, so that one task creates it and powers it on. One with an address from a pool is powered
// on later, because its network is configured by the MAC address, which the vCenter chooses.
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
		PowerOn: p.address == nil,
	}, nil
}

// diskLocators assign the storage policy to the disks of the template. The policy of the location is for the other files only.
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

// cardChanges connect the first network card of the template to the network and remove the others.
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

// sameCard returns a card of the same type, because an edit cannot change the type.
func sameCard(card types.BaseVirtualEthernetCard, edited types.VirtualEthernetCard) types.BaseVirtualDevice {
	same := reflect.New(reflect.TypeOf(card).Elem()).Interface().(types.BaseVirtualEthernetCard)
	*same.GetVirtualEthernetCard() = edited
	return same.(types.BaseVirtualDevice)
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
			"the controller of the template's first disk has %d free slots for %d data disks", len(units), len(p.spec.DataDisks))
	}
	for i, disk := range p.spec.DataDisks {
		changes = append(changes, &types.VirtualDeviceConfigSpec{
			Operation:     types.VirtualDeviceConfigSpecOperationAdd,
			FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate,
			Profile:       profile(cmp.Or(disk.StoragePolicyID, p.spec.StoragePolicyID)),
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

// freeUnits returns the free unit numbers of a controller. A SCSI controller itself has the number 7.
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

// unitsOf returns the number of units of a controller.
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

// options converts the extra configuration to the type of the API.
func options(extraConfig map[string]string) []types.BaseOptionValue {
	var result []types.BaseOptionValue
	for key, value := range extraConfig {
		result = append(result, &types.OptionValue{Key: key, Value: value})
	}
	return result
}

const (
	encodingBase64 = "base64"
	// maxUserData is the maximum size of an entry that a guest can read, in bytes before it is encoded.
	maxUserData = 512 << 10
)

// metadata is what cloud-init reads from guestinfo.metadata.
type metadata struct {
	InstanceID    string         `json:"instance-id"`
	LocalHostname string         `json:"local-hostname"`
	Network       *networkConfig `json:"network,omitempty"`
}

// extraConfig returns the extra configuration of a virtual machine: the configured entries, the marks of its owner, and what its guest
// reads.
func extraConfig(request platform.MachineRequest, o owner.Owner, uuid string) (map[string]string, error) {
	if size := len(request.UserData); size > maxUserData {
		return nil, platform.NewError(platform.ClassConfiguration, "user data has %d bytes; it must have at most %d", size, maxUserData)
	}
	for key := range request.Spec.VSphere.ExtraConfig {
		if problem := extraconfig.Problem(key); problem != "" {
			return nil, platform.NewError(platform.ClassConfiguration, "extraConfig[%s]: %s", key, problem)
		}
	}
	result := map[string]string{}
	maps.Copy(result, request.Spec.VSphere.ExtraConfig)
	maps.Copy(result, o.ExtraConfig())
	result[owner.KeyMachine] = request.Name
	// The CSI driver finds disks by the IDs that it makes visible to the guest.
	result["disk.EnableUUID"] = "TRUE"
	if request.Bastion {
		result[owner.KeyUserData] = owner.HashOf(request.UserData)
	}
	if rule := request.Spec.VSphere.AntiAffinityRule; rule != "" {
		result[owner.KeyRule] = rule
	}
	guest, err := guestInfo(request, uuid, nil)
	maps.Copy(result, guest)
	return result, err
}

// guestInfo returns what the guest reads: the user data in the format of its image, and its network, nil if it uses DHCP.
func guestInfo(request platform.MachineRequest, uuid string, network *network) (map[string]string, error) {
	if request.Spec.UserDataFormat == v1alpha1.UserDataFormatIgnition {
		config := request.UserData
		if network != nil {
			var err error
			if config, err = userdata.Extend(config, []ignition.File{userdata.NetworkFile(network.networkd())}); err != nil {
				return nil, err
			}
		}
		return map[string]string{
			"guestinfo.ignition.config.data":          base64.StdEncoding.EncodeToString(config),
			"guestinfo.ignition.config.data.encoding": encodingBase64,
		}, nil
	}
	data, err := json.Marshal(metadata{InstanceID: uuid, LocalHostname: request.Name, Network: network.cloudInit()})
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"guestinfo.userdata":          base64.StdEncoding.EncodeToString(request.UserData),
		"guestinfo.userdata.encoding": encodingBase64,
		"guestinfo.metadata":          base64.StdEncoding.EncodeToString(data),
		"guestinfo.metadata.encoding": encodingBase64,
	}, nil
}
