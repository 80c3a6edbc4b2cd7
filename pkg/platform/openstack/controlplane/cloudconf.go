// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// blockStorage is common to all sites. The zone of a volume is that of its storage class or, without one, is named like the node's zone.
// The volume can be used wherever the node is, regardless of its zone's name.
const blockStorage = `[BlockStorage]
ignore-volume-az = true
`

// cloudConf returns the configuration of the driver: a section [Global "<site>"] for each site, with credentials and certificate
// authorities, so that they change together. If the credentials of a site are unusable its deployed section is kept, or one without
// credentials is written: volumes of a site without a section would appear to be gone. Errors name the site and the key, never the value;
// mistakes are errors in the credentials.
func cloudConf(sites []platform.ControlPlaneSite) (config string, mistakes, err error) {
	var (
		result strings.Builder
		errs   []error
	)
	for _, s := range sites {
		var (
			mistake = checkCredentials(s.Site.Credentials)
			text    = deployedSection(s.Deployed[configFile], s.Site.Name)
		)
		switch {
		case mistake == nil:
			text, err = section(&s, s.Site.Credentials)
		case text != "":
			errs = append(errs, platform.NewCredentialsError(s.Site.Name, mistake, ""))
		default:
			errs = append(errs, platform.NewCredentialsError(s.Site.Name, mistake, platform.UntilUsable))
			text, err = section(&s, nil)
		}
		if err != nil {
			return "", nil, platform.InSite(s.Site.Name, err)
		}
		result.WriteString(text)
	}
	result.WriteString(blockStorage)
	return result.String(), errors.Join(errs...), nil
}

// checkCredentials returns an error if the credentials cannot be used at all, or not by the driver.
func checkCredentials(c site.Credentials) error {
	if err := cmp.Or(c.Check(), validation.CheckCredentials(v1alpha1.PlatformOpenStack, c)); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if _, ok := quote(c[key]); !ok {
			return fmt.Errorf("credentials: key %q holds a character that the configuration of the CSI driver cannot hold", key)
		}
	}
	return nil
}

// deployedSection returns the site's section of the deployed configuration, or an empty string. Values never span lines.
func deployedSection(config, siteName string) string {
	_, rest, found := strings.Cut("\n"+config, "\n"+head(siteName))
	if !found {
		return ""
	}
	entries, _, _ := strings.Cut(rest, "\n[")
	return head(siteName) + strings.TrimRight(entries, "\n") + "\n\n"
}

func head(siteName string) string {
	return fmt.Sprintf("[Global %q]\n", siteName)
}

type entry struct{ key, value string }

func section(s *platform.ControlPlaneSite, c site.Credentials) (string, error) {
	connection, status := client.ConnectionOf(s.Site.Profile), s.Status
	entries := []entry{
		{"auth-url", connection.AuthURL},
		{"region", connection.Region},
		{"os-endpoint-type", connection.EndpointType},
	}
	if status != nil && status.OpenStack != nil {
		entries = append(entries, entry{"project-id", status.OpenStack.ProjectID}, entry{"shoot-region", status.OpenStack.Region})
	}
	if s.Settings.HasShares() {
		entries = append(entries, shareEntries(s)...)
	}
	entries = append(entries, credentials(c)...)
	if tls := connection.TLS; tls != nil {
		// The format has no escape for carriage returns, which certificates do not need.
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
	result.WriteString(head(s.Site.Name))
	for _, e := range entries {
		if e.value == "" {
			continue
		}
		value, ok := quote(e.value)
		if !ok {
			return "", platform.NewError(platform.ClassConfiguration,
				"%s: it holds a character that the configuration of the CSI driver cannot hold", e.key)
		}
		fmt.Fprintf(&result, "%s = %s\n", e.key, value)
	}
	result.WriteString("\n")
	return result.String(), nil
}

// credentials returns one kind of credentials, with the same preference as all other clients of the site.
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

// quote returns the value in the configuration format, and false if the format cannot represent it.
func quote(value string) (string, bool) {
	if !utf8.ValidString(value) || strings.ContainsAny(value, "\x00\r\ufeff") {
		return "", false
	}
	return "\"" + escapes.Replace(value) + "\"", true
}
