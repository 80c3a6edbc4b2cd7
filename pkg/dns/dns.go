// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package dns is the DNSRecord controller's view of DNS services: records in canonical form, zones, and the interface of each kind of
// service.
package dns

import (
	"context"
	"net/netip"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// SiteName replaces the site in messages and metrics of DNS services with their own credentials. No site can have this name.
const SiteName = "dns"

// Service is one kind of DNS service.
type Service interface {
	// Open returns the provider for the given access. It may log in. Errors are classified.
	Open(ctx context.Context, access Access) (Provider, error)
}

// Access configures how a DNS service is accessed.
type Access struct {
	// Credentials are the entries of the Secret as returned by ParseCredentials, or those of Site.
	Credentials Credentials
	// Region is the region of the service. Optional.
	Region string
	// Refused are networks that a host configured by a tenant must not be in.
	Refused []netip.Prefix
	// Site is the shoot's site whose DNS service and credentials are used, or nil if the service has its own credentials.
	Site *v1alpha1.CloudProfileSite
}

// Provider manages records with given credentials. Errors are classified. It is safe for concurrent use.
type Provider interface {
	// Zone returns the zone for the given ID or name, in the form of status.zone of a DNSRecord. If given is empty, it is the zone with the
	// longest name that contains the domain name. The error is of ClassNotFound if there is none.
	Zone(ctx context.Context, given, name string) (string, error)
	// Ensure makes the record set of the name and type equal the record. If known is true the record was written before and is first compared.
	// The error is progress if the service accepted the record but does not serve it yet, and of ClassNotFound if the zone does not exist.
	Ensure(ctx context.Context, zone string, record Record, known bool) error
	// Delete removes the record's values from the record set of the name and type, and the set with its last value. Other values stay. It is a
	// no-op if the set or the zone does not exist. The error is progress if the service accepted the change but still serves the values.
	Delete(ctx context.Context, zone string, record Record) error
}

// Registry maps types of DNSRecords to services.
type Registry map[string]Service

// For returns the service for DNSRecords of the type. The error is of ClassConfiguration.
func (r Registry) For(recordType string) (Service, error) {
	service, ok := r[recordType]
	if !ok {
		return nil, platform.NewError(platform.ClassConfiguration, "spec.type: DNS records of type %q are not supported", recordType)
	}
	return service, nil
}

// Prefix is the prefix of keys for DNS in the Secret of a shoot, which also has keys of sites.
const Prefix = "dns."

// Credentials are the entries of a Secret for a DNS service, without the prefix.
type Credentials map[string]string

// aliases are external-dns-management's names for the keys, which Gardener requires extensions to support.
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

// ParseCredentials returns the DNS entries of a Secret's data and the prefix of their keys: Prefix if any key has it, and an empty string
// otherwise.
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
