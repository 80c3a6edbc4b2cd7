// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// maxNamedShoots is the maximum number of Shoots in a message.
const maxNamedShoots = 5

// ProfileUse is the part of a CloudProfile that a Shoot uses.
type ProfileUse struct {
	// Shoot is the namespace and name of the Shoot.
	Shoot string
	// Region is the region of the Shoot.
	Region string
	// Sites are the names of its sites.
	Sites []string
	// Zones are the names of the zones of its pools.
	Zones []string
	// Networks returns its address ranges. It may be nil.
	Networks func() []ShootNetwork
}

// ValidateCloudProfileConfigUpdate checks that the update removes no site that a Shoot uses, and no zone from a site that a Shoot has
// machines in. fldPath is the path of the configuration.
func ValidateCloudProfileConfigUpdate(newConfig, oldConfig *v1alpha1.CloudProfileConfig, uses []ProfileUse,
	fldPath *field.Path) field.ErrorList {
	if newConfig == nil || oldConfig == nil {
		return nil
	}
	var (
		allErrs   field.ErrorList
		sitesPath = fldPath.Child("sites")
	)
	for i := range oldConfig.Sites {
		before := &oldConfig.Sites[i]
		if shoots := shootsOn(uses, before.Name); len(shoots) > 0 {
			allErrs = append(allErrs, validateSiteInUse(before, newConfig, shoots, sitesPath)...)
		}
		for _, zone := range before.Zones {
			after, _ := helper.FindZone(newConfig, before.Region, zone.Name)
			if after != nil && after.Name == before.Name || helper.FindSite(newConfig, before.Name) == nil {
				continue
			}
			if shoots := shootsIn(uses, before.Region, zone.Name); len(shoots) > 0 {
				allErrs = append(allErrs,
					field.Forbidden(sitesPath,
						fmt.Sprintf("zone %q must stay a zone of site %q, pools of Shoots are in it: %s", zone.Name, before.Name, someOf(shoots))))
			}
		}
	}
	return allErrs
}

// ValidateEncryption checks that no site receives credentials in the clear, unless the operator disabled the verification of its
// certificate. oldConfig may be nil; a site that is as insecure in it stays allowed. fldPath is the path of the configuration.
func ValidateEncryption(newConfig, oldConfig *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	if newConfig == nil {
		return nil
	}
	var allErrs field.ErrorList
	for i := range newConfig.Sites {
		site := &newConfig.Sites[i]
		allErrs = append(allErrs, validateFor(v1alpha1.PlatformsOf(site), func(r rules) field.ErrorList {
			return r.encryption(site, helper.FindSite(oldConfig, site.Name), fldPath.Child("sites").Index(i))
		})...)
	}
	return allErrs
}

func validateSiteInUse(before *v1alpha1.CloudProfileSite, newConfig *v1alpha1.CloudProfileConfig, shoots []string,
	sitesPath *field.Path) field.ErrorList {
	index := slices.IndexFunc(newConfig.Sites, func(s v1alpha1.CloudProfileSite) bool { return s.Name == before.Name })
	if index < 0 {
		return field.ErrorList{field.Forbidden(sitesPath, fmt.Sprintf("site %q must stay, Shoots use it: %s", before.Name, someOf(shoots)))}
	}
	var (
		allErrs  field.ErrorList
		after    = &newConfig.Sites[index]
		sitePath = sitesPath.Index(index)
	)
	oldPlatform, known := before.Platform()
	if newPlatform, ok := after.Platform(); known && ok && newPlatform != oldPlatform {
		allErrs = append(allErrs,
			field.Forbidden(sitePath.Child(string(newPlatform)),
				fmt.Sprintf("site %q must stay of platform %q, Shoots use it: %s", before.Name, oldPlatform, someOf(shoots))))
	}
	if after.Region != before.Region {
		allErrs = append(allErrs,
			field.Forbidden(sitePath.Child("region"),
				fmt.Sprintf("site %q must stay in region %q, Shoots use it: %s", before.Name, before.Region, someOf(shoots))))
	}
	return append(allErrs, validateSamePlace(before, after, shoots, sitePath)...)
}

// validateSamePlace checks that the scope of a site stays: objects of Shoots that are not found count as deleted. An address may change;
// that the same site answers is checked when the site is used.
func validateSamePlace(before, after *v1alpha1.CloudProfileSite, shoots []string, sitePath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	scope := after.Scope()
	for _, name := range slices.Sorted(maps.Keys(before.Scope())) {
		was := before.Scope()[name]
		if is, ok := scope[name]; ok && is != was {
			platform, fieldName, _ := strings.Cut(name, ".")
			allErrs = append(allErrs, field.Forbidden(sitePath.Child(platform, fieldName),
				fmt.Sprintf("must stay %q, because Shoots have objects of the site there: %s; add another site and move their pools to it", was,
					someOf(shoots))))
		}
	}
	return allErrs
}

func shootsOn(uses []ProfileUse, site string) []string {
	return shootsWith(uses, func(use ProfileUse) bool { return slices.Contains(use.Sites, site) })
}

func shootsIn(uses []ProfileUse, region, zone string) []string {
	return shootsWith(uses, func(use ProfileUse) bool { return use.Region == region && slices.Contains(use.Zones, zone) })
}

func shootsWith(uses []ProfileUse, matches func(ProfileUse) bool) []string {
	var shoots []string
	for _, use := range uses {
		if matches(use) {
			shoots = append(shoots, use.Shoot)
		}
	}
	slices.Sort(shoots)
	return shoots
}

// someOf returns the first names and the number of the others.
func someOf(names []string) string {
	if len(names) <= maxNamedShoots {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:maxNamedShoots], ", "), len(names)-maxNamedShoots)
}
