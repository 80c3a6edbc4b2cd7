// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// maxNodeSettings is the maximum size of the settings in JSON. They are part of the user data, which OpenStack limits to 48 KiB.
	maxNodeSettings = 16 << 10
	// allRegistries is the name of containerd's configuration for registries without one of their own.
	allRegistries = "_default"
)

// plainURLRegexp matches URLs that mean the same in all files that they are written to.
var plainURLRegexp = regexp.MustCompile(`^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$`)

func validateNodeSettings(settings *v1alpha1.NodeSettings, fldPath *field.Path) field.ErrorList {
	if settings == nil {
		return nil
	}
	if equality.Semantic.DeepEqual(settings, &v1alpha1.NodeSettings{}) {
		return field.ErrorList{field.Required(fldPath, "must have at least one setting")}
	}
	var allErrs field.ErrorList
	if encoded, err := json.Marshal(settings); err != nil || len(encoded) > maxNodeSettings {
		return field.ErrorList{field.TooLong(fldPath, "", maxNodeSettings)}
	}
	servers := names{}
	for i, server := range settings.NTPServers {
		idxPath := fldPath.Child("ntpServers").Index(i)
		if !isHost(server) {
			allErrs = append(allErrs, field.Invalid(idxPath, server, "must be a DNS name or an IP address"))
		}
		allErrs = append(allErrs, servers.add(server, idxPath)...)
	}
	allErrs = append(allErrs, validateRegistryMirrors(settings.RegistryMirrors, fldPath.Child("registryMirrors"))...)
	if proxy := settings.Proxy; proxy != nil {
		allErrs = append(allErrs, validatePlainURL(proxy.URL, fldPath.Child("proxy", "url"))...)
		for i, entry := range proxy.NoProxy {
			if !isProxyException(entry) {
				allErrs = append(allErrs, field.Invalid(fldPath.Child("proxy", "noProxy").Index(i), entry,
					"must be one host, with a port or without, a domain, an IP address, or a CIDR"))
			}
		}
	}
	if bundle := settings.CABundle; bundle != "" && strings.TrimSpace(bundle) == "" {
		allErrs = append(allErrs, field.Invalid(fldPath.Child("caBundle"), bundle, "must have at least one certificate"))
	} else if bundle != "" {
		allErrs = append(allErrs, validateCertificates(bundle, fldPath.Child("caBundle"))...)
	}
	return allErrs
}

func validateRegistryMirrors(mirrors []v1alpha1.RegistryMirror, fldPath *field.Path) field.ErrorList {
	var (
		allErrs   field.ErrorList
		upstreams = names{}
	)
	for i := range mirrors {
		mirror, idxPath := &mirrors[i], fldPath.Index(i)
		if mirror.Upstream != allRegistries && !isHostPort(mirror.Upstream) {
			allErrs = append(allErrs, field.Invalid(idxPath.Child("upstream"), mirror.Upstream,
				fmt.Sprintf("must be a host, with a port or without, or %s", allRegistries)))
		}
		allErrs = append(allErrs, upstreams.add(mirror.Upstream, idxPath.Child("upstream"))...)
		if len(mirror.Endpoints) == 0 {
			allErrs = append(allErrs, field.Required(idxPath.Child("endpoints"), "must have at least one URL"))
		}
		endpoints := names{}
		for j, endpoint := range mirror.Endpoints {
			endpointPath := idxPath.Child("endpoints").Index(j)
			allErrs = append(allErrs, validatePlainURL(endpoint, endpointPath)...)
			allErrs = append(allErrs, endpoints.add(endpoint, endpointPath)...)
		}
	}
	return allErrs
}

// validatePlainURL checks a URL that is written to files of machines.
func validatePlainURL(value string, fldPath *field.Path) field.ErrorList {
	if errs := validateURL(value, []string{"http", "https"}, fldPath); len(errs) > 0 {
		return errs
	}
	if parsed, err := url.Parse(value); err != nil || !plainURLRegexp.MatchString(value) || !isHost(parsed.Hostname()) {
		return field.ErrorList{field.Invalid(fldPath, value, "must have a host, and no other characters than letters, digits, and -._~/")}
	}
	return nil
}

// isHost returns whether the value is a DNS name or an IP address without a zone.
func isHost(value string) bool {
	addr, err := netip.ParseAddr(value)
	return err == nil && addr.Zone() == "" || len(validation.IsDNS1123Subdomain(strings.ToLower(value))) == 0
}

func isHostPort(value string) bool {
	host, port, hasPort := strings.Cut(value, ":")
	if number, err := strconv.ParseUint(port, 10, 16); hasPort && (err != nil || number == 0) {
		return false
	}
	return isHost(host)
}

func isProxyException(value string) bool {
	if _, err := netip.ParsePrefix(value); err == nil || value == "*" {
		return true
	}
	return isHost(value) || isHostPort(strings.TrimPrefix(strings.TrimPrefix(value, "*"), "."))
}

// NodeSettingsInShoots returns warnings about sites whose machines are replaced because their settings change. old may be nil. fldPath is
// the path of the configuration.
func NodeSettingsInShoots(config, old *v1alpha1.CloudProfileConfig, uses []ProfileUse, fldPath *field.Path) []string {
	var warnings []string
	for i := range config.Sites {
		site := &config.Sites[i]
		before := helper.FindSite(old, site.Name)
		if before == nil || equality.Semantic.DeepEqual(before.NodeSettings, site.NodeSettings) {
			continue
		}
		if shoots := shootsOn(uses, site.Name); len(shoots) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: the machines of site %q are replaced when their Shoots are reconciled: %s",
				fldPath.Child("sites").Index(i).Child("nodeSettings"), site.Name, someOf(shoots)))
		}
	}
	return warnings
}
