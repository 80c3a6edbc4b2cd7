// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	networkTypeFlat = "flat"
	networkTypeVLAN = "vlan"

	maxVLANID    = 4094
	maxTunnelKey = 1<<24 - 1
)

var openStackNetworkTypes = []string{networkTypeFlat, networkTypeVLAN, "vxlan", "gre", "geneve"}

func (v *infrastructureValidator) validateOpenStack(config *v1alpha1.OpenStackInfrastructure, profile *v1alpha1.OpenStackProfile,
	fldPath *field.Path) field.ErrorList {
	if config == nil {
		config = &v1alpha1.OpenStackInfrastructure{}
	}

	var allErrs field.ErrorList
	poolPath := fldPath.Child("floatingPoolName")
	if config.FloatingPoolName == "" {
		if config.Router == nil {
			allErrs = append(allErrs, field.Required(poolPath, "must be set unless router.id is"))
		}
	} else if pools := floatingPoolNames(profile); len(pools) > 0 {
		allErrs = append(allErrs, validateOneOf(config.FloatingPoolName, pools, poolPath)...)
	}
	allErrs = append(allErrs, validateFloatingSubnet(config, fldPath.Child("floatingSubnet"))...)

	networkPath := fldPath.Child("network")
	if config.Network != nil {
		allErrs = append(allErrs, validateOpenStackNetwork(config.Network, networkPath)...)
		allErrs = append(allErrs, validateAllowed(config.Network.ID, profile.Networks, networkPath.Child("id"))...)
		if config.Network.Provider != nil && !ptr.Deref(profile.ProviderNetworks, true) {
			allErrs = append(allErrs, field.Forbidden(networkPath.Child("provider"), "the site has no provider networks for shoots"))
		}
	} else if v.config.Networks.Topology == v1alpha1.TopologyStretched && len(v.config.Sites) > 1 {
		allErrs = append(allErrs,
			field.Required(networkPath,
				"must have id or provider if the topology is Stretched over several sites: a tenant network that is created for the shoot is no other site's network"))
	}

	if config.Subnet != nil && (config.Network == nil || config.Network.ID == "") {
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("subnet"), "must not be set without network.id"))
	}
	for _, reference := range []struct {
		name  string
		value *v1alpha1.OpenStackReference
	}{
		{"subnet", config.Subnet},
		{"router", config.Router},
		{"securityGroup", config.SecurityGroup},
	} {
		if reference.value != nil {
			allErrs = append(allErrs, validateUUID(reference.value.ID, fldPath.Child(reference.name, "id"))...)
		}
	}
	if config.SecurityGroup != nil {
		allErrs = append(allErrs, validateAllowed(config.SecurityGroup.ID, profile.SecurityGroups, fldPath.Child("securityGroup", "id"))...)
	}
	return allErrs
}

// validateFloatingSubnet takes a subnet only for a router that is created: a given one keeps its gateway.
func validateFloatingSubnet(config *v1alpha1.OpenStackInfrastructure, fldPath *field.Path) field.ErrorList {
	subnet := config.FloatingSubnet
	switch {
	case subnet == nil:
		return nil
	case config.Router != nil:
		return field.ErrorList{field.Forbidden(fldPath, "must not be set together with router")}
	case config.FloatingPoolName == "":
		return field.ErrorList{field.Forbidden(fldPath, "must not be set without floatingPoolName")}
	case subnet.ID == "" && subnet.Name == "":
		return field.ErrorList{field.Required(fldPath, "must have either id or name")}
	case subnet.ID != "" && subnet.Name != "":
		return field.ErrorList{field.Forbidden(fldPath.Child("name"), "must not be set together with id")}
	case subnet.ID != "":
		return validateUUID(subnet.ID, fldPath.Child("id"))
	default:
		return nil
	}
}

func validateOpenStackNetwork(network *v1alpha1.OpenStackNetwork, fldPath *field.Path) field.ErrorList {
	switch {
	case network.ID == "" && network.Provider == nil:
		return field.ErrorList{field.Required(fldPath, "must have either id or provider")}
	case network.ID != "" && network.Provider != nil:
		return field.ErrorList{field.Forbidden(fldPath.Child("provider"), "must not be set together with id")}
	case network.ID != "":
		return validateUUID(network.ID, fldPath.Child("id"))
	}

	var (
		provider     = network.Provider
		providerPath = fldPath.Child("provider")
		allErrs      = validateOneOf(provider.NetworkType, openStackNetworkTypes, providerPath.Child("networkType"))
		physicalPath = providerPath.Child("physicalNetwork")
		idPath       = providerPath.Child("segmentationID")
		physical     = provider.NetworkType == networkTypeFlat || provider.NetworkType == networkTypeVLAN
	)
	if len(allErrs) > 0 {
		return allErrs
	}
	if physical {
		allErrs = append(allErrs, validateRequired(provider.PhysicalNetwork, physicalPath)...)
	} else if provider.PhysicalNetwork != "" {
		allErrs = append(allErrs, field.Forbidden(physicalPath, fmt.Sprintf("must not be set for network type %s", provider.NetworkType)))
	}

	if provider.SegmentationID == nil {
		return allErrs
	}
	maxID := int32(maxTunnelKey)
	switch provider.NetworkType {
	case networkTypeFlat:
		return append(allErrs, field.Forbidden(idPath, "must not be set for network type flat"))
	case networkTypeVLAN:
		maxID = maxVLANID
	}
	if *provider.SegmentationID < 1 || *provider.SegmentationID > maxID {
		allErrs = append(allErrs, field.Invalid(idPath, *provider.SegmentationID, fmt.Sprintf("must be between 1 and %d", maxID)))
	}
	return allErrs
}

func floatingPoolNames(profile *v1alpha1.OpenStackProfile) []string {
	var result []string
	for _, pool := range profile.FloatingPools {
		result = append(result, pool.Name)
	}
	return result
}
