// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validatePool checks the reference of the address pool that a shoot uses. An empty list allows any pool.
func validatePool(ref *corev1.TypedLocalObjectReference, allowed []corev1.TypedLocalObjectReference, fldPath *field.Path) field.ErrorList {
	allErrs := validatePoolRef(ref, fldPath)
	if len(allowed) > 0 && !slices.ContainsFunc(allowed, func(other corev1.TypedLocalObjectReference) bool {
		return equality.Semantic.DeepEqual(other, *ref)
	}) {
		allErrs = append(allErrs, field.Forbidden(fldPath, "must be one of addressPools of the site in the CloudProfile"))
	}
	return allErrs
}

// validatePoolRefs checks the references of the address pools that shoots may use.
func validatePoolRefs(refs []corev1.TypedLocalObjectReference, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for i := range refs {
		allErrs = append(allErrs, validatePoolRef(&refs[i], fldPath.Index(i))...)
	}
	return allErrs
}

// validatePoolRef checks the reference of an address pool.
func validatePoolRef(ref *corev1.TypedLocalObjectReference, fldPath *field.Path) field.ErrorList {
	allErrs := validateRequired(ref.Kind, fldPath.Child("kind"))
	allErrs = append(allErrs, validateAPIGroup(ref.APIGroup, fldPath.Child("apiGroup"))...)
	if ref.Name == "" {
		return append(allErrs, validateRequired(ref.Name, fldPath.Child("name"))...)
	}
	return append(allErrs, validateFormat(ref.Name, validation.IsDNS1123Subdomain, fldPath.Child("name"))...)
}

func validateAPIGroup(group *string, fldPath *field.Path) field.ErrorList {
	if group == nil || *group == "" {
		return field.ErrorList{field.Required(fldPath, "must be the API group of the pool, such as ipam.cluster.x-k8s.io")}
	}
	return validateFormat(*group, validation.IsDNS1123Subdomain, fldPath)
}
