// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// properties are what is read of a virtual machine. Single entries of the extra configuration are cheap; all of it holds the user
// data.
var properties = []string{
	"name", "parent", "config.uuid", "config.hardware.numCPU", "config.hardware.memoryMB", "resourcePool",
	"runtime.powerState", "runtime.connectionState", "guest.net",
	client.ExtraConfigProperty(owner.KeyShoot), client.ExtraConfigProperty(owner.KeySite),
}

// virtualNetworkCard is the device of network interfaces that the guest made by itself, such as those of pods.
const virtualNetworkCard = -1

// virtualMachine is what the vCenter says about a virtual machine.
type virtualMachine struct {
	mo.VirtualMachine

	extraConfig map[string]string
}

func (v *virtualMachine) off() bool {
	return v.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff
}

func (v *virtualMachine) providerID() string {
	if v.Config == nil {
		return ""
	}
	return providerIDPrefix + strings.ToLower(v.Config.Uuid)
}

// instanceType tells the size, because vSphere has no names for sizes.
func (v *virtualMachine) instanceType() string {
	if v.Config == nil {
		return ""
	}
	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dmb", v.Config.Hardware.NumCPU, v.Config.Hardware.MemoryMB)
}

// addresses are those of the network cards that the vCenter knows, in the order of the guest.
func (v *virtualMachine) addresses() []corev1.NodeAddress {
	if v.Guest == nil {
		return nil
	}
	var result []corev1.NodeAddress
	for _, card := range v.Guest.Net {
		if card.DeviceConfigId == virtualNetworkCard {
			continue
		}
		for _, address := range card.IpAddress {
			if ip, err := netip.ParseAddr(address); err == nil && ip.IsGlobalUnicast() {
				result = append(result, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
			}
		}
	}
	return result
}
