// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	keyAuthURL       = "authURL"
	keyCACert        = "caCert"
	keyServer        = "server"
	keyRegion        = "region"
	keySite          = "site"
	keyTSIGAlgorithm = "tsigAlgorithm"
	keyTSIGKeyName   = "tsigKeyName"
	keyTSIGSecret    = "tsigSecret" // #nosec G101 -- the name of a key
)

var (
	tsigAlgorithms = []string{"hmac-sha256", "hmac-sha384", "hmac-sha512"}
	// loginKeys are the keys that come from the site if there is one.
	loginKeys = append(slices.Concat(openStackCredentials...), keyAuthURL, keyCACert)
)

// ValidateDNSCredentials validates the entries of a Secret for DNSRecords of the type. The keys have the prefix in the Secret, and
// stand without it in credentials. Messages name keys, never values. fldPath is the path of the data.
func ValidateDNSCredentials(recordType string, credentials map[string]string, prefix string, fldPath *field.Path) field.ErrorList {
	v := dnsValidator{credentials: credentials, prefix: prefix, path: fldPath}
	for _, key := range slices.Sorted(maps.Keys(credentials)) {
		if errs := validateOneOf(key, dnsKeys, v.at(key)); len(errs) > 0 {
			v.errs = append(v.errs, errs...)
			break // one names what is meant, and a Secret has room for thousands
		}
	}
	for _, key := range dnsKeys {
		if value, ok := credentials[key]; ok {
			v.errs = append(v.errs, validateCredentialValue(key, []byte(value), v.at(key))...)
		}
	}
	switch recordType {
	case v1alpha1.DNSTypeDesignate:
		v.designate()
	case v1alpha1.DNSTypeRFC2136:
		v.rfc2136()
	}
	return v.errs
}

// validateShootDNSCredentials checks the entries with the prefix in the Secret of a shoot. Which DNSRecords they are for is not known:
// there may be those of each type.
func validateShootDNSCredentials(data map[string][]byte, fldPath *field.Path) field.ErrorList {
	v := dnsValidator{credentials: map[string]string{}, prefix: dnsPrefix + ".", path: fldPath}
	for key, value := range data {
		if name, ok := strings.CutPrefix(key, v.prefix); ok {
			v.credentials[name] = string(value)
		}
	}
	if slices.ContainsFunc([]string{keyServer, keyTSIGKeyName, keyTSIGSecret, keyTSIGAlgorithm}, v.has) {
		v.rfc2136()
	}
	if slices.ContainsFunc(append([]string{keySite, keyRegion}, loginKeys...), v.has) {
		v.designate()
	}
	if name := v.credentials[keySite]; name != "" {
		v.errs = append(v.errs, validateSiteCredentials(data, SiteCredentials{Site: name, Platform: v1alpha1.PlatformOpenStack}, fldPath)...)
	}
	return v.errs
}

type dnsValidator struct {
	credentials map[string]string
	prefix      string
	path        *field.Path
	errs        field.ErrorList
}

func (v *dnsValidator) at(key string) *field.Path {
	return v.path.Key(v.prefix + key)
}

func (v *dnsValidator) has(key string) bool {
	_, ok := v.credentials[key]
	return ok
}

// need reports whether the key is there and has a value.
func (v *dnsValidator) need(key, why string) bool {
	if !v.has(key) {
		v.errs = append(v.errs, field.Required(v.at(key), why))
	}
	return v.credentials[key] != ""
}

func (v *dnsValidator) invalid(key, why string) {
	v.errs = append(v.errs, field.Invalid(v.at(key), "(hidden)", why))
}

func (v *dnsValidator) designate() {
	if v.has(keySite) {
		v.site()
		return
	}
	if v.need(keyAuthURL, "the address of Keystone's version 3 API is needed") {
		u, err := url.Parse(v.credentials[keyAuthURL])
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			v.invalid(keyAuthURL, "must be a URL with https or http and a host, without user, query and fragment")
		}
	}
	if certificate, ok := v.credentials[keyCACert]; ok && !x509.NewCertPool().AppendCertsFromPEM([]byte(certificate)) {
		v.invalid(keyCACert, "must hold a certificate in PEM format")
	}
	begun := begunSets(openStackCredentials, v.has)
	if len(begun) > 1 {
		v.errs = append(v.errs, field.Forbidden(v.at(begun[1][0]), "must have only one of the sets of keys "+describe(v.prefix, begun)))
		return
	}
	for _, key := range slices.Concat(begun, openStackCredentials)[0] {
		v.need(key, "the keys "+describe(v.prefix, openStackCredentials)+" are needed")
	}
}

// site checks that what a site brings along is not given again.
func (v *dnsValidator) site() {
	if v.prefix == "" {
		v.errs = append(v.errs, field.Forbidden(v.at(keySite), "only the Secret of a shoot has credentials of sites; the key is dns.site there"))
		return
	}
	if name := v.credentials[keySite]; len(validation.IsDNS1123Label(name)) > 0 || len(name) > maxSiteNameLength ||
		slices.Contains(reservedSiteNames, name) {
		v.invalid(keySite, "must be the name of a site")
	}
	for _, key := range loginKeys {
		if v.has(key) {
			v.errs = append(v.errs, field.Forbidden(v.at(key), fmt.Sprintf("must not be set: it is that of the site in %s%s", v.prefix, keySite)))
		}
	}
}

func (v *dnsValidator) rfc2136() {
	if v.need(keyServer, "the host and, if it is not 53, the port of the DNS server is needed") && !isServer(v.credentials[keyServer]) {
		v.invalid(keyServer, "must be <host> or <host>:<port>")
	}
	if v.need(keyTSIGKeyName, "the name of the TSIG key is needed") {
		if name := strings.TrimSuffix(strings.ToLower(v.credentials[keyTSIGKeyName]),
			"."); len(validation.IsDNS1123Subdomain(strings.ReplaceAll(name, "_", "-"))) > 0 {
			v.invalid(keyTSIGKeyName, "must be a domain name")
		}
	}
	if v.need(keyTSIGSecret, "the secret of the TSIG key is needed") {
		if secret, err := base64.StdEncoding.DecodeString(v.credentials[keyTSIGSecret]); err != nil || len(secret) == 0 {
			v.invalid(keyTSIGSecret, "must be the secret in base64, as the configuration of the DNS server has it")
		}
	}
	if algorithm, ok := v.credentials[keyTSIGAlgorithm]; ok &&
		!slices.Contains(tsigAlgorithms, strings.TrimSuffix(strings.ToLower(algorithm), ".")) {
		v.invalid(keyTSIGAlgorithm, fmt.Sprintf("must be one of %s", strings.Join(tsigAlgorithms, ", ")))
	}
}

// isServer reports whether the text is a host or an address, with or without a port.
func isServer(text string) bool {
	host := text
	if h, port, err := net.SplitHostPort(text); err == nil {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return false
		}
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return net.ParseIP(host) != nil || len(validation.IsDNS1123Subdomain(strings.TrimSuffix(strings.ToLower(host), "."))) == 0
}
