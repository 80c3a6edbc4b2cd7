// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// reservedExtraConfig begins the keys that the driver sets itself.
var reservedExtraConfig = []string{"guestinfo.", "gardener."}

func validateVSphereProfile(profile *v1alpha1.VSphereProfile, fldPath *field.Path) field.ErrorList {
	allErrs := validateURL(profile.Server, []string{"https"}, fldPath.Child("server"))
	allErrs = append(allErrs, validateRequired(profile.Datacenter, fldPath.Child("datacenter"))...)
	if topology := profile.Topology; topology != nil {
		allErrs = append(allErrs, validateRequired(topology.RegionCategory, fldPath.Child("topology", "regionCategory"))...)
		allErrs = append(allErrs, validateRequired(topology.ZoneCategory, fldPath.Child("topology", "zoneCategory"))...)
		if topology.ZoneCategory != "" && topology.ZoneCategory == topology.RegionCategory {
			allErrs = append(allErrs, field.Duplicate(fldPath.Child("topology", "zoneCategory"), topology.ZoneCategory))
		}
	}
	return allErrs
}

func validateVSphereZone(zone *v1alpha1.VSphereZone, fldPath *field.Path) field.ErrorList {
	allErrs := validateRequired(zone.ComputeCluster, fldPath.Child("computeCluster"))
	switch {
	case zone.Datastore == "" && zone.StoragePolicy == "":
		allErrs = append(allErrs, field.Required(fldPath.Child("datastore"), "either datastore or storagePolicy must be set"))
	case zone.Datastore != "" && zone.StoragePolicy != "":
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("storagePolicy"), "must not be set together with datastore"))
	}
	return allErrs
}

// validateVSphereTopologyTag checks that a zone has a tag only if the site has categories of tags.
func validateVSphereTopologyTag(site *v1alpha1.VSphereProfile, zone *v1alpha1.VSphereZone, fldPath *field.Path) field.ErrorList {
	if site != nil && site.Topology == nil && zone.TopologyTag != "" {
		return field.ErrorList{field.Forbidden(fldPath, "must not be set unless the site has topology")}
	}
	return nil
}

func validateVSphereImage(image *v1alpha1.VSphereImage, fldPath *field.Path) field.ErrorList {
	allErrs := validateRequired(image.Template, fldPath.Child("template"))
	seen := names{}
	for i, zone := range image.Zones {
		idxPath := fldPath.Child("zones").Index(i)
		allErrs = append(allErrs, seen.addRequired(zone.Name, idxPath.Child("name"))...)
		allErrs = append(allErrs, validateRequired(zone.Template, idxPath.Child("template"))...)
	}
	return allErrs
}

// validateVSphereOffers checks that images have templates for zones of their site only. Another zone's template would never be used.
func validateVSphereOffers(config *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	forEachImage(config, fldPath, func(image *v1alpha1.SiteMachineImage, imagePath *field.Path) {
		site := helper.FindSite(config, image.Name)
		if image.VSphere == nil || site == nil || site.VSphere == nil {
			return
		}
		zones := make([]string, 0, len(site.Zones))
		for _, zone := range site.Zones {
			zones = append(zones, zone.Name)
		}
		for i, zone := range image.VSphere.Zones {
			if zone.Name != "" && !slices.Contains(zones, zone.Name) {
				allErrs = append(allErrs, field.NotSupported(imagePath.Child("vsphere", "zones").Index(i).Child("name"), zone.Name, zones))
			}
		}
	})
	return allErrs
}

// validateVSphereInfrastructure checks that each zone has a network: that of the shoot or its own.
func validateVSphereInfrastructure(config *v1alpha1.VSphereInfrastructure, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	if config != nil && config.Network != "" {
		return nil
	}
	for _, zone := range site.Zones {
		if zone.VSphere != nil && zone.VSphere.Network == "" {
			return field.ErrorList{field.Required(fldPath.Child("network"), fmt.Sprintf("must be set because zone %q has no network in the CloudProfile", zone.Name))}
		}
	}
	return nil
}

func validateVSphereWorker(config *v1alpha1.VSphereWorker, fldPath *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	allErrs := validateExtraConfig(config.ExtraConfig, fldPath.Child("extraConfig"))
	seen := names{}
	for i, tag := range config.Tags {
		idxPath := fldPath.Child("tags").Index(i)
		if category, name, ok := strings.Cut(tag, "/"); !ok || category == "" || name == "" {
			allErrs = append(allErrs, field.Invalid(idxPath, tag, "must be <category>/<tag>"))
			continue
		}
		allErrs = append(allErrs, seen.add(tag, idxPath)...)
	}
	return allErrs
}

func validateExtraConfig(extraConfig map[string]string, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for _, key := range sortedKeys(extraConfig) {
		keyPath := fldPath.Key(key)
		allErrs = append(allErrs, validateRequired(key, keyPath)...)
		for _, reserved := range reservedExtraConfig {
			if strings.HasPrefix(strings.ToLower(key), reserved) {
				allErrs = append(allErrs, field.Forbidden(keyPath, fmt.Sprintf("keys that begin with %q are reserved", reserved)))
			}
		}
	}
	return allErrs
}
