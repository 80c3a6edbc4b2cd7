// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// sidecarParameters is the prefix of the parameters of the CSI sidecars.
const sidecarParameters = "csi.storage.k8s.io/"

var (
	reclaimPolicies = []corev1.PersistentVolumeReclaimPolicy{corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain}
	// reservedKeys are parts of the keys of labels and annotations that the extension and Gardener write.
	reservedKeys = []string{"gardener.cloud/", "storageclass.kubernetes.io/"}
)

func validateStorageClasses(site *v1alpha1.CloudProfileSite, seen names, fldPath *field.Path) field.ErrorList {
	var (
		allErrs     field.ErrorList
		platform, _ = site.Platform()
		hasDefault  bool
	)
	for i := range site.StorageClasses {
		class, idxPath := &site.StorageClasses[i], fldPath.Index(i)
		allErrs = append(allErrs, validateFormat(class.Name, validation.IsDNS1123Subdomain, idxPath.Child("name"))...)
		allErrs = append(allErrs, seen.add(class.Name, idxPath.Child("name"))...)
		if class.Default && hasDefault {
			allErrs = append(allErrs, field.Invalid(idxPath.Child("default"), class.Default, "must be set for one class of the site only"))
		}
		hasDefault = hasDefault || class.Default
		if class.ReclaimPolicy != "" {
			allErrs = append(allErrs, validateOneOf(class.ReclaimPolicy, reclaimPolicies, idxPath.Child("reclaimPolicy"))...)
		}
		allErrs = append(allErrs, metav1validation.ValidateLabels(class.Labels, idxPath.Child("labels"))...)
		allErrs = append(allErrs, apivalidation.ValidateAnnotations(class.Annotations, idxPath.Child("annotations"))...)
		allErrs = append(allErrs, validateNotReserved(class.Labels, idxPath.Child("labels"))...)
		allErrs = append(allErrs, validateNotReserved(class.Annotations, idxPath.Child("annotations"))...)
		allErrs = append(allErrs, validateBlocks(v1alpha1.PlatformsOf(class), site.Name, platform, true, idxPath)...)
		allErrs = append(allErrs, validateFor(v1alpha1.PlatformsOf(class), func(r rules) field.ErrorList {
			return r.storageClass(class, idxPath)
		})...)
	}
	return allErrs
}

func validateNotReserved(values map[string]string, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if slices.ContainsFunc(reservedKeys, func(reserved string) bool { return strings.Contains(key, reserved) }) {
			allErrs = append(allErrs, field.Forbidden(fldPath.Key(key), "is reserved"))
		}
	}
	return allErrs
}

// validateParameters refuses parameters of a provisioner that fields of the class determine, and those that tell the CSI sidecars whose
// Secrets they use. fields maps names of parameters to fields; a provisioner may ignore case.
func validateParameters(parameters, fields map[string]string, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		name := strings.ToLower(key)
		switch reason, determined := fields[name]; {
		case key == "":
			allErrs = append(allErrs, field.Required(fldPath.Key(key), "the name of a parameter"))
		case determined:
			allErrs = append(allErrs, field.Forbidden(fldPath.Key(key), reason+" determines it"))
		case strings.HasPrefix(name, sidecarParameters) && name != sidecarParameters+"fstype":
			allErrs = append(allErrs, field.Forbidden(fldPath.Key(key), "of the parameters of CSI, only "+sidecarParameters+"fstype is supported"))
		}
	}
	return allErrs
}
