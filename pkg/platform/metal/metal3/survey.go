// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// mebibyte is baremetal-operator's unit of memory.
const mebibyte = 1 << 20

// surveyed returns the hardware of the host.
func surveyed(host *metal3v1alpha1.BareMetalHost) inventory.Surveyed {
	result := inventory.Surveyed{Architecture: host.Spec.Architecture}
	if hardware := host.Status.HardwareDetails; hardware != nil {
		result.CPUs, result.Memory = int64(hardware.CPU.Count), int64(hardware.RAMMebibytes)*mebibyte
		if hardware.CPU.Arch != "" {
			result.Architecture = hardware.CPU.Arch
		}
	}
	return result
}

// stripButHardware is strip, but keeps the size of the host.
func stripButHardware(object any) (any, error) {
	host, ok := object.(*metal3v1alpha1.BareMetalHost)
	if !ok || host.Status.HardwareDetails == nil {
		return strip(object)
	}
	all := host.Status.HardwareDetails
	kept := &metal3v1alpha1.HardwareDetails{RAMMebibytes: all.RAMMebibytes, CPU: metal3v1alpha1.CPU{Arch: all.CPU.Arch, Count: all.CPU.Count}}
	_, err := strip(host)
	host.Status.HardwareDetails = kept
	return host, err
}
