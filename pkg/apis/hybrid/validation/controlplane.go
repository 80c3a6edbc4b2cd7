// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var featureGateRegexp = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// ValidateControlPlaneConfig validates the configuration of a Shoot with the infrastructure and the networking. Sites that the
// profile does not have are not compared with it. fldPath is the path of the configuration.
func ValidateControlPlaneConfig(config *v1alpha1.ControlPlaneConfig, infrastructure *v1alpha1.InfrastructureConfig,
	profile *v1alpha1.CloudProfileConfig, networking *gardencorev1beta1.Networking, fldPath *field.Path) field.ErrorList {
	if config == nil {
		config = &v1alpha1.ControlPlaneConfig{}
	}
	if infrastructure == nil {
		infrastructure = &v1alpha1.InfrastructureConfig{}
	}

	var (
		allErrs field.ErrorList
		sites   = lists.Map(infrastructure.Sites, func(s v1alpha1.InfrastructureSite) string { return s.Name })
	)
	if config.DefaultSite != "" || len(sites) > 1 {
		allErrs = append(allErrs, validateOneOf(config.DefaultSite, sites, fldPath.Child("defaultSite"))...)
	}
	allErrs = append(allErrs, validateFeatureGates(config.CloudControllerManager, fldPath.Child("cloudControllerManager", "featureGates"))...)

	var (
		seen  = names{}
		pools = newAddressPools(infrastructure, networking)
	)
	for i := range config.Sites {
		site, idxPath := &config.Sites[i], fldPath.Child("sites").Index(i)
		allErrs = append(allErrs, seen.addOneOf(site.Name, sites, idxPath.Child("name"))...)
		if site.LoadBalancer != nil {
			allErrs = append(allErrs, validateSiteLoadBalancer(site, helper.FindSite(profile, site.Name), pools, idxPath.Child("loadBalancer"))...)
		}
		if site.Storage != nil {
			allErrs = append(allErrs, validateSiteStorage(site, infrastructure, profile, idxPath.Child("storage"))...)
		}
	}
	return allErrs
}

func validateFeatureGates(config *v1alpha1.CloudControllerManagerConfig, fldPath *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	var allErrs field.ErrorList
	for _, gate := range slices.Sorted(maps.Keys(config.FeatureGates)) {
		if !featureGateRegexp.MatchString(gate) {
			allErrs = append(allErrs, field.Invalid(fldPath.Key(gate), gate, "must be the name of a feature gate"))
		}
	}
	return allErrs
}

func validateSiteStorage(config *v1alpha1.ControlPlaneSite, infrastructure *v1alpha1.InfrastructureConfig,
	profile *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	var used *v1alpha1.InfrastructureSite
	if i := slices.IndexFunc(infrastructure.Sites, func(s v1alpha1.InfrastructureSite) bool { return s.Name == config.Name }); i >= 0 {
		used = &infrastructure.Sites[i]
	}
	allErrs := validateAll(func(r rules) field.ErrorList {
		return r.storage(config.Storage, used, helper.FindSite(profile, config.Name), fldPath)
	})
	if !config.HasShares() || profile == nil {
		return allErrs
	}
	for _, site := range profile.Sites {
		if slices.ContainsFunc(site.StorageClasses, func(c v1alpha1.StorageClass) bool { return c.Name == v1alpha1.ShareClass(config.Name) }) {
			allErrs = append(allErrs, field.Forbidden(fldPath.Child("csiManila", "enabled"),
				fmt.Sprintf("site %q has a storage class %q in the CloudProfile", site.Name, v1alpha1.ShareClass(config.Name))))
		}
	}
	return allErrs
}

func validateSiteLoadBalancer(config *v1alpha1.ControlPlaneSite, site *v1alpha1.CloudProfileSite, pools *addressPools,
	fldPath *field.Path) field.ErrorList {
	var (
		allErrs  field.ErrorList
		balancer = config.LoadBalancer
	)
	if (len(v1alpha1.PlatformsOf(balancer)) > 0) == (balancer.MetalLB != nil) {
		allErrs = append(allErrs, field.Required(fldPath, "must have exactly one of openstack and metalLB"))
	}
	allErrs = append(allErrs, validateAll(func(r rules) field.ErrorList { return r.loadBalancer(config, site, fldPath) })...)
	if balancer.MetalLB != nil {
		allErrs = append(allErrs, validateMetalLB(balancer.MetalLB, config.Name, pools, fldPath.Child("metalLB"))...)
	}
	return allErrs
}
