// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

// rootDisk makes servers boot from a volume if the pool asks for a volume type; otherwise the flavor's disk is used.
func rootDisk(request platform.MachineClassRequest) *v1alpha1.OpenStackRootDisk {
	if request.VolumeType == nil || request.VolumeType.OpenStack == nil || request.VolumeSize == 0 {
		return nil
	}
	return &v1alpha1.OpenStackRootDisk{Type: request.VolumeType.OpenStack.Type, Size: request.VolumeSize}
}

// dataDisks are the pool's data volumes. The pool's word on the type counts more than the CloudProfile's; without either the site's
// default type is used.
func dataDisks(request platform.MachineClassRequest) []v1alpha1.OpenStackDataDisk {
	var disks []v1alpha1.OpenStackDataDisk
	for _, volume := range request.DataVolumes {
		disk := v1alpha1.OpenStackDataDisk{Name: volume.Name, Size: volume.Size}
		switch {
		case volume.Settings.OpenStack != nil:
			disk.Type = volume.Settings.OpenStack.Type
		case volume.Type != nil && volume.Type.OpenStack != nil:
			disk.Type = volume.Type.OpenStack.Type
		}
		disks = append(disks, disk)
	}
	return disks
}

// metadata are the labels of the pool's machines and the name of the pool.
func metadata(pool string, labels []v1alpha1.OpenStackMachineLabel) map[string]string {
	result := map[string]string{}
	for _, label := range labels {
		result[label.Name] = label.Value
	}
	result[owner.MetadataPool] = pool
	return result
}

// withoutDuplicates keeps the first of equal values.
func withoutDuplicates(values []string) []string {
	var result []string
	for _, value := range values {
		if !slices.Contains(result, value) {
			result = append(result, value)
		}
	}
	return result
}
