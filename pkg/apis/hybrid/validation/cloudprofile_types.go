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

func validateMachineTypes(machineTypes []v1alpha1.MachineType, spec *gardencorev1beta1.CloudProfileSpec,
	platforms map[string]v1alpha1.Platform, fldPath *field.Path) field.ErrorList {
	var (
		allErrs  field.ErrorList
		seen     = names{}
		expected []string
	)
	for _, machineType := range spec.MachineTypes {
		expected = append(expected, machineType.Name)
	}
	for i := range machineTypes {
		machineType, idxPath := &machineTypes[i], fldPath.Index(i)
		allErrs = append(allErrs, validateOneOf(machineType.Name, expected, idxPath.Child("name"))...)
		allErrs = append(allErrs, seen.add(machineType.Name, idxPath.Child("name"))...)

		sites := newSiteList(platforms, len(machineType.Sites), idxPath.Child("sites"))
		for j := range machineType.Sites {
			site, sitePath := &machineType.Sites[j], idxPath.Child("sites").Index(j)
			sites.add(site.Name, site.Platforms(), sitePath)
			allErrs = append(allErrs, validateResources(site.Capacity, sitePath.Child("capacity"))...)
			if site.OpenStack != nil {
				allErrs = append(allErrs, validateRequired(site.OpenStack.Flavor, sitePath.Child("openstack", "flavor"))...)
			}
			if site.VSphere != nil {
				allErrs = append(allErrs, validateExtraConfig(site.VSphere.ExtraConfig, sitePath.Child("vsphere", "extraConfig"))...)
			}
		}
		allErrs = append(allErrs, sites.errs...)
	}
	return append(allErrs, validateComplete("machine type", expected, seen, fldPath)...)
}

func validateVolumeTypes(volumeTypes []v1alpha1.VolumeType, spec *gardencorev1beta1.CloudProfileSpec,
	platforms map[string]v1alpha1.Platform, fldPath *field.Path) field.ErrorList {
	var (
		allErrs  field.ErrorList
		seen     = names{}
		expected []string
	)
	for _, volumeType := range spec.VolumeTypes {
		expected = append(expected, volumeType.Name)
	}
	for i := range volumeTypes {
		volumeType, idxPath := &volumeTypes[i], fldPath.Index(i)
		allErrs = append(allErrs, validateOneOf(volumeType.Name, expected, idxPath.Child("name"))...)
		allErrs = append(allErrs, seen.add(volumeType.Name, idxPath.Child("name"))...)

		sites := newSiteList(platforms, len(volumeType.Sites), idxPath.Child("sites"))
		for j := range volumeType.Sites {
			site, sitePath := &volumeType.Sites[j], idxPath.Child("sites").Index(j)
			if platforms[site.Name] == v1alpha1.PlatformMetal {
				allErrs = append(allErrs, field.Forbidden(sitePath, noVolumes(site.Name)))
				continue
			}
			sites.add(site.Name, site.Platforms(), sitePath)
			if site.OpenStack != nil {
				allErrs = append(allErrs, validateRequired(site.OpenStack.Type, sitePath.Child("openstack", "type"))...)
			}
			if site.VSphere != nil {
				allErrs = append(allErrs, validateRequired(site.VSphere.StoragePolicy, sitePath.Child("vsphere", "storagePolicy"))...)
			}
		}
		allErrs = append(allErrs, sites.errs...)
	}
	return append(allErrs, validateComplete("volume type", expected, seen, fldPath)...)
}

// validateComplete checks that everything the CloudProfile offers is somewhere.
func validateComplete(what string, expected []string, seen names, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for _, name := range expected {
		if !seen[name] {
			allErrs = append(allErrs, field.Required(fldPath, fmt.Sprintf("must say on which sites %s %q is", what, name)))
		}
	}
	return allErrs
}

// siteList checks the names and platforms of a list whose entries belong to sites.
type siteList struct {
	platforms map[string]v1alpha1.Platform
	seen      names
	errs      field.ErrorList
}

func newSiteList(platforms map[string]v1alpha1.Platform, length int, fldPath *field.Path) *siteList {
	list := &siteList{platforms: platforms, seen: names{}}
	if length == 0 {
		list.errs = append(list.errs, field.Required(fldPath, "must have at least one site"))
	}
	return list
}

func (l *siteList) add(site string, blocks []v1alpha1.Platform, fldPath *field.Path) {
	l.errs = append(l.errs, validateOneOf(site, sortedKeys(l.platforms), fldPath.Child("name"))...)
	l.errs = append(l.errs, l.seen.add(site, fldPath.Child("name"))...)
	l.errs = append(l.errs, validateBlocks(blocks, site, l.platforms[site], true, fldPath)...)
}
