// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var topologies = []v1alpha1.Topology{v1alpha1.TopologyStretched, v1alpha1.TopologyRouted}

// ValidateInfrastructureConfig validates the configuration of a Shoot in the region with the networking. fldPath is the
// path of the configuration.
func ValidateInfrastructureConfig(config *v1alpha1.InfrastructureConfig, profile *v1alpha1.CloudProfileConfig,
	networking *gardencorev1beta1.Networking, region string, fldPath *field.Path) field.ErrorList {
	if config == nil {
		return field.ErrorList{field.Required(fldPath, "must be an InfrastructureConfig")}
	}
	if networking == nil {
		networking = &gardencorev1beta1.Networking{}
	}

	v := infrastructureValidator{
		config:     config,
		profile:    profile,
		networking: networking,
		region:     region,
	}
	allErrs := v.validateNetworks(fldPath.Child("networks"))
	allErrs = append(allErrs, v.validateSites(fldPath.Child("sites"))...)
	return allErrs
}

type infrastructureValidator struct {
	config     *v1alpha1.InfrastructureConfig
	profile    *v1alpha1.CloudProfileConfig
	networking *gardencorev1beta1.Networking
	region     string

	// whole are the valid ranges of networks.nodes.
	whole []netip.Prefix
	// taken are the valid ranges of the sites that were validated.
	taken []siteRange
}

// siteRange is an address range of a site.
type siteRange struct {
	site   string
	prefix netip.Prefix
}

func (v *infrastructureValidator) validateNetworks(fldPath *field.Path) field.ErrorList {
	networks := &v.config.Networks
	allErrs := validateOneOf(networks.Topology, topologies, fldPath.Child("topology"))
	allErrs = append(allErrs, validateMTU(networks.MTU, fldPath.Child("mtu"))...)

	nodesPath, gatewayPath := fldPath.Child("nodes"), fldPath.Child("gateway")
	switch networks.Topology {
	case v1alpha1.TopologyStretched:
		whole, errs := validateCIDRs(networks.Nodes, nodesPath)
		v.whole = whole
		allErrs = append(allErrs, errs...)
		for _, prefix := range whole {
			allErrs = append(allErrs, v.validateForeignRanges(prefix, nodesPath)...)
		}
		allErrs = append(allErrs, validateGateway(networks.Gateway, whole, gatewayPath)...)
		if nodes := v.networking.Nodes; nodes != nil && len(errs) == 0 && !slices.Contains(networks.Nodes, *nodes) {
			allErrs = append(allErrs,
				field.Invalid(nodesPath, networks.Nodes, fmt.Sprintf("must be equal to the Shoot's spec.networking.nodes, which is %s", *nodes)))
		}
	case v1alpha1.TopologyRouted:
		if len(networks.Nodes) > 0 {
			allErrs = append(allErrs, field.Forbidden(nodesPath, "must not be set for topology Routed, where each site has its own"))
		}
		if networks.Gateway != "" {
			allErrs = append(allErrs, field.Forbidden(gatewayPath, "must not be set for topology Routed, where each site has its own"))
		}
	}
	return allErrs
}

func (v *infrastructureValidator) validateSites(fldPath *field.Path) field.ErrorList {
	sites := v.config.Sites
	if len(sites) == 0 {
		return field.ErrorList{field.Required(fldPath, "must have at least one site")}
	}

	var (
		allErrs   field.ErrorList
		seen      = names{}
		available = siteNames(v.profile, v.region)
		valid     = true
	)
	for i := range sites {
		site, idxPath := &sites[i], fldPath.Index(i)
		allErrs = append(allErrs, seen.addOneOf(site.Name, available, idxPath.Child("name"))...)

		nodes, errs := validateCIDRs(site.Nodes, idxPath.Child("nodes"))
		valid = valid && len(errs) == 0
		allErrs = append(allErrs, errs...)
		allErrs = append(allErrs, v.validateSiteRanges(site, nodes, idxPath.Child("nodes"))...)

		gatewayRanges := nodes
		if v.config.Networks.Topology == v1alpha1.TopologyStretched {
			gatewayRanges = v.whole
		}
		allErrs = append(allErrs, validateGateway(site.Gateway, gatewayRanges, idxPath.Child("gateway"))...)
		allErrs = append(allErrs, validateDNSServers(site.DNSServers, idxPath.Child("dnsServers"))...)
		allErrs = append(allErrs, validateMTU(site.MTU, idxPath.Child("mtu"))...)
		allErrs = append(allErrs, validateOwnMaximum(site, helper.FindSite(v.profile, site.Name), idxPath.Child("maximumMachines"))...)
		allErrs = append(allErrs, v.validateSitePlatform(site, idxPath)...)
	}

	allErrs = append(allErrs, validateAll(func(r rules) field.ErrorList { return r.together(sites, v.profile, fldPath) })...)

	if nodes := v.networking.Nodes; nodes != nil && valid && v.config.Networks.Topology == v1alpha1.TopologyRouted &&
		siteWithRange(v.config, *nodes) == "" {
		allErrs = append(allErrs, field.Invalid(fldPath, *nodes, "must have a site whose nodes are the Shoot's spec.networking.nodes"))
	}
	return allErrs
}

