// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ValidateBastion validates the configuration of a Shoot's bastions with the infrastructure. A site that the profile does not have is not
// compared with it. fldPath is the path of the configuration.
func ValidateBastion(config *v1alpha1.BastionConfig, infrastructure *v1alpha1.InfrastructureConfig, profile *v1alpha1.CloudProfileConfig,
	fldPath *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	var (
		allErrs  field.ErrorList
		sitePath = fldPath.Child("site")
	)
	if config.Image != nil {
		allErrs = append(allErrs, validateRequired(config.Image.Name, fldPath.Child("image", "name"))...)
	}
	if config.Site == "" {
		if config.MachineType != "" || config.Image != nil {
			allErrs = append(allErrs, field.Required(sitePath, "must be set with machineType or image"))
		}
		return allErrs
	}
	sites := lists.Map(infrastructure.Sites, func(s v1alpha1.InfrastructureSite) string { return s.Name })
	allErrs = append(allErrs, validateOneOf(config.Site, sites, sitePath)...)

	site := helper.FindSite(profile, config.Site)
	if site == nil {
		return allErrs
	}
	if platform, ok := site.Platform(); ok {
		if reason := rulesOf(platform).noBastions(); reason != "" {
			allErrs = append(allErrs, field.Forbidden(sitePath, reason))
		}
	}
	if name := config.MachineType; name != "" && helper.FindMachineType(profile, name, site.Name) == nil {
		allErrs = append(allErrs, field.Invalid(fldPath.Child("machineType"), name, "the site does not have it in the CloudProfile"))
	}
	if image := config.Image; image != nil && image.Name != "" && !hasImage(profile, *image, site.Name) {
		allErrs = append(allErrs, field.Invalid(fldPath.Child("image"), *image, "the site does not have it in the CloudProfile"))
	}
	return allErrs
}

// hasImage reports whether the site has the image, in any version if it names none.
func hasImage(profile *v1alpha1.CloudProfileConfig, image v1alpha1.BastionImage, site string) bool {
	return slices.ContainsFunc(profile.MachineImages, func(i v1alpha1.MachineImage) bool {
		return i.Name == image.Name && slices.ContainsFunc(i.Versions, func(v v1alpha1.MachineImageVersion) bool {
			return (image.Version == "" || v.Version == image.Version) && len(helper.FlavorsOn(v, site)) > 0
		})
	})
}
