// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// NamespacedProfile is a NamespacedCloudProfile and its parent.
type NamespacedProfile struct {
	// Config is the configuration of the NamespacedCloudProfile.
	Config *v1alpha1.CloudProfileConfig
	// OldConfig is Config before an update, nil if there is none.
	OldConfig *v1alpha1.CloudProfileConfig
	// Spec is the specification of the NamespacedCloudProfile, in the format of the parent.
	Spec *gardencorev1beta1.NamespacedCloudProfileSpec
	// ParentConfig is the configuration of the parent.
	ParentConfig *v1alpha1.CloudProfileConfig
	// ParentSpec is the specification of the parent.
	ParentSpec *gardencorev1beta1.CloudProfileSpec
}

// ValidateNamespacedCloudProfileConfig validates the configuration of a NamespacedCloudProfile: it maps the machine types, volume
// types and images that the NamespacedCloudProfile adds to the parent's sites. fldPath is the path of the
// configuration.
func ValidateNamespacedCloudProfileConfig(profile NamespacedProfile, fldPath *field.Path) field.ErrorList {
	if profile.Config == nil || profile.Spec == nil || profile.ParentConfig == nil || profile.ParentSpec == nil {
		return field.ErrorList{field.Required(fldPath, "must be a CloudProfileConfig whose parent has one")}
	}
	var (
		allErrs   = validateNothingTwice(profile, fldPath)
		sitesPath = fldPath.Child("sites")
		own       = &v1alpha1.CloudProfileConfig{
			Sites:         profile.ParentConfig.Sites,
			MachineTypes:  profile.Config.MachineTypes,
			VolumeTypes:   profile.Config.VolumeTypes,
			MachineImages: profile.Config.MachineImages,
		}
	)
	if len(profile.Config.Sites) > 0 {
		allErrs = append(allErrs, field.Forbidden(sitesPath, "must not be set: the sites are those of the parent CloudProfile"))
	}
	allErrs = append(allErrs, validateAll(func(r rules) field.ErrorList { return r.namespaced(profile, fldPath) })...)
	for _, err := range ValidateCloudProfileConfig(own, addedTo(profile), fldPath) {
		// Errors in the sites are reported for the parent.
		if err.Field != sitesPath.String() && !strings.HasPrefix(err.Field, sitesPath.String()+"[") {
			allErrs = append(allErrs, err)
		}
	}
	return allErrs
}

// addedTo returns the specification of the parent with what the NamespacedCloudProfile adds to it, including what its configuration had
// before the parent got it.
func addedTo(profile NamespacedProfile) *gardencorev1beta1.CloudProfileSpec {
	spec := &gardencorev1beta1.CloudProfileSpec{Regions: profile.ParentSpec.Regions,
		MachineCapabilities: profile.ParentSpec.MachineCapabilities}
	for _, machineType := range profile.Spec.MachineTypes {
		if !hasMachineType(profile.ParentConfig, machineType.Name) || hasMachineType(profile.Config, machineType.Name) {
			spec.MachineTypes = append(spec.MachineTypes, machineType)
		}
	}
	for _, volumeType := range profile.Spec.VolumeTypes {
		if !hasVolumeType(profile.ParentConfig, volumeType.Name) || hasVolumeType(profile.Config, volumeType.Name) {
			spec.VolumeTypes = append(spec.VolumeTypes, volumeType)
		}
	}
	for _, image := range profile.Spec.MachineImages {
		added := image
		added.Versions = nil
		for _, version := range image.Versions {
			if !hasImageVersion(profile.ParentConfig, image.Name, version.Version) || hasImageVersion(profile.Config, image.Name, version.Version) {
				added.Versions = append(added.Versions, version)
			}
		}
		if len(added.Versions) > 0 {
			spec.MachineImages = append(spec.MachineImages, added)
		}
	}
	return spec
}

// validateNothingTwice refuses entries that the parent has. An entry from before the parent's stays allowed.
func validateNothingTwice(profile NamespacedProfile, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	forbid := func(fldPath *field.Path, what string) {
		allErrs = append(allErrs, field.Forbidden(fldPath, fmt.Sprintf("%s is already defined in the parent CloudProfile", what)))
	}
	for i, machineType := range profile.Config.MachineTypes {
		if hasMachineType(profile.ParentConfig, machineType.Name) && !hasMachineType(profile.OldConfig, machineType.Name) {
			forbid(fldPath.Child("machineTypes").Index(i).Child("name"), fmt.Sprintf("machine type %q", machineType.Name))
		}
	}
	for i, volumeType := range profile.Config.VolumeTypes {
		if hasVolumeType(profile.ParentConfig, volumeType.Name) && !hasVolumeType(profile.OldConfig, volumeType.Name) {
			forbid(fldPath.Child("volumeTypes").Index(i).Child("name"), fmt.Sprintf("volume type %q", volumeType.Name))
		}
	}
	for i, image := range profile.Config.MachineImages {
		for j, version := range image.Versions {
			if hasImageVersion(profile.ParentConfig, image.Name, version.Version) &&
				!hasImageVersion(profile.OldConfig, image.Name, version.Version) {
				forbid(fldPath.Child("machineImages").Index(i).Child("versions").Index(j).Child("version"),
					fmt.Sprintf("version %q of machine image %q", version.Version, image.Name))
			}
		}
	}
	return allErrs
}

func hasMachineType(config *v1alpha1.CloudProfileConfig, name string) bool {
	return config != nil && slices.ContainsFunc(config.MachineTypes, func(t v1alpha1.MachineType) bool { return t.Name == name })
}

func hasVolumeType(config *v1alpha1.CloudProfileConfig, name string) bool {
	return config != nil && slices.ContainsFunc(config.VolumeTypes, func(t v1alpha1.VolumeType) bool { return t.Name == name })
}

func hasImageVersion(config *v1alpha1.CloudProfileConfig, name, version string) bool {
	return config != nil && slices.ContainsFunc(config.MachineImages, func(image v1alpha1.MachineImage) bool {
		return image.Name == name &&
			slices.ContainsFunc(image.Versions, func(v v1alpha1.MachineImageVersion) bool { return v.Version == version })
	})
}
