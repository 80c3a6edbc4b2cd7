// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"fmt"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// gpu is the capacity of machine types that is compared besides CPUs and memory.
const gpu corev1.ResourceName = "gpu"

// parts compares all parts of the CloudProfile that belong to the site.
func (c *comparison) parts(spec *gardencorev1beta1.CloudProfileSpec, config *v1alpha1.CloudProfileConfig) {
	var site *v1alpha1.CloudProfileSite
	for i := range config.Sites {
		if config.Sites[i].Name != c.name {
			continue
		}
		site = &config.Sites[i]
		field := fmt.Sprintf("sites[%d]", i)
		c.part(platform.ProfilePart{Site: site}, field, "site", wanted{})
		for j := range site.Zones {
			zone := &site.Zones[j]
			c.part(platform.ProfilePart{Site: site, Zone: zone}, fmt.Sprintf("%s.zones[%d]", field, j), "zone "+zone.Name, wanted{})
		}
		for j := range site.StorageClasses {
			class := &site.StorageClasses[j]
			c.part(platform.ProfilePart{Site: site, StorageClass: class}, fmt.Sprintf("%s.storageClasses[%d]", field, j),
				"storage class "+class.Name, wanted{})
		}
	}
	for i := range config.MachineTypes {
		for j := range config.MachineTypes[i].Sites {
			if machineType := &config.MachineTypes[i].Sites[j]; machineType.Name == c.name {
				c.part(platform.ProfilePart{Site: site, MachineType: machineType}, fmt.Sprintf("machineTypes[%d].sites[%d]", i, j),
					"machine type "+config.MachineTypes[i].Name, wantedOf(spec, config.MachineTypes[i].Name, machineType.Capacity))
			}
		}
	}
	for i := range config.VolumeTypes {
		for j := range config.VolumeTypes[i].Sites {
			if volumeType := &config.VolumeTypes[i].Sites[j]; volumeType.Name == c.name {
				c.part(platform.ProfilePart{Site: site, VolumeType: volumeType}, fmt.Sprintf("volumeTypes[%d].sites[%d]", i, j),
					"volume type "+config.VolumeTypes[i].Name, wanted{})
			}
		}
	}
	c.images(spec, config, site)
}

func (c *comparison) images(spec *gardencorev1beta1.CloudProfileSpec, config *v1alpha1.CloudProfileConfig,
	site *v1alpha1.CloudProfileSite) {
	names := lists.Map(config.MachineImages, func(image v1alpha1.MachineImage) string { return platform.EntryName(image.Name) })
	for i := range config.MachineImages {
		image := &config.MachineImages[i]
		for j := range image.Versions {
			version := &image.Versions[j]
			want := wanted{image: image.Name, version: version.Version, images: names, retired: isRetired(spec, image.Name, version.Version)}
			for k := range version.CapabilityFlavors {
				flavor := &version.CapabilityFlavors[k]
				want.architectures = flavor.Capabilities[v1beta1constants.ArchitectureName]
				for l := range flavor.Sites {
					if flavor.Sites[l].Name == c.name {
						c.part(platform.ProfilePart{Site: site, Image: &flavor.Sites[l]},
							fmt.Sprintf("machineImages[%d].versions[%d].capabilityFlavors[%d].sites[%d]", i, j, k, l),
							"machine image "+image.Name+" "+version.Version, want)
					}
				}
			}
		}
	}
}

// wantedOf returns the size and the architectures of a machine type, with the capacity of the site.
func wantedOf(spec *gardencorev1beta1.CloudProfileSpec, name string, capacity corev1.ResourceList) wanted {
	machineType := lists.Find(spec.MachineTypes, func(t *gardencorev1beta1.MachineType) bool { return t.Name == name })
	if machineType == nil {
		return wanted{}
	}
	want := wanted{size: &size{machineType.CPU.Value(), machineType.Memory.Value(), machineType.GPU.Value()},
		architectures: machineType.Capabilities[v1beta1constants.ArchitectureName]}
	if len(want.architectures) == 0 && machineType.Architecture != nil {
		want.architectures = []string{*machineType.Architecture}
	}
	for resourceName, amount := range map[corev1.ResourceName]*int64{
		corev1.ResourceCPU: &want.size.cpus, corev1.ResourceMemory: &want.size.memory, gpu: &want.size.gpus,
	} {
		if quantity, ok := capacity[resourceName]; ok {
			*amount = quantity.Value()
		}
	}
	return want
}

// isRetired reports whether the CloudProfile says that a version of an image is deprecated or expired.
func isRetired(spec *gardencorev1beta1.CloudProfileSpec, image, version string) bool {
	for i := range spec.MachineImages {
		for j := range spec.MachineImages[i].Versions {
			if known := spec.MachineImages[i].Versions[j].ExpirableVersion; spec.MachineImages[i].Name == image && known.Version == version {
				return v1beta1helper.VersionIsDeprecated(known) || v1beta1helper.VersionIsExpired(known)
			}
		}
	}
	return false
}