// validateSiteRanges checks the site's ranges against those of the network, the other sites, pods and services.
func (v *infrastructureValidator) validateSiteRanges(site *v1alpha1.InfrastructureSite, nodes []netip.Prefix,
	fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	stretched := v.config.Networks.Topology == v1alpha1.TopologyStretched
	for _, prefix := range nodes {
		if stretched && len(v.whole) > 0 && !inside(v.whole, prefix) {
			allErrs = append(allErrs, field.Invalid(fldPath, prefix.String(), fmt.Sprintf("must be within networks.nodes, which is %s", v.whole)))
		}
		if !stretched {
			allErrs = append(allErrs, v.validateForeignRanges(prefix, fldPath)...)
		}
		for _, other := range v.taken {
			if prefix.Overlaps(other.prefix) {
				allErrs = append(allErrs,
					field.Invalid(fldPath, prefix.String(), fmt.Sprintf("must not overlap with %s of site %q", other.prefix, other.site)))
			}
		}
	}

	reference := v.whole
	if !stretched {
		reference = v.firstSiteRanges()
	}
	if len(nodes) > 0 && len(reference) > 0 && !sameFamilies(nodes, reference) {
		allErrs = append(allErrs, field.Invalid(fldPath, site.Nodes, fmt.Sprintf("must have the same IP families as %s", reference)))
	}

	for _, prefix := range nodes {
		v.taken = append(v.taken, siteRange{site: site.Name, prefix: prefix})
	}
	return allErrs
}

// firstSiteRanges returns the ranges of the first site that was validated.
func (v *infrastructureValidator) firstSiteRanges() []netip.Prefix {
	var result []netip.Prefix
	for _, taken := range v.taken {
		if taken.site == v.taken[0].site {
			result = append(result, taken.prefix)
		}
	}
	return result
}

// validateForeignRanges checks that a range of nodes is neither one of pods nor one of services.
func (v *infrastructureValidator) validateForeignRanges(prefix netip.Prefix, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for _, foreign := range []struct {
		name string
		cidr *string
	}{
		{"pods", v.networking.Pods},
		{"services", v.networking.Services},
	} {
		if foreign.cidr == nil {
			continue
		}
		if other, err := netip.ParsePrefix(*foreign.cidr); err == nil && prefix.Overlaps(other) {
			allErrs = append(allErrs,
				field.Invalid(fldPath, prefix.String(),
					fmt.Sprintf("must not overlap with the Shoot's spec.networking.%s, which is %s", foreign.name, other)))
		}
	}
	return allErrs
}

// validateOwnMaximum checks the owner's maximum number of machines against that of the operator. profile is nil if the CloudProfile does
// not have the site.
func validateOwnMaximum(site *v1alpha1.InfrastructureSite, profile *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	allErrs := validateNotNegative(site.MaximumMachines, fldPath)
	if own := site.MaximumMachines; own != nil && profile != nil && profile.MaximumMachines != nil && *own > *profile.MaximumMachines {
		allErrs = append(allErrs,
			field.Invalid(fldPath, *own,
				fmt.Sprintf("must not be greater than that of site %q in the CloudProfile, which is %d", site.Name, *profile.MaximumMachines)))
	}
	return allErrs
}

func (v *infrastructureValidator) validateSitePlatform(site *v1alpha1.InfrastructureSite, fldPath *field.Path) field.ErrorList {
	siteProfile := helper.FindSite(v.profile, site.Name)
	if siteProfile == nil {
		return nil
	}
	platform, ok := siteProfile.Platform()
	if !ok {
		return nil
	}
	allErrs := validateBlocks(v1alpha1.PlatformsOf(site), site.Name, platform, false, fldPath)
	return append(allErrs, validateAll(func(r rules) field.ErrorList { return r.infrastructure(site, v.config, siteProfile, fldPath) })...)
}

// ValidateAllowed checks that what a Shoot refers to at its sites is among what the CloudProfile allows. fldPath is the path of the
// InfrastructureConfig.
func ValidateAllowed(config *v1alpha1.InfrastructureConfig, profile *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	var allErrs field.ErrorList
	for i := range config.Sites {
		s := &config.Sites[i]
		allErrs = append(allErrs, validateFor(v1alpha1.PlatformsOf(s), func(r rules) field.ErrorList {
			return r.allowed(s, helper.FindSite(profile, s.Name), fldPath.Child("sites").Index(i))
		})...)
	}
	return allErrs
}

func siteNames(profile *v1alpha1.CloudProfileConfig, region string) []string {
	var result []string
	if profile == nil {
		return result
	}
	for _, site := range profile.Sites {
		if site.Region == region {
			result = append(result, site.Name)
		}
	}
	return result
}

// siteWithRange returns the name of the site with the range, empty if there is none.
func siteWithRange(config *v1alpha1.InfrastructureConfig, cidr string) string {
	for _, site := range config.Sites {
		if slices.Contains(site.Nodes, cidr) {
			return site.Name
		}
	}
	return ""
}
