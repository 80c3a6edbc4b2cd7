// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// FindSite returns the site with the name.
func FindSite(config *v1alpha1.CloudProfileConfig, name string) *v1alpha1.CloudProfileSite {
	if config == nil {
		return nil
	}
	return lists.Find(config.Sites, func(s *v1alpha1.CloudProfileSite) bool { return s.Name == name })
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
