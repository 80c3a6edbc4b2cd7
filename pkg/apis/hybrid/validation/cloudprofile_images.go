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
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var userDataFormats = []v1alpha1.UserDataFormat{v1alpha1.UserDataFormatCloudInit, v1alpha1.UserDataFormatIgnition,
	v1alpha1.UserDataFormatScript}

func validateMachineImages(config *v1alpha1.CloudProfileConfig, spec *gardencorev1beta1.CloudProfileSpec,
	fldPath *field.Path) field.ErrorList {
	var (
		allErrs  field.ErrorList
		seen     = names{}
		expected = map[string]gardencorev1beta1.MachineImage{}
	)
	for _, image := range spec.MachineImages {
		expected[image.Name] = image
	}
	for i := range config.MachineImages {
		image, idxPath := &config.MachineImages[i], fldPath.Index(i)
		allErrs = append(allErrs, seen.addOneOf(image.Name, slices.Sorted(maps.Keys(expected)), idxPath.Child("name"))...)
		allErrs = append(allErrs,
			validateMachineImageVersions(image, expected[image.Name], spec.MachineCapabilities, config, idxPath.Child("versions"))...)
	}
	return append(allErrs, validateComplete("machine image", slices.Sorted(maps.Keys(expected)), seen, fldPath)...)
}

func validateMachineImageVersions(image *v1alpha1.MachineImage, core gardencorev1beta1.MachineImage,
	definitions []gardencorev1beta1.CapabilityDefinition, config *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	var (
		allErrs  field.ErrorList
		seen     = names{}
		expected []string
		flavors  = map[string][]gardencorev1beta1.MachineImageFlavor{}
	)
	for _, version := range core.Versions {
		expected = append(expected, version.Version)
		flavors[version.Version] = version.CapabilityFlavors
	}
	for i := range image.Versions {
		version, idxPath := &image.Versions[i], fldPath.Index(i)
		allErrs = append(allErrs, seen.addOneOf(version.Version, expected, idxPath.Child("version"))...)
		allErrs = append(allErrs,
			validateMachineImageFlavors(version, flavors[version.Version], definitions, config, idxPath.Child("capabilityFlavors"))...)
	}
	return append(allErrs, validateComplete(fmt.Sprintf("version of machine image %q", image.Name), expected, seen, fldPath)...)
}

func validateMachineImageFlavors(version *v1alpha1.MachineImageVersion, core []gardencorev1beta1.MachineImageFlavor,
	definitions []gardencorev1beta1.CapabilityDefinition, config *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	if len(version.CapabilityFlavors) == 0 {
		return field.ErrorList{field.Required(fldPath, "must have at least one variant")}
	}

	var (
		allErrs field.ErrorList
		seen    []gardencorev1beta1.Capabilities
	)
	for i := range version.CapabilityFlavors {
		flavor, idxPath := &version.CapabilityFlavors[i], fldPath.Index(i)
		allErrs = append(allErrs, validateCapabilities(flavor.Capabilities, definitions, idxPath.Child("capabilities"))...)
		capabilities := withDefaults(flavor.Capabilities, definitions)
		if containsCapabilities(seen, capabilities) {
			allErrs = append(allErrs, field.Duplicate(idxPath.Child("capabilities"), flavor.Capabilities))
		}
		seen = append(seen, capabilities)

		sites := newSiteList(config, len(flavor.Sites), idxPath.Child("sites"))
		for j := range flavor.Sites {
			sitePath := idxPath.Child("sites").Index(j)
			sites.add(flavor.Sites[j].Name, v1alpha1.PlatformsOf(&flavor.Sites[j]), sitePath)
			allErrs = append(allErrs, validateSiteMachineImage(&flavor.Sites[j], helper.FindSite(config, flavor.Sites[j].Name), sitePath)...)
		}
		allErrs = append(allErrs, sites.errs...)
	}

	for _, flavor := range core {
		if !containsCapabilities(seen, gardencorev1beta1.GetCapabilitiesWithAppliedDefaults(flavor.Capabilities, definitions)) {
			allErrs = append(allErrs,
				field.Required(fldPath, fmt.Sprintf("must have a variant with capabilities %v, because the CloudProfile has one", flavor.Capabilities)))
		}
	}
	return allErrs
}

func validateCapabilities(capabilities map[string][]string, definitions []gardencorev1beta1.CapabilityDefinition,
	fldPath *field.Path) field.ErrorList {
	var (
		allErrs field.ErrorList
		allowed = map[string][]string{}
	)
	for _, definition := range definitions {
		allowed[definition.Name] = definition.Values
	}
	for _, name := range slices.Sorted(maps.Keys(capabilities)) {
		keyPath := fldPath.Key(name)
		if _, ok := allowed[name]; !ok {
			allErrs = append(allErrs, field.NotSupported(keyPath, name, slices.Sorted(maps.Keys(allowed))))
			continue
		}
		if len(capabilities[name]) == 0 {
			allErrs = append(allErrs, field.Required(keyPath, fmt.Sprintf("must have values of %q", allowed[name])))
		}
		for i, value := range capabilities[name] {
			allErrs = append(allErrs, validateOneOf(value, allowed[name], keyPath.Index(i))...)
		}
	}
	return allErrs
}

func validateSiteMachineImage(image *v1alpha1.SiteMachineImage, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	if image.UserData != nil {
		allErrs = append(allErrs, validateOneOf(image.UserData.Format, userDataFormats, fldPath.Child("userData", "format"))...)
	}
	return append(allErrs, validateFor(v1alpha1.PlatformsOf(image), func(r rules) field.ErrorList { return r.image(image, site, fldPath) })...)
}

func withDefaults(capabilities map[string][]string, definitions []gardencorev1beta1.CapabilityDefinition) gardencorev1beta1.Capabilities {
	return gardencorev1beta1.GetCapabilitiesWithAppliedDefaults(toCapabilities(capabilities), definitions)
}

func toCapabilities(capabilities map[string][]string) gardencorev1beta1.Capabilities {
	result := make(gardencorev1beta1.Capabilities, len(capabilities))
	for name, values := range capabilities {
		result[name] = values
	}
	return result
}

func containsCapabilities(list []gardencorev1beta1.Capabilities, wanted gardencorev1beta1.Capabilities) bool {
	return slices.ContainsFunc(list, func(capabilities gardencorev1beta1.Capabilities) bool {
		return maps.EqualFunc(capabilities, wanted, func(a, b gardencorev1beta1.CapabilityValues) bool {
			a, b = slices.Clone(a), slices.Clone(b)
			slices.Sort(a)
			slices.Sort(b)
			return slices.Equal(a, b)
		})
	})
}
