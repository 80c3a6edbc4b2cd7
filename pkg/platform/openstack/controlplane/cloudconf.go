// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// blockStorage is what the sites have in common. The zone of a volume is that of its storage class or, if that has none, has the name
// of the node's. The volume can be used where the node is, whatever the name of its zone.
const blockStorage = `[BlockStorage]
ignore-volume-az = true
`

// cloudConf returns the configuration of the driver: a section [Global "<site>"] for each site. It holds the credentials and the
// certificate authorities, so that it changes as a whole. Errors name the site and the key, never the value.
func cloudConf(sites []platform.ControlPlaneSite) (string, error) {
	var result strings.Builder
	for i := range sites {
		text, err := section(sites[i].Site, sites[i].Status)
		if err != nil {
			return "", platform.InSite(sites[i].Site.Name, err)
		}
		result.WriteString(text)
	}
	result.WriteString(blockStorage)
	return result.String(), nil
}

type entry struct{ key, value string }

func section(s *site.Site, status *v1alpha1.SiteStatus) (string, error) {
	connection := client.ConnectionOf(s.Profile)
	entries := []entry{
		{"auth-url", connection.AuthURL},
		{"region", connection.Region},
		{"os-endpoint-type", connection.EndpointType},
	}
	if status != nil && status.OpenStack != nil {
		entries = append(entries, entry{"project-id", status.OpenStack.ProjectID}, entry{"shoot-region", status.OpenStack.Region})
	}
	entries = append(entries, credentials(s.Credentials)...)
	if tls := connection.TLS; tls != nil {
		// The format knows no carriage return, and certificates do not need it.
		entries = append(entries, entry{"cafilecontents", strings.ReplaceAll(tls.CACert, "\r", "")}, entry{"tls-thumbprint", tls.Thumbprint})
		if tls.InsecureSkipVerify {
			entries = append(entries, entry{"tls-insecure", "true"})
		}
	}
	if proxy := connection.Proxy; proxy != nil {
		entries = append(entries, entry{"proxy-url", proxy.URL})
		for _, direct := range proxy.NoProxy {
			entries = append(entries, entry{"no-proxy", direct})
		}
	}
	if timeout := connection.RequestTimeout; timeout != nil {
		entries = append(entries, entry{"request-timeout", timeout.Duration.String()})
	}

	var result strings.Builder
	fmt.Fprintf(&result, "[Global %q]\n", s.Name)
	for _, e := range entries {
		if e.value == "" {
			continue
		}
		value, ok := quote(e.value)
		if !ok {
			return "", platform.NewError(platform.ClassConfiguration, "%s: it holds a character that the configuration of the CSI driver cannot hold", e.key)
		}
		fmt.Fprintf(&result, "%s = %s\n", e.key, value)
	}
	result.WriteString("\n")
	return result.String(), nil
}

// credentials returns those of one kind, in the same preference as for all other clients of the site. What is missing is left out:
// the driver says so for that site alone.
func credentials(c site.Credentials) []entry {
	if id := c["applicationCredentialID"]; id != "" {
		return []entry{
			{"application-credential-id", id},
			{"application-credential-secret", c["applicationCredentialSecret"]},
		}
	}
	return []entry{
		{"domain-name", c["domainName"]},
		{"tenant-name", c["tenantName"]},
		{"username", c["username"]},
		{"password", c["password"]},
	}
}

var escapes = strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n", "\t", "\\t")

// quote returns the value as the configuration format has it, and false if the format cannot have it.
func quote(value string) (string, bool) {
	if !utf8.ValidString(value) || strings.ContainsAny(value, "\x00\r\ufeff") {
		return "", false
	}
	return "\"" + escapes.Replace(value) + "\"", true
}
