// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ResourceGPU is the resource name that Gardener uses for the GPUs of a machine type.
const ResourceGPU = corev1.ResourceName("gpu")

// FindSite returns the site with the name.
func FindSite(config *v1alpha1.CloudProfileConfig, name string) *v1alpha1.CloudProfileSite {
	if config == nil {
		return nil
	}
	return lists.Find(config.Sites, func(s *v1alpha1.CloudProfileSite) bool { return s.Name == name })
}

// DefaultSite returns the name of the default site in the configuration of the control plane, which may be nil. It defaults to the only
// site of the infrastructure, and is empty if there are several.
func DefaultSite(controlPlane *v1alpha1.ControlPlaneConfig, infrastructure *v1alpha1.InfrastructureConfig) string {
	if controlPlane != nil && controlPlane.DefaultSite != "" {
		return controlPlane.DefaultSite
	}
	if len(infrastructure.Sites) == 1 {
		return infrastructure.Sites[0].Name
	}
	return ""
}

// FindEtcdVolume returns the first volume that has the zone and the role.
func FindEtcdVolume(volumes []v1alpha1.EtcdVolume, zone string, role v1alpha1.EtcdRole) *v1alpha1.EtcdVolume {
	return lists.Find(volumes, func(v *v1alpha1.EtcdVolume) bool {
		return (len(v.Zones) == 0 || slices.Contains(v.Zones, zone)) && (len(v.Roles) == 0 || slices.Contains(v.Roles, role))
	})
}

// MaximumMachines returns the maximum number of the shoot's machines on the site, which is the smaller one of those of the operator and the
// owner, and nil if there is none. Both sites may be nil.
func MaximumMachines(profile *v1alpha1.CloudProfileSite, config *v1alpha1.InfrastructureSite) *int32 {
	var operator, owner *int32
	if profile != nil {
		operator = profile.MaximumMachines
	}
	if config != nil {
		owner = config.MaximumMachines
	}
	if operator == nil || owner != nil && *owner < *operator {
		return owner
	}
	return operator
}

// FindZone returns the zone of the region with the name, and the site that it belongs to.
func FindZone(config *v1alpha1.CloudProfileConfig, region, name string) (*v1alpha1.CloudProfileSite, *v1alpha1.SiteZone) {
	if config == nil {
		return nil, nil
	}
	for i := range config.Sites {
		s := &config.Sites[i]
		if s.Region != region {
			continue
		}
		if zone := lists.Find(s.Zones, func(z *v1alpha1.SiteZone) bool { return z.Name == name }); zone != nil {
			return s, zone
		}
	}
	return nil, nil
}

// FindMachineType returns what the machine type is on the site.
func FindMachineType(config *v1alpha1.CloudProfileConfig, name, site string) *v1alpha1.SiteMachineType {
	if config == nil {
		return nil
	}
	machineType := lists.Find(config.MachineTypes, func(t *v1alpha1.MachineType) bool { return t.Name == name })
	if machineType == nil {
		return nil
	}
	return lists.Find(machineType.Sites, func(s *v1alpha1.SiteMachineType) bool { return s.Name == site })
}

// FindVolumeType returns what the volume type is on the site.
func FindVolumeType(config *v1alpha1.CloudProfileConfig, name, site string) *v1alpha1.SiteVolumeType {
	if config == nil {
		return nil
	}
	volumeType := lists.Find(config.VolumeTypes, func(t *v1alpha1.VolumeType) bool { return t.Name == name })
	if volumeType == nil {
		return nil
	}
	return lists.Find(volumeType.Sites, func(s *v1alpha1.SiteVolumeType) bool { return s.Name == site })
}

// Capabilities returns the capabilities of the machine type and their definitions. They are the architecture if the CloudProfile has no
// capabilities.
func Capabilities(profile *gardencorev1beta1.CloudProfile, machineType, architecture string) (gardencorev1beta1.Capabilities,
	[]gardencorev1beta1.CapabilityDefinition) {
	definitions := profile.Spec.MachineCapabilities
	if len(definitions) == 0 {
		return gardencorev1beta1.Capabilities{v1beta1constants.ArchitectureName: {architecture}},
			[]gardencorev1beta1.CapabilityDefinition{{
				Name:   v1beta1constants.ArchitectureName,
				Values: []string{v1beta1constants.ArchitectureAMD64, v1beta1constants.ArchitectureARM64},
			}}
	}
	found := lists.Find(profile.Spec.MachineTypes, func(t *gardencorev1beta1.MachineType) bool { return t.Name == machineType })
	if found == nil {
		return nil, definitions
	}
	return found.Capabilities, definitions
}

// DataVolumeSettings returns the settings of a pool's data volume for the site, empty ones if there are none.
func DataVolumeSettings(settings []v1alpha1.WorkerDataVolume, name, site string) v1alpha1.WorkerDataVolumeSite {
	for _, volume := range settings {
		if volume.Name != name {
			continue
		}
		if found := lists.Find(volume.Sites, func(s *v1alpha1.WorkerDataVolumeSite) bool { return s.Name == site }); found != nil {
			return *found
		}
	}
	return v1alpha1.WorkerDataVolumeSite{}
}
