// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// noBoot is the boot index of a disk that the server does not boot from.
const noBoot = -1

// blockDevices are the disks of a server, nil if it has only the flavor's. All of them are deleted with the server.
func blockDevices(spec *v1alpha1.OpenStackMachineSpec) []servers.BlockDevice {
	if spec.RootDisk == nil && len(spec.DataDisks) == 0 {
		return nil
	}
	devices := []servers.BlockDevice{rootDevice(spec)}
	for _, disk := range spec.DataDisks {
		devices = append(devices, servers.BlockDevice{
			SourceType:          servers.SourceBlank,
			DestinationType:     servers.DestinationVolume,
			BootIndex:           noBoot,
			VolumeSize:          disk.Size,
			VolumeType:          disk.Type,
			DeleteOnTermination: true,
		})
	}
	return devices
}

// rootDevice is the disk with the image: a volume, or the flavor's disk, which has to be named as soon as others are.
func rootDevice(spec *v1alpha1.OpenStackMachineSpec) servers.BlockDevice {
	root := servers.BlockDevice{
		SourceType:          servers.SourceImage,
		UUID:                spec.ImageID,
		DestinationType:     servers.DestinationLocal,
		DeleteOnTermination: true,
	}
	if spec.RootDisk != nil {
		root.DestinationType = servers.DestinationVolume
		root.VolumeSize = spec.RootDisk.Size
		root.VolumeType = spec.RootDisk.Type
	}
	return root
}
