// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// dnsPrefix is the prefix of the keys for DNSRecords.
const dnsPrefix = "dns"

const (
	keyClientCertificate = "clientCertificate"
	keyClientKey         = "clientKey"
)

// kubernetesCredentials are the sets of keys for a Kubernetes API.
func kubernetesCredentials() [][]string {
	return [][]string{{"token"}, {keyClientCertificate, keyClientKey}}
}

// addressKeys are keys of addresses and trusted certificates in Secrets of other kinds.
var addressKeys = []string{"authURL", "ca", "caCert", "datacenter", "endpoint", "host", "insecure", "insecureSkipVerify", "kubeconfig",
	"proxy", "server", "url"}

var dnsKeys = []string{
	"applicationCredentialID", "applicationCredentialSecret", "authURL", "caCert", "domainName", "password", "region", "server",
	"site", "tenantName", "tsigAlgorithm", "tsigKeyName", "tsigSecret", "username",
}

// documentKeys are the keys whose values may have several lines.
var documentKeys = []string{keyClientCertificate, keyClientKey, keyCACert}

// ValidateSecret validates the data of a Secret for shoots whose sites are not known: keys and formats, not what is missing.
// Messages name keys, never values. fldPath is the path of the data.
func ValidateSecret(data map[string][]byte, fldPath *field.Path) field.ErrorList {
	allErrs := ValidateCredentials(data, nil, fldPath)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if prefix, name, ok := strings.Cut(key, "."); ok && name == keyClientCertificate && prefix != dnsPrefix {
			allErrs = append(allErrs, validateClientCertificate(data, prefix, fldPath)...)
		}
	}
	return append(allErrs, validateShootDNSCredentials(data, fldPath)...)
}

// SiteCredentials names a site that a Secret must have credentials for.
type SiteCredentials struct {
	// Site is the name of the site.
	Site string
	// Platform is the site's platform.
	Platform v1alpha1.Platform
	// NeedsOption is true if one of the sets of keys that are optional at a site of the platform is needed.
	NeedsOption bool
}

// CredentialsOf returns what the Secret of a shoot must have for one of its sites.
func CredentialsOf(s *v1alpha1.InfrastructureSite, platform v1alpha1.Platform) SiteCredentials {
	return SiteCredentials{Site: s.Name, Platform: platform, NeedsOption: rulesOf(platform).needsOption(s)}
}

// ValidateCredentials validates the data of a Secret whose keys are <site>.<key>. It must have credentials for the sites and
// may have credentials for others. Messages name keys, never values. fldPath is the path of the data.
func ValidateCredentials(data map[string][]byte, sites []SiteCredentials, fldPath *field.Path) field.ErrorList {
	var (
		allErrs       field.ErrorList
		sitePlatforms = map[string]v1alpha1.Platform{}
	)
	for _, site := range sites {
		sitePlatforms[site.Site] = site.Platform
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		keyPath := fldPath.Key(key)
		allErrs = append(allErrs, validateCredentialKey(key, sitePlatforms, keyPath)...)
		allErrs = append(allErrs, validateCredentialValue(key, data[key], keyPath)...)
	}
	for _, site := range sites {
		allErrs = append(allErrs, validateSiteCredentials(data, site, fldPath)...)
	}
	return allErrs
}

// CheckCredentials returns an error if the credentials of a site of the platform, all of them text, cannot be used: it names a key that is
// missing, or whose value is malformed. Unlike ValidateCredentials, it accepts unknown keys.
func CheckCredentials(platform v1alpha1.Platform, credentials map[string]string) error {
	var (
		alternatives = rulesOf(platform).credentials()
		missing      = func(key string) bool { return credentials[key] == "" }
		complete     = func(keys []string) bool { return !slices.ContainsFunc(keys, missing) }
	)
	if len(alternatives) == 0 || slices.ContainsFunc(alternatives, complete) {
		return checkClientCertificate(credentials)
	}
	begun := begunSets(alternatives, func(key string) bool { return !missing(key) })
	wanted := slices.Concat(begun, alternatives)[0]
	return fmt.Errorf("credentials: key %q is missing; the site needs the keys %s",
		wanted[slices.IndexFunc(wanted, missing)], describe("", alternatives))
}

func checkClientCertificate(credentials map[string]string) error {
	data := map[string][]byte{}
	for key, value := range credentials {
		data["."+key] = []byte(value)
	}
	if len(validateClientCertificate(data, "", nil)) > 0 {
		return fmt.Errorf("credentials: key %q must be a PEM certificate whose private key is %s", keyClientCertificate, keyClientKey)
	}
	return nil
}

// PlatformOfCredentials returns the platform that the credentials of the site are for: no set of keys is complete for two platforms. It
// returns false if they are incomplete, and for reserved prefixes.
func PlatformOfCredentials(data map[string][]byte, site string) (v1alpha1.Platform, bool) {
	if slices.Contains(reservedSiteNames, site) {
		return "", false
	}
	index := slices.IndexFunc(allPlatforms, func(platform v1alpha1.Platform) bool {
		return len(ValidateCredentials(data, []SiteCredentials{{Site: site, Platform: platform}}, nil)) == 0
	})
	if index < 0 {
		return "", false
	}
	return allPlatforms[index], true
}

