// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ValidateExposure validates how the control plane of a self-hosted Shoot is exposed. Zones that the profile does not have are ignored.
// fldPath is the path of the workers.
func ValidateExposure(workers []gardencorev1beta1.Worker, region string, profile *v1alpha1.CloudProfileConfig,
	fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for i, worker := range workers {
		if worker.ControlPlane == nil || worker.ControlPlane.Exposure == nil || worker.ControlPlane.Exposure.Extension == nil {
			continue
		}
		extension := worker.ControlPlane.Exposure.Extension
		if ptr.Deref(extension.Type, v1alpha1.ProviderType) != v1alpha1.ProviderType {
			continue
		}
		extensionPath := fldPath.Index(i).Child("controlPlane", "exposure", "extension")
		if extension.ProviderConfig != nil {
			allErrs = append(allErrs, field.Forbidden(extensionPath.Child("providerConfig"), "is not supported"))
		}
		var names []string
		for _, zone := range worker.Zones {
			site, _ := helper.FindZone(profile, region, zone)
			if site == nil || slices.Contains(names, site.Name) {
				continue
			}
			names = append(names, site.Name)
			platform, _ := site.Platform()
			if reason := rulesOf(platform).noExposures(); reason != "" {
				allErrs = append(allErrs, field.Forbidden(extensionPath, fmt.Sprintf("site %q %s; set exposure.dns instead", site.Name, reason)))
			}
		}
		if len(names) > 1 {
			allErrs = append(allErrs, field.Forbidden(extensionPath, fmt.Sprintf("the load balancer is on one site, but the pool is on %q; "+
				"set exposure.dns instead, or use zones of one site", names)))
		}
	}
	return allErrs
}
