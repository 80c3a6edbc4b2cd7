// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/extraconfig"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ownerCategory is the category of the tags that say what belongs to which shoot.
const ownerCategory = "gardener-shoot"

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
	if allowed := profile.Allowed; allowed != nil {
		for i, key := range allowed.ExtraConfig {
			if problem := extraconfig.Problem(key); problem != "" {
				allErrs = append(allErrs, field.Invalid(fldPath.Child("allowed", "extraConfig").Index(i), key, problem))
			}
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
func validateVSphereInfrastructure(config *v1alpha1.VSphereInfrastructure, site *v1alpha1.CloudProfileSite,
	fldPath *field.Path) field.ErrorList {
	if config != nil && config.Network != "" {
		return nil
	}
	for _, zone := range site.Zones {
		if zone.VSphere != nil && zone.VSphere.Network == "" {
			return field.ErrorList{field.Required(fldPath.Child("network"),
				fmt.Sprintf("must be set because zone %q has no network in the CloudProfile", zone.Name))}
		}
	}
	return nil
}

func validateVSphereWorker(config *v1alpha1.VSphereWorker, profile *v1alpha1.VSphereProfile, fldPath *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	var (
		allowed = ptr.Deref(profile.Allowed, v1alpha1.VSphereAllowed{})
		allErrs = validateExtraConfig(config.ExtraConfig, fldPath.Child("extraConfig"))
		seen    = names{}
	)
	for _, key := range sortedKeys(config.ExtraConfig) {
		if extraconfig.Problem(key) == "" &&
			!slices.ContainsFunc(allowed.ExtraConfig, func(other string) bool { return strings.EqualFold(other, key) }) {
			// With the value, so that a change of it is seen.
			allErrs = append(allErrs,
				field.Invalid(fldPath.Child("extraConfig").Key(key), config.ExtraConfig[key],
					fmt.Sprintf("the site allows only the keys %q", allowed.ExtraConfig)))
		}
	}
	for i, tag := range config.Tags {
		idxPath := fldPath.Child("tags").Index(i)
		if category, name, ok := strings.Cut(tag, "/"); !ok || category == "" || name == "" {
			allErrs = append(allErrs, field.Invalid(idxPath, tag, "must be <category>/<tag>"))
			continue
		} else if category == ownerCategory {
			allErrs = append(allErrs, field.Forbidden(idxPath, fmt.Sprintf("the category %q is reserved", category)))
		} else if allowed.Tags != nil {
			allErrs = append(allErrs, validateOneOf(tag, allowed.Tags, idxPath)...)
		}
		allErrs = append(allErrs, seen.add(tag, idxPath)...)
	}
	return allErrs
}

func validateExtraConfig(extraConfig map[string]string, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for _, key := range sortedKeys(extraConfig) {
		if problem := extraconfig.Problem(key); problem != "" {
			allErrs = append(allErrs, field.Forbidden(fldPath.Key(key), problem))
		}
	}
	return allErrs
}

// ValidateAllowed checks that what a Shoot names at vSphere sites is among what the CloudProfile allows. fldPath is the path of the
// InfrastructureConfig.
func ValidateAllowed(config *v1alpha1.InfrastructureConfig, profile *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	var allErrs field.ErrorList
	for i, s := range config.Sites {
		site := helper.FindSite(profile, s.Name)
		if s.VSphere == nil || s.VSphere.Network == "" || site == nil || site.VSphere == nil || site.VSphere.Allowed == nil ||
			site.VSphere.Allowed.Networks == nil {
			continue
		}
		allErrs = append(allErrs,
			validateOneOf(s.VSphere.Network, site.VSphere.Allowed.Networks, fldPath.Child("sites").Index(i).Child("vsphere", "network"))...)
	}
	return allErrs
}

// validateVSphereTemplates checks that templates of a NamespacedCloudProfile lie where those of the operator do. What it had before is kept.
func validateVSphereTemplates(config, oldConfig, parent *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	var (
		allErrs field.ErrorList
		known   = map[string]bool{}
		visit   = func(config *v1alpha1.CloudProfileConfig, do func(site, template string, fldPath *field.Path)) {
			forEachImage(config, fldPath, func(image *v1alpha1.SiteMachineImage, imagePath *field.Path) {
				if image.VSphere == nil {
					return
				}
				vspherePath := imagePath.Child("vsphere")
				do(image.Name, image.VSphere.Template, vspherePath.Child("template"))
				for i, zone := range image.VSphere.Zones {
					do(image.Name, zone.Template, vspherePath.Child("zones").Index(i).Child("template"))
				}
			})
		}
	)
	if oldConfig != nil {
		visit(oldConfig, func(site, template string, _ *field.Path) { known[site+" "+template] = true })
	}
	visit(config, func(name, template string, templatePath *field.Path) {
		site := helper.FindSite(parent, name)
		if template == "" || known[name+" "+template] || site == nil || site.VSphere == nil {
			return
		}
		folder := strings.TrimSuffix(site.VSphere.TemplateFolder, "/")
		switch {
		case strings.HasPrefix(template, "/") || slices.Contains(strings.Split(template, "/"), ".."):
			allErrs = append(allErrs,
				field.Forbidden(templatePath, "must be a path below the VM folder of the zone's datacenter in a NamespacedCloudProfile"))
		case folder != "" && !strings.HasPrefix(template, folder+"/"):
			allErrs = append(allErrs,
				field.Invalid(templatePath, template,
					fmt.Sprintf("must begin with %q, where the site has the templates of NamespacedCloudProfiles", folder+"/")))
		}
	})
	return allErrs
}
