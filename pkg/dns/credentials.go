// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"strings"
)

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
