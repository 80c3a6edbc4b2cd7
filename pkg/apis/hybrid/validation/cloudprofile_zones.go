// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

type regionZone struct {
	region, zone string
}

// validateZones validates the zones of the site and adds them to zoneSites.
func validateZones(site *v1alpha1.CloudProfileSite, spec *gardencorev1beta1.CloudProfileSpec, zoneSites map[regionZone]string,
	fldPath *field.Path) field.ErrorList {
	if len(site.Zones) == 0 {
		return field.ErrorList{field.Required(fldPath, "must have at least one zone")}
	}

	var (
		allErrs     field.ErrorList
		platform, _ = site.Platform()
		zoneNames   = zoneNames(spec, site.Region)
	)
	for i := range site.Zones {
		zone, idxPath := &site.Zones[i], fldPath.Index(i)
		allErrs = append(allErrs, validateOneOf(zone.Name, zoneNames, idxPath.Child("name"))...)
		key := regionZone{site.Region, zone.Name}
		if other, ok := zoneSites[key]; ok {
			if other == site.Name {
				allErrs = append(allErrs, field.Duplicate(idxPath.Child("name"), zone.Name))
			} else {
				allErrs = append(allErrs,
					field.Invalid(idxPath.Child("name"), zone.Name, fmt.Sprintf("must belong to one site, and belongs to site %q already", other)))
			}
		} else {
			zoneSites[key] = site.Name
		}
		allErrs = append(allErrs, validateBlocks(zone.Platforms(), site.Name, platform, true, idxPath)...)
		if zone.OpenStack != nil {
			allErrs = append(allErrs, validateRequired(zone.OpenStack.AvailabilityZone, idxPath.Child("openstack", "availabilityZone"))...)
		}
		if zone.VSphere != nil {
			allErrs = append(allErrs, validateVSphereZone(zone.VSphere, idxPath.Child("vsphere"))...)
			allErrs = append(allErrs, validateVSphereTopologyTag(site.VSphere, zone.VSphere, idxPath.Child("vsphere", "topologyTag"))...)
		}
		if zone.Metal != nil {
			allErrs = append(allErrs, validateLabelSelector(zone.Metal.HostSelector, idxPath.Child("metal", "hostSelector"))...)
		}
	}
	return allErrs
}

func regionNames(spec *gardencorev1beta1.CloudProfileSpec) []string {
	var result []string
	for _, region := range spec.Regions {
		result = append(result, region.Name)
	}
	return result
}

func zoneNames(spec *gardencorev1beta1.CloudProfileSpec, regionName string) []string {
	var result []string
	for _, region := range spec.Regions {
		if region.Name != regionName {
			continue
		}
		for _, zone := range region.Zones {
			result = append(result, zone.Name)
		}
	}
	return result
}
