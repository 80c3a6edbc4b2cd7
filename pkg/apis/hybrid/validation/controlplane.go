// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var featureGateRegexp = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// ValidateControlPlaneConfig validates the configuration of a Shoot with the infrastructure. fldPath is the path of the
// configuration.
func ValidateControlPlaneConfig(config *v1alpha1.ControlPlaneConfig, infrastructure *v1alpha1.InfrastructureConfig, fldPath *field.Path) field.ErrorList {
	if config == nil {
		config = &v1alpha1.ControlPlaneConfig{}
	}

	var (
		allErrs field.ErrorList
		sites   []string
	)
	if infrastructure != nil {
		for _, site := range infrastructure.Sites {
			sites = append(sites, site.Name)
		}
	}
	if config.DefaultSite != "" || len(sites) > 1 {
		allErrs = append(allErrs, validateOneOf(config.DefaultSite, sites, fldPath.Child("defaultSite"))...)
	}

	if manager := config.CloudControllerManager; manager != nil {
		gatesPath := fldPath.Child("cloudControllerManager", "featureGates")
		for _, gate := range sortedKeys(manager.FeatureGates) {
			if !featureGateRegexp.MatchString(gate) {
				allErrs = append(allErrs, field.Invalid(gatesPath.Key(gate), gate, "must be the name of a feature gate"))
			}
		}
	}
	return allErrs
}
