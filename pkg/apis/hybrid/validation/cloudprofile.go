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

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const maxSiteNameLength = 20

var reservedSiteNames = []string{"dns", "token", "config", "userdata"}

// ValidateCloudProfileConfig validates the configuration of a CloudProfile with the specification. fldPath is the path of
// the configuration.
func ValidateCloudProfileConfig(config *v1alpha1.CloudProfileConfig, spec *gardencorev1beta1.CloudProfileSpec,
	fldPath *field.Path) field.ErrorList {
	if config == nil {
		return field.ErrorList{field.Required(fldPath, "must be a CloudProfileConfig")}
	}
	if spec == nil {
		spec = &gardencorev1beta1.CloudProfileSpec{}
	}

	allErrs := validateSites(config.Sites, spec, fldPath.Child("sites"))
	allErrs = append(allErrs, validateMachineTypes(config, spec, fldPath.Child("machineTypes"))...)
	allErrs = append(allErrs, validateVolumeTypes(config, spec, fldPath.Child("volumeTypes"))...)
	return append(allErrs, validateMachineImages(config, spec, fldPath.Child("machineImages"))...)
}

// ValidateAccess validates what a site of the CloudProfile says about how it is reached and what its zones are. fldPath is the path of the
// site.
func ValidateAccess(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	if site == nil {
		return field.ErrorList{field.Required(fldPath, "must be a site of the CloudProfile")}
	}
	allErrs := validateConnection(site, fldPath)
	for i := range site.Zones {
		zone, idxPath := &site.Zones[i], fldPath.Child("zones").Index(i)
		allErrs = append(allErrs, validateFor(v1alpha1.PlatformsOf(zone), func(r rules) field.ErrorList {
			return r.zone(zone, site, idxPath)
		})...)
	}
	return allErrs
}

func validateConnection(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	allErrs := validatePositiveDuration(site.RequestTimeout, fldPath.Child("requestTimeout"))
	allErrs = append(allErrs, validateTLS(site.TLS, fldPath.Child("tls"))...)
	allErrs = append(allErrs, validateProxy(site.Proxy, fldPath.Child("proxy"))...)
	return append(allErrs, validateFor(v1alpha1.PlatformsOf(site), func(r rules) field.ErrorList { return r.access(site, fldPath) })...)
}

func validateSites(sites []v1alpha1.CloudProfileSite, spec *gardencorev1beta1.CloudProfileSpec, fldPath *field.Path) field.ErrorList {
	if len(sites) == 0 {
		return field.ErrorList{field.Required(fldPath, "must have at least one site")}
	}

	var (
		allErrs        field.ErrorList
		siteNames      = names{}
		storageClasses = names{}
		zoneSites      = map[regionZone]string{}
	)
	for i := range sites {
		site, idxPath := &sites[i], fldPath.Index(i)
		allErrs = append(allErrs, validateSiteName(site.Name, siteNames, idxPath.Child("name"))...)
		allErrs = append(allErrs, validateOneOf(site.Region, regionNames(spec), idxPath.Child("region"))...)
		allErrs = append(allErrs, validateConnection(site, idxPath)...)
		allErrs = append(allErrs, validateSiteSettings(site, idxPath)...)
		allErrs = append(allErrs, validateSitePlatform(site, idxPath)...)
		allErrs = append(allErrs, validateStorageClasses(site, storageClasses, idxPath.Child("storageClasses"))...)
		allErrs = append(allErrs, validateZones(site, spec, zoneSites, idxPath.Child("zones"))...)
	}

	for _, region := range spec.Regions {
		for _, zone := range region.Zones {
			if _, ok := zoneSites[regionZone{region.Name, zone.Name}]; !ok {
				allErrs = append(allErrs, field.Required(fldPath, fmt.Sprintf("must have a site with zone %q of region %q", zone.Name, region.Name)))
			}
		}
	}
	return allErrs
}

func validateSiteName(name string, seen names, fldPath *field.Path) field.ErrorList {
	if errs := validateDNSLabel(name, fldPath); len(errs) > 0 {
		return errs
	}
	if len(name) > maxSiteNameLength {
		return field.ErrorList{field.TooLong(fldPath, name, maxSiteNameLength)}
	}
	if slices.Contains(reservedSiteNames, name) {
		return field.ErrorList{field.Invalid(fldPath, name, fmt.Sprintf("must not be one of the reserved names %q", reservedSiteNames))}
	}
	return seen.add(name, fldPath)
}

func validateSitePlatform(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	set := v1alpha1.PlatformsOf(site)
	if len(set) == 0 {
		return field.ErrorList{field.Required(fldPath, fmt.Sprintf("must have exactly one of %q", allPlatforms))}
	}
	var allErrs field.ErrorList
	for _, other := range set[1:] {
		allErrs = append(allErrs,
			field.Forbidden(fldPath.Child(string(other)), fmt.Sprintf("must have exactly one of %q, and has %q", allPlatforms, set[0])))
	}
	return append(allErrs, validateFor(set, func(r rules) field.ErrorList { return r.site(site, fldPath) })...)
}

