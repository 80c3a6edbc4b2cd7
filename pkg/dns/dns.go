// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package dns is what the DNSRecord controller sees of DNS services: records in one canonical form, zones, and the interface that
// each kind of service implements.
package dns

import (
	"context"
	"net/netip"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// SiteName stands for the site in messages and metrics of DNS services that have credentials of their own. No site can have it.
const SiteName = "dns"

// Service is one kind of DNS service.
type Service interface {
	// Open returns what changes records with the given access. It may log in. Errors are classified.
	Open(ctx context.Context, access Access) (Provider, error)
}

// Access says how a DNS service is reached and with which credentials.
type Access struct {
	// Credentials are the entries of the Secret, as ParseCredentials returns them, or those of Site.
	Credentials Credentials
	// Region is the region of the service, empty if nobody said.
	Region string
	// Refused are networks that the host must not be in which a tenant named.
	Refused []netip.Prefix
	// Site is the site of the shoot whose DNS service and credentials are used, nil if the service has credentials of its own.
	Site *v1alpha1.CloudProfileSite
}

// Provider changes records with given credentials. Errors are classified. It is safe for concurrent use.
type Provider interface {
	// Zone returns the zone that given means, as status.zone of a DNSRecord holds it. If given is empty it is the one with the
	// longest name that the domain name is in. The class of the error is ClassNotFound if there is none.
	Zone(ctx context.Context, given, name string) (string, error)
	// Ensure makes the record set of name and type be the record. If known is true the record was written before: one look tells
	// whether there is something to do. The error is progress if the service accepted the record and does not answer with it yet. Its
	// class is ClassNotFound if there is no such zone.
	Ensure(ctx context.Context, zone string, record Record, known bool) error
	// Delete removes the record's values from the record set of name and type, and with the last one the set. Others stay. What does
	// not exist, be it the zone, is deleted. The error is progress if the service accepted the change and still answers with the values.
	Delete(ctx context.Context, zone string, record Record) error
}

// Registry maps the types of DNSRecords to their services.
type Registry map[string]Service

// For returns the service for DNSRecords of the type. The class of the error is ClassConfiguration.
func (r Registry) For(recordType string) (Service, error) {
	service, ok := r[recordType]
	if !ok {
		return nil, platform.NewError(platform.ClassConfiguration, "spec.type: there are no DNS records of type %q", recordType)
	}
	return service, nil
}

// Prefix is the prefix of the keys for DNS in the Secret of a shoot, which has keys of sites beside them.
const Prefix = "dns."

// Credentials are the entries of a Secret for a DNS service, without prefix.
type Credentials map[string]string

// aliases are the names that external-dns-management has for the keys. Gardener wants extensions to know them.
var aliases = map[string]string{ // #nosec G101 -- names of keys
	"OS_APPLICATION_CREDENTIAL_ID":     "applicationCredentialID",
	"OS_APPLICATION_CREDENTIAL_SECRET": "applicationCredentialSecret",
	"OS_AUTH_URL":                      "authURL",
	"OS_DOMAIN_NAME":                   "domainName",
	"OS_PASSWORD":                      "password",
	"OS_PROJECT_NAME":                  "tenantName",
	"OS_REGION_NAME":                   "region",
	"OS_USERNAME":                      "username",
	"CACERT":                           "caCert",
	"Server":                           "server",
	"TSIGKeyName":                      "tsigKeyName",
	"TSIGSecret":                       "tsigSecret",
	"TSIGSecretAlgorithm":              "tsigAlgorithm",
}

// ParseCredentials returns the entries for DNS of a Secret's data, and the prefix that their keys have in it: Prefix if there is
// a key that begins with it, and none otherwise.
func ParseCredentials(data map[string][]byte) (Credentials, string) {
	prefix := ""
	for key := range data {
		if strings.HasPrefix(key, Prefix) {
			prefix = Prefix
		}
	}
	credentials := Credentials{}
	for key, value := range data {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			credentials[name] = string(value)
		}
	}
	for alias, name := range aliases {
		if value, ok := credentials[alias]; ok && credentials[name] == "" {
			credentials[name] = value
		}
		delete(credentials, alias)
	}
	return credentials, prefix
}
