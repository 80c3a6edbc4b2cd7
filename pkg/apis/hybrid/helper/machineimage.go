// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"maps"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// MachineImageRequest names a machine image and the machines that it is for.
type MachineImageRequest struct {
	// Name is the name of the image in the CloudProfile.
	Name string
	// Version is the version in the CloudProfile.
	Version string
	// Site is the name of the site.
	Site string
	// Capabilities are those of the machine type.
	Capabilities gardencorev1beta1.Capabilities
	// Definitions are the CloudProfile's capabilities, the most important first, and their values, the preferred first.
	Definitions []gardencorev1beta1.CapabilityDefinition
}

// MachineImage is a machine image on a site.
type MachineImage struct {
	// Capabilities are those of the image's variant, without defaults.
	Capabilities map[string][]string
	// Site is the image on the site.
	Site *v1alpha1.SiteMachineImage
}

// FindMachineImage returns the variant of the image that fits the request best, from the first of the sources that has one
// on the site.
func FindMachineImage(request MachineImageRequest, sources ...[]v1alpha1.MachineImage) *MachineImage {
	for _, images := range sources {
		if candidates := candidates(request, images); len(candidates) > 0 {
			return best(candidates, request.Definitions)
		}
	}
	return nil
}

// AddMachineImage adds the image to images, which it does not change, and returns the result. It replaces an entry for the
// same name, version, capabilities and site.
func AddMachineImage(images []v1alpha1.MachineImage, name, version string, image MachineImage) []v1alpha1.MachineImage {
	result := make([]v1alpha1.MachineImage, 0, len(images)+1)
	for i := range images {
		result = append(result, *images[i].DeepCopy())
	}
	entry := findOrAppend(&result, func(i v1alpha1.MachineImage) bool { return i.Name == name },
		v1alpha1.MachineImage{Name: name})
	entryVersion := findOrAppend(&entry.Versions, func(v v1alpha1.MachineImageVersion) bool { return v.Version == version },
		v1alpha1.MachineImageVersion{Version: version})
	flavor := findOrAppend(&entryVersion.CapabilityFlavors, func(f v1alpha1.MachineImageFlavor) bool {
		return maps.EqualFunc(f.Capabilities, image.Capabilities, slices.Equal[[]string])
	}, *(&v1alpha1.MachineImageFlavor{Capabilities: image.Capabilities}).DeepCopy())
	*findOrAppend(&flavor.Sites, func(s v1alpha1.SiteMachineImage) bool { return s.Name == image.Site.Name },
		v1alpha1.SiteMachineImage{}) = *image.Site.DeepCopy()
	return result
}

// CapabilitiesFit reports whether an image with the capabilities runs on a machine with the capabilities: each capability
// has a value that both have. What is not said has all values of its definition.
func CapabilitiesFit(image map[string][]string, machine gardencorev1beta1.Capabilities,
	definitions []gardencorev1beta1.CapabilityDefinition) bool {
	for name, wanted := range machine {
		offered, ok := image[name]
		if !ok {
			index := slices.IndexFunc(definitions, func(d gardencorev1beta1.CapabilityDefinition) bool { return d.Name == name })
			if index < 0 {
				continue
			}
			offered = definitions[index].Values
		}
		if !slices.ContainsFunc(offered, func(value string) bool { return slices.Contains(wanted, value) }) {
			return false
		}
	}
	return true
}

// FlavorsOn returns the variants of the version that the site has.
func FlavorsOn(version v1alpha1.MachineImageVersion, site string) []v1alpha1.MachineImageFlavor {
	var result []v1alpha1.MachineImageFlavor
	for _, flavor := range version.CapabilityFlavors {
		if slices.ContainsFunc(flavor.Sites, func(s v1alpha1.SiteMachineImage) bool { return s.Name == site }) {
			result = append(result, flavor)
		}
	}
	return result
}

func candidates(request MachineImageRequest, images []v1alpha1.MachineImage) []MachineImage {
	var result []MachineImage
	for _, image := range images {
		if image.Name != request.Name {
			continue
		}
		for _, version := range image.Versions {
			if version.Version != request.Version {
				continue
			}
			for _, flavor := range version.CapabilityFlavors {
				if !CapabilitiesFit(flavor.Capabilities, request.Capabilities, request.Definitions) {
					continue
				}
				for i := range flavor.Sites {
					if flavor.Sites[i].Name == request.Site {
						result = append(result, MachineImage{Capabilities: flavor.Capabilities, Site: &flavor.Sites[i]})
					}
				}
			}
		}
	}
	return result
}

// best narrows the candidates down by the definitions' order and takes the first that is left.
func best(candidates []MachineImage, definitions []gardencorev1beta1.CapabilityDefinition) *MachineImage {
	for _, definition := range definitions {
		for _, value := range definition.Values {
			var preferred []MachineImage
			for _, candidate := range candidates {
				values, ok := candidate.Capabilities[definition.Name]
				if !ok || slices.Contains(values, value) {
					preferred = append(preferred, candidate)
				}
			}
			if len(preferred) > 0 {
				candidates = preferred
			}
		}
	}
	return &candidates[0]
}

func findOrAppend[T any](list *[]T, matches func(T) bool, item T) *T {
	index := slices.IndexFunc(*list, matches)
	if index < 0 {
		*list = append(*list, item)
		index = len(*list) - 1
	}
	return &(*list)[index]
}
