// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// request returns the request that resolves the zone at its site, and the zone's machine image.
func request(f *facts, z *zone) (platform.MachineClassRequest, *helper.MachineImage, error) {
	none := platform.MachineClassRequest{}

	status := f.siteStatus(z.siteName)
	if status == nil {
		return none, nil, platform.NewError(platform.ClassTransient, "the infrastructure of the site is not ready")
	}
	machineType := helper.FindMachineType(f.profile, z.spec.MachineType, z.siteName)
	if machineType == nil {
		return none, nil, platform.NewError(platform.ClassConfiguration, "the CloudProfile does not have machine type %q on the site",
			z.spec.MachineType)
	}
	capabilities, definitions := helper.Capabilities(f.cluster.CloudProfile, z.spec.MachineType, z.architecture())
	image := helper.FindMachineImage(helper.MachineImageRequest{
		Name:         z.spec.MachineImage.Name,
		Version:      z.spec.MachineImage.Version,
		Site:         z.siteName,
		Capabilities: capabilities,
		Definitions:  definitions,
	}, f.profile.MachineImages, f.images)
	if image == nil {
		return none, nil, platform.NewError(platform.ClassConfiguration,
			"neither the CloudProfile nor the status of the Worker has machine image %q in version %q for machine type %q on the site",
			z.spec.MachineImage.Name, z.spec.MachineImage.Version, z.spec.MachineType)
	}
	var (
		rootType *v1alpha1.SiteVolumeType
		rootSize int
		err      error
	)
	if root := z.spec.Volume; root != nil {
		if rootType, rootSize, err = volume(f, z, "volume", root.Type, root.Size, root.Encrypted); err != nil {
			return none, nil, err
		}
	}
	dataVolumes, err := dataVolumes(f, z)
	if err != nil {
		return none, nil, err
	}

	capacity := typeCapacity(f, z.pool)
	maps.Copy(capacity, machineType.Capacity)
	i := slices.IndexFunc(z.site.Profile.Zones, func(s v1alpha1.SiteZone) bool { return s.Name == z.name })
	return platform.MachineClassRequest{
		Site:        z.site,
		Status:      status,
		Zone:        &z.site.Profile.Zones[i],
		MachineType: machineType,
		Capacity:    capacity,
		Image:       image.Site,
		VolumeType:  rootType,
		VolumeSize:  rootSize,
		DataVolumes: dataVolumes,
		Settings:    z.config.Site(z.siteName),
		PodCIDRs:    shootsites.Pods(f.cluster.Shoot),
		Pool:        z.spec.Name,
		Minimum:     z.share.minimum,
		Rolling:     rolling(z),
	}, image, nil
}

// rolling returns nil if the pool's machines are updated in place.
func rolling(z *zone) *platform.Rolling {
	if v1beta1helper.IsUpdateStrategyInPlace(z.spec.UpdateStrategy) {
		return nil
	}
	return &platform.Rolling{MaxSurge: z.share.maxSurge, MaxUnavailable: z.share.maxUnavailable}
}

// typeCapacity returns the capacity of the pool's machine type in the CloudProfile.
func typeCapacity(f *facts, p *pool) corev1.ResourceList {
	machineType := v1beta1helper.FindMachineTypeByName(f.cluster.CloudProfile.Spec.MachineTypes, p.spec.MachineType)
	if machineType == nil {
		return corev1.ResourceList{}
	}
	return corev1.ResourceList{corev1.ResourceCPU: machineType.CPU, corev1.ResourceMemory: machineType.Memory,
		helper.ResourceGPU: machineType.GPU}
}

// dataVolumes returns the pool's data volumes in the zone.
func dataVolumes(f *facts, z *zone) ([]platform.DataVolume, error) {
	var volumes []platform.DataVolume
	for _, v := range z.spec.DataVolumes {
		volumeType, size, err := volume(f, z, "data volume "+v.Name, v.Type, v.Size, v.Encrypted)
		if err != nil {
			return nil, err
		}
		settings := helper.DataVolumeSettings(z.config.DataVolumes, v.Name, z.siteName)
		volumes = append(volumes, platform.DataVolume{Name: v.Name, Size: size, Type: volumeType, Settings: settings})
	}
	return volumes, nil
}

// volume returns the type, nil if the pool does not specify one, and the size in GiB of a volume.
func volume(f *facts, z *zone, what string, typeName *string, size string, encrypted *bool) (*v1alpha1.SiteVolumeType, int, error) {
	if ptr.Deref(encrypted, false) {
		return nil, 0, platform.NewError(platform.ClassConfiguration, "%s: encrypted is not supported; use a volume type that encrypts", what)
	}
	gibibytes, err := worker.DiskSize(size)
	if err != nil {
		return nil, 0, platform.NewError(platform.ClassConfiguration, "%s: size %q: %w", what, size, err)
	}
	if typeName == nil {
		return nil, gibibytes, nil
	}
	volumeType := helper.FindVolumeType(f.profile, *typeName, z.siteName)
	if volumeType == nil {
		return nil, 0, platform.NewError(platform.ClassConfiguration, "%s: the CloudProfile does not have volume type %q on the site", what,
			*typeName)
	}
	return volumeType, gibibytes, nil
}

// className returns the name of the zone's machine class. A new name rolls the machines of the zone. In addition to Gardener's inputs the
// hash covers the zone's site, the pool's data volumes and the inputs of the site; docs/usage/node-rolling.md lists all of them. The latter
// two are omitted for pools that are updated in place, because an update does not change the volumes of an existing machine.
func className(f *facts, z *zone, siteInputs []string) (string, error) {
	inPlace := []string{z.siteName}
	additional := []string{z.siteName}
	for _, volume := range z.spec.DataVolumes {
		additional = append(additional, fmt.Sprintf("%s/%s/%s", volume.Name, volume.Size, ptr.Deref(volume.Type, "")))
	}
	additional = append(additional, slices.Sorted(slices.Values(siteInputs))...)

	hash, err := worker.WorkerPoolHash(*z.spec, f.cluster, additional, inPlace)
	if err != nil {
		return "", platform.NewError(platform.ClassConfiguration, "hash of the pool: %w", err)
	}
	return fmt.Sprintf("%s-%s", z.deploymentName, hash), nil
}

// siteInputs returns what rolls the machines of the request in addition to Gardener's inputs: that of the platform and the settings of the
// site's machines.
func siteInputs(machineClasses platform.MachineClasses, request platform.MachineClassRequest) ([]string, error) {
	inputs := machineClasses.RollsFor(request)
	settings := request.Site.Profile.NodeSettings
	if settings == nil {
		return inputs, nil
	}
	encoded, err := json.Marshal(settings)
	return append(inputs, "nodeSettings/"+string(encoded)), err
}
