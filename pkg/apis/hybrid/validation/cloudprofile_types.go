// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

func validateMachineTypes(config *v1alpha1.CloudProfileConfig, spec *gardencorev1beta1.CloudProfileSpec,
	fldPath *field.Path) field.ErrorList {
	var (
		allErrs  field.ErrorList
		seen     = names{}
		expected = lists.Map(spec.MachineTypes, func(t gardencorev1beta1.MachineType) string { return t.Name })
	)
	for i := range config.MachineTypes {
		machineType, idxPath := &config.MachineTypes[i], fldPath.Index(i)
		allErrs = append(allErrs, seen.addOneOf(machineType.Name, expected, idxPath.Child("name"))...)

		sites := newSiteList(config, len(machineType.Sites), idxPath.Child("sites"))
		for j := range machineType.Sites {
			site, sitePath := &machineType.Sites[j], idxPath.Child("sites").Index(j)
			sites.add(site.Name, v1alpha1.PlatformsOf(site), sitePath)
			allErrs = append(allErrs, validateResources(site.Capacity, sitePath.Child("capacity"))...)
			allErrs = append(allErrs, validateFor(v1alpha1.PlatformsOf(site), func(r rules) field.ErrorList {
				return r.machineType(site, helper.FindSite(config, site.Name), sitePath)
			})...)
		}
		allErrs = append(allErrs, sites.errs...)
	}
	return append(allErrs, validateComplete("machine type", expected, seen, fldPath)...)
}

func validateVolumeTypes(config *v1alpha1.CloudProfileConfig, spec *gardencorev1beta1.CloudProfileSpec,
	fldPath *field.Path) field.ErrorList {
	var (
		allErrs  field.ErrorList
		seen     = names{}
		expected = lists.Map(spec.VolumeTypes, func(t gardencorev1beta1.VolumeType) string { return t.Name })
	)
	for i := range config.VolumeTypes {
		volumeType, idxPath := &config.VolumeTypes[i], fldPath.Index(i)
		allErrs = append(allErrs, seen.addOneOf(volumeType.Name, expected, idxPath.Child("name"))...)

		sites := newSiteList(config, len(volumeType.Sites), idxPath.Child("sites"))
		for j := range volumeType.Sites {
			site, sitePath := &volumeType.Sites[j], idxPath.Child("sites").Index(j)
			if reason := NoVolumes(helper.FindSite(config, site.Name)); reason != "" {
				allErrs = append(allErrs, field.Forbidden(sitePath, reason))
				continue
			}
			sites.add(site.Name, v1alpha1.PlatformsOf(site), sitePath)
			allErrs = append(allErrs, validateFor(v1alpha1.PlatformsOf(site), func(r rules) field.ErrorList {
				return r.volumeType(site, sitePath)
			})...)
		}
		allErrs = append(allErrs, sites.errs...)
	}
	return append(allErrs, validateComplete("volume type", expected, seen, fldPath)...)
}

// NoVolumes returns why the site has no volumes, empty if it has or is not known.
func NoVolumes(site *v1alpha1.CloudProfileSite) string {
	if site == nil {
		return ""
	}
	platform, _ := site.Platform()
	if reason := rulesOf(platform).noVolumes(); reason != "" {
		return fmt.Sprintf("site %q %s", site.Name, reason)
	}
	return ""
}

// validateComplete checks that everything that the CloudProfile offers is available at a site.
func validateComplete(what string, expected []string, seen names, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for _, name := range expected {
		if !seen[name] {
			allErrs = append(allErrs, field.Required(fldPath, fmt.Sprintf("must map %s %q to at least one site", what, name)))
		}
	}
	return allErrs
}

// siteList checks the names and platforms of a list whose entries belong to sites.
type siteList struct {
	// platforms are those of the sites, empty for a site without exactly one.
	platforms map[string]v1alpha1.Platform
	seen      names
	errs      field.ErrorList
}

func newSiteList(config *v1alpha1.CloudProfileConfig, length int, fldPath *field.Path) *siteList {
	list := &siteList{platforms: map[string]v1alpha1.Platform{}, seen: names{}}
	for i := range config.Sites {
		list.platforms[config.Sites[i].Name], _ = config.Sites[i].Platform()
	}
	if length == 0 {
		list.errs = append(list.errs, field.Required(fldPath, "must have at least one site"))
	}
	return list
}

func (l *siteList) add(site string, blocks []v1alpha1.Platform, fldPath *field.Path) {
	l.errs = append(l.errs, l.seen.addOneOf(site, slices.Sorted(maps.Keys(l.platforms)), fldPath.Child("name"))...)
	l.errs = append(l.errs, validateBlocks(blocks, site, l.platforms[site], true, fldPath)...)
}
