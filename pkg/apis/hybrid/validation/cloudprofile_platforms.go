// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var (
	openStackEndpointTypes       = []string{"public", "internal", "admin"}
	openStackServerGroupPolicies = []string{"affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"}
	openStackPurposes            = []string{"default", "private"}
)

func validateOpenStackProfile(profile *v1alpha1.OpenStackProfile, fldPath *field.Path) field.ErrorList {
	allErrs := validateURL(profile.AuthURL, []string{"http", "https"}, fldPath.Child("authURL"))
	allErrs = append(allErrs, validateRequired(profile.Region, fldPath.Child("region"))...)
	allErrs = append(allErrs, validateOneOf(profile.EndpointType, openStackEndpointTypes, fldPath.Child("endpointType"))...)

	pools := names{}
	for i := range profile.FloatingPools {
		pool, idxPath := &profile.FloatingPools[i], fldPath.Child("floatingPools").Index(i)
		allErrs = append(allErrs, pools.addRequired(pool.Name, idxPath.Child("name"))...)
		allErrs = append(allErrs, validateOpenStackLoadBalancerClasses(pool.LoadBalancerClasses, idxPath.Child("loadBalancerClasses"))...)
	}
	providers := names{}
	for i, provider := range profile.LoadBalancerProviders {
		allErrs = append(allErrs, providers.addRequired(provider, fldPath.Child("loadBalancerProviders").Index(i))...)
	}
	for _, allowed := range []struct {
		name   string
		values []string
		ids    bool
	}{
		{"networks", profile.Networks, true},
		{"securityGroups", profile.SecurityGroups, false},
		{"floatingNetworks", profile.FloatingNetworks, true},
	} {
		seen := names{}
		for i, value := range allowed.values {
			idxPath := fldPath.Child(allowed.name).Index(i)
			allErrs = append(allErrs, seen.addRequired(value, idxPath)...)
			if allowed.ids && value != "" {
				allErrs = append(allErrs, validateUUID(value, idxPath)...)
			}
		}
	}
	policies := names{}
	for i, policy := range profile.ServerGroupPolicies {
		idxPath := fldPath.Child("serverGroupPolicies").Index(i)
		allErrs = append(allErrs, validateOneOf(policy, openStackServerGroupPolicies, idxPath)...)
		allErrs = append(allErrs, policies.add(policy, idxPath)...)
	}
	return allErrs
}

func validateOpenStackLoadBalancerClasses(classes []v1alpha1.OpenStackLoadBalancerClass, fldPath *field.Path) field.ErrorList {
	var (
		allErrs    field.ErrorList
		classNames = names{}
		purposes   = names{}
	)
	for i, class := range classes {
		idxPath := fldPath.Index(i)
		allErrs = append(allErrs, classNames.addRequired(class.Name, idxPath.Child("name"))...)
		if class.Purpose != "" {
			allErrs = append(allErrs, validateOneOf(class.Purpose, openStackPurposes, idxPath.Child("purpose"))...)
			allErrs = append(allErrs, purposes.add(class.Purpose, idxPath.Child("purpose"))...)
		}
		for _, reference := range []struct{ name, id string }{
			{"floatingNetworkID", class.FloatingNetworkID},
			{"floatingSubnetID", class.FloatingSubnetID},
			{"networkID", class.NetworkID},
			{"subnetID", class.SubnetID},
		} {
			if reference.id != "" {
				allErrs = append(allErrs, validateUUID(reference.id, idxPath.Child(reference.name))...)
			}
		}
	}
	return allErrs
}

// validateAllowed accepts what the list of the CloudProfile has, and everything if there is no list.
func validateAllowed(value string, allowed []string, fldPath *field.Path) field.ErrorList {
	if allowed == nil || value == "" {
		return nil
	}
	return validateOneOf(value, allowed, fldPath)
}

// floatingNetworks are the external networks that classes of load balancers of shoots may name; nil if they may name all.
func floatingNetworks(profile *v1alpha1.OpenStackProfile) []string {
	if profile.FloatingNetworks == nil {
		return nil
	}
	allowed := slices.Clone(profile.FloatingNetworks)
	for _, pool := range profile.FloatingPools {
		for _, class := range pool.LoadBalancerClasses {
			if class.FloatingNetworkID != "" {
				allowed = append(allowed, class.FloatingNetworkID)
			}
		}
	}
	return allowed
}

func validateLabelSelector(selector *metav1.LabelSelector, fldPath *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, fldPath)
}
