// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// maxEtcdVolumes is more than a Seed has zones and roles.
const maxEtcdVolumes = 100

var etcdRoles = []string{string(v1alpha1.EtcdRoleMain), string(v1alpha1.EtcdRoleEvents)}

// ValidateSeedConfig validates a SeedConfig, which may be nil, of a Seed with the zones.
func ValidateSeedConfig(config *v1alpha1.SeedConfig, zones []string, fldPath *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	var (
		allErrs     field.ErrorList
		volumesPath = fldPath.Child("etcdVolumes")
	)
	if len(config.EtcdVolumes) > maxEtcdVolumes {
		return field.ErrorList{field.TooMany(volumesPath, len(config.EtcdVolumes), maxEtcdVolumes)}
	}
	for i, volume := range config.EtcdVolumes {
		volumePath := volumesPath.Index(i)
		if volume.StorageClassName == "" && volume.Capacity == nil {
			allErrs = append(allErrs, field.Required(volumePath, "must have storageClassName or capacity"))
		}
		if volume.StorageClassName != "" {
			allErrs = append(allErrs, validateFormat(volume.StorageClassName, subdomain, volumePath.Child("storageClassName"))...)
		}
		if volume.Capacity != nil && volume.Capacity.Sign() <= 0 {
			allErrs = append(allErrs, field.Invalid(volumePath.Child("capacity"), volume.Capacity.String(), "must be greater than 0"))
		}
		seen := names{}
		for j, zone := range volume.Zones {
			allErrs = append(allErrs, seen.addOneOf(zone, zones, volumePath.Child("zones").Index(j))...)
		}
		seen = names{}
		for j, role := range volume.Roles {
			allErrs = append(allErrs, seen.addOneOf(string(role), etcdRoles, volumePath.Child("roles").Index(j))...)
		}
	}
	return allErrs
}

func subdomain(name string) []string {
	return apivalidation.NameIsDNSSubdomain(name, false)
}