func validateSiteSettings(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	allErrs := validateDNSServers(site.DNSServers, fldPath.Child("dnsServers"))
	allErrs = append(allErrs, validateMTU(site.MTU, fldPath.Child("mtu"))...)
	allErrs = append(allErrs, validateNotNegative(site.MaximumMachines, fldPath.Child("maximumMachines"))...)
	if timeouts := site.Timeouts; timeouts != nil {
		timeoutsPath := fldPath.Child("timeouts")
		allErrs = append(allErrs, validatePositiveDuration(timeouts.Creation, timeoutsPath.Child("creation"))...)
		allErrs = append(allErrs, validatePositiveDuration(timeouts.Health, timeoutsPath.Child("health"))...)
		allErrs = append(allErrs, validatePositiveDuration(timeouts.Drain, timeoutsPath.Child("drain"))...)
	}
	allErrs = append(allErrs, validateNodeSettings(site.NodeSettings, fldPath.Child("nodeSettings"))...)
	return append(allErrs, validateQuarantine(site.Quarantine, fldPath.Child("quarantine"))...)
}

func validateQuarantine(quarantine *v1alpha1.Quarantine, fldPath *field.Path) field.ErrorList {
	if quarantine == nil {
		return nil
	}
	allErrs := validatePositiveDuration(quarantine.Window, fldPath.Child("window"))
	allErrs = append(allErrs, validatePositiveDuration(quarantine.MaximumDuration, fldPath.Child("maximumDuration"))...)
	if share := quarantine.Share; share != nil && (*share < 0 || *share > 100) {
		allErrs = append(allErrs, field.Invalid(fldPath.Child("share"), *share, "must be between 0 and 100, where 0 disables the quarantine"))
	}
	if minimum := quarantine.MinimumMachines; minimum != nil && *minimum < 1 {
		allErrs = append(allErrs, field.Invalid(fldPath.Child("minimumMachines"), *minimum, "must be at least 1"))
	}
	return allErrs
}

func validateTLS(tls *v1alpha1.TLS, fldPath *field.Path) field.ErrorList {
	if tls == nil {
		return nil
	}
	var allErrs field.ErrorList
	if tls.CACert != "" && tls.Thumbprint != "" {
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("thumbprint"), "must not be set together with caCert"))
	}
	if tls.InsecureSkipVerify && (tls.CACert != "" || tls.Thumbprint != "") {
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("insecureSkipVerify"), "must not be set together with caCert or thumbprint"))
	}
	if tls.CACert != "" {
		allErrs = append(allErrs, validateCertificates(tls.CACert, fldPath.Child("caCert"))...)
	}
	if tls.Thumbprint != "" && !thumbprintRegexp.MatchString(tls.Thumbprint) {
		allErrs = append(allErrs,
			field.Invalid(fldPath.Child("thumbprint"), tls.Thumbprint, "must be 20 (SHA-1) or 32 (SHA-256) hexadecimal bytes divided by colons"))
	}
	return allErrs
}

func validateProxy(proxy *v1alpha1.Proxy, fldPath *field.Path) field.ErrorList {
	if proxy == nil {
		return nil
	}
	allErrs := validateURL(proxy.URL, []string{"http", "https"}, fldPath.Child("url"))
	for i, entry := range proxy.NoProxy {
		if entry == "" || strings.ContainsAny(entry, ", \t\n") {
			allErrs = append(allErrs, field.Invalid(fldPath.Child("noProxy").Index(i), entry, "must be one host, domain or CIDR"))
		}
	}
	return allErrs
}

type regionZone struct {
	region, zone string
}

// validateZones validates the zones of the site and adds them to zoneSites.
func validateZones(site *v1alpha1.CloudProfileSite, spec *gardencorev1beta1.CloudProfileSpec, zoneSites map[regionZone]string,
	fldPath *field.Path) field.ErrorList {
	if len(site.Zones) == 0 {
		return field.ErrorList{field.Required(fldPath, "must have at least one zone")}
	}

	var (
		allErrs     field.ErrorList
		platform, _ = site.Platform()
		zoneNames   = zoneNames(spec, site.Region)
	)
	for i := range site.Zones {
		zone, idxPath := &site.Zones[i], fldPath.Index(i)
		allErrs = append(allErrs, validateOneOf(zone.Name, zoneNames, idxPath.Child("name"))...)
		key := regionZone{site.Region, zone.Name}
		if other, ok := zoneSites[key]; ok {
			if other == site.Name {
				allErrs = append(allErrs, field.Duplicate(idxPath.Child("name"), zone.Name))
			} else {
				allErrs = append(allErrs,
					field.Invalid(idxPath.Child("name"), zone.Name, fmt.Sprintf("must belong to one site, and belongs to site %q already", other)))
			}
		} else {
			zoneSites[key] = site.Name
		}
		allErrs = append(allErrs, validateBlocks(v1alpha1.PlatformsOf(zone), site.Name, platform, true, idxPath)...)
		allErrs = append(allErrs, validateFor(v1alpha1.PlatformsOf(zone), func(r rules) field.ErrorList {
			return r.zone(zone, site, idxPath)
		})...)
	}
	return allErrs
}

func regionNames(spec *gardencorev1beta1.CloudProfileSpec) []string {
	return lists.Map(spec.Regions, func(r gardencorev1beta1.Region) string { return r.Name })
}

func zoneNames(spec *gardencorev1beta1.CloudProfileSpec, regionName string) []string {
	var result []string
	for _, region := range spec.Regions {
		if region.Name == regionName {
			result = append(result, lists.Map(region.Zones, func(z gardencorev1beta1.AvailabilityZone) string { return z.Name })...)
		}
	}
	return result
}