func validateCredentialKey(key string, sitePlatforms map[string]v1alpha1.Platform, fldPath *field.Path) field.ErrorList {
	prefix, name, ok := strings.Cut(key, ".")
	if !ok || len(validation.IsDNS1123Label(prefix)) > 0 || len(prefix) > maxSiteNameLength {
		return field.ErrorList{field.Invalid(fldPath, key, "must be <site>.<key>, for example cloud.username")}
	}
	if prefix == dnsPrefix {
		return validateOneOf(name, dnsKeys, fldPath)
	}
	if slices.Contains(reservedSiteNames, prefix) {
		return field.ErrorList{field.Invalid(fldPath, key, fmt.Sprintf("must not begin with one of the reserved names %q", reservedSiteNames))}
	}

	alternatives := keySetsOf(sitePlatforms[prefix])
	if len(alternatives) == 0 {
		for _, platform := range allPlatforms {
			alternatives = append(alternatives, keySetsOf(platform)...)
		}
	}
	if slices.Contains(addressKeys, name) {
		return field.ErrorList{field.Forbidden(fldPath, "must not be set: addresses and trusted certificates are configured in the CloudProfile")}
	}
	allowed := slices.Concat(alternatives...)
	slices.Sort(allowed)
	return validateOneOf(name, slices.Compact(allowed), fldPath)
}

// keySetsOf returns all sets of keys that a site of the platform may have.
func keySetsOf(platform v1alpha1.Platform) [][]string {
	r := rulesOf(platform)
	return slices.Concat(r.credentials(), r.options())
}

// validateCredentialValue checks the value of a key with or without a prefix.
func validateCredentialValue(key string, value []byte, fldPath *field.Path) field.ErrorList {
	text := string(value)
	switch {
	case len(text) == 0:
		return field.ErrorList{field.Required(fldPath, "must not be empty")}
	case !utf8.ValidString(text):
		return field.ErrorList{field.Invalid(fldPath, "(hidden)", "must be text in UTF-8")}
	case slices.Contains(documentKeys, key[strings.LastIndex(key, ".")+1:]):
		return nil
	case strings.TrimSpace(text) != text:
		return field.ErrorList{field.Invalid(fldPath, "(hidden)", "must not begin or end with white space or line breaks")}
	case strings.ContainsFunc(text, unicode.IsControl):
		return field.ErrorList{field.Invalid(fldPath, "(hidden)", "must not contain line breaks or other control characters")}
	}
	return nil
}

// validateSiteCredentials checks that the site has exactly one of its platform's sets of keys, and at most one of the optional sets.
func validateSiteCredentials(data map[string][]byte, site SiteCredentials, fldPath *field.Path) field.ErrorList {
	r := rulesOf(site.Platform)
	allErrs := validateKeySets(data, site.Site, r.credentials(), true, fldPath)
	allErrs = append(allErrs, validateKeySets(data, site.Site, r.options(), site.NeedsOption, fldPath)...)
	if len(allErrs) > 0 {
		return allErrs
	}
	return validateClientCertificate(data, site.Site, fldPath)
}

// validateKeySets checks that the data has exactly one of the sets of keys of the site, or none if they are not required.
func validateKeySets(data map[string][]byte, site string, alternatives [][]string, required bool, fldPath *field.Path) field.ErrorList {
	if len(alternatives) == 0 {
		return nil
	}
	var (
		prefix = site + "."
		needed = fmt.Sprintf("site %q needs the keys %s", site, describe(prefix, alternatives))
		has    = func(key string) bool {
			_, ok := data[prefix+key]
			return ok
		}
	)
	switch begun := begunSets(alternatives, has); len(begun) {
	case 0:
		if !required {
			return nil
		}
		return field.ErrorList{field.Required(fldPath.Key(prefix+alternatives[0][0]), needed)}
	case 1:
		var allErrs field.ErrorList
		for _, key := range begun[0] {
			if !has(key) {
				allErrs = append(allErrs, field.Required(fldPath.Key(prefix+key), needed))
			}
		}
		return allErrs
	default:
		return field.ErrorList{field.Forbidden(fldPath.Key(prefix+begun[1][0]),
			fmt.Sprintf("site %q must have only one of the sets of keys %s", site, describe(prefix, begun)))}
	}
}

func validateClientCertificate(data map[string][]byte, site string, fldPath *field.Path) field.ErrorList {
	certificate, hasCertificate := data[site+"."+keyClientCertificate]
	key, hasKey := data[site+"."+keyClientKey]
	if !hasCertificate || !hasKey {
		return nil
	}
	if _, err := tls.X509KeyPair(certificate, key); err != nil {
		return field.ErrorList{field.Invalid(fldPath.Key(site+"."+keyClientCertificate), "(hidden)",
			fmt.Sprintf("must be a PEM certificate whose private key is %s.%s", site, keyClientKey))}
	}
	return nil
}

// begunSets returns the sets that have at least one of their keys.
func begunSets(alternatives [][]string, has func(key string) bool) [][]string {
	return slices.DeleteFunc(slices.Clone(alternatives), func(keys []string) bool { return !slices.ContainsFunc(keys, has) })
}

// describe lists the sets of keys, which have the prefix in the Secret.
func describe(prefix string, alternatives [][]string) string {
	return strings.Join(lists.Map(alternatives, func(keys []string) string { return prefix + strings.Join(keys, ", "+prefix) }), " or ")
}
