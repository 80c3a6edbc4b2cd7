// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vspherecsi

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// maxVCenters is the number of vCenters that the driver supports.
	maxVCenters        = 5
	defaultVCenterPort = "443"
)

// Address returns the host of a vCenter in lower case, by which the driver identifies it, and its port.
func Address(server string) (host, port string, err error) {
	address, err := url.Parse(server)
	if err != nil || address.Hostname() == "" {
		return "", "", fmt.Errorf("vsphere.server %q must be a URL with a host", server)
	}
	return strings.ToLower(address.Hostname()), cmp.Or(address.Port(), defaultVCenterPort), nil
}

// vCenterConflicts returns why one driver cannot reach the vCenters of the sites, which have vsphere.topology. The driver identifies a
// vCenter by its host. Certificates are the same for all vCenters, because its syncer connects to any of them with the global ones, and so
// is the proxy, which is in the environment. Sites whose server is malformed are left out.
func vCenterConflicts(sites []*v1alpha1.CloudProfileSite) []Conflict {
	var (
		conflicts []Conflict
		vCenters  []vCenter
	)
	add := func(site, format string, args ...any) {
		conflicts = append(conflicts, Conflict{Site: site, Message: fmt.Sprintf(format, args...)})
	}
	for _, site := range sites {
		added, err := vCenterOf(site)
		if err != nil {
			continue
		}
		known := findVCenter(vCenters, added.host)
		if known == nil {
			if len(vCenters) >= maxVCenters {
				add(site.Name, "must not be used: the CSI driver supports at most %d vCenters, and the other sites have as many", maxVCenters)
			}
			vCenters = append(vCenters, *added)
			continue
		}
		if what := known.differsIn(added); what != "" {
			add(site.Name, "must have the same %s in the CloudProfile as site %q: both use one vCenter, where the CSI driver has one login", what,
				known.site)
		}
	}
	if len(vCenters) < 2 {
		return conflicts
	}

	var (
		trusting = firstVCenter(vCenters, func(v *vCenter) bool { return v.tls.CACert != "" })
		behind   = firstVCenter(vCenters, func(v *vCenter) bool { return v.proxy != "" })
	)
	for _, v := range vCenters {
		switch {
		case v.tls.Thumbprint != "":
			add(v.site,
				"must have tls.caCert instead of tls.thumbprint in the CloudProfile: the CSI driver has one thumbprint for all vCenters")
		case trusting != nil && v.tls == v1alpha1.TLS{}:
			add(v.site,
				"must have tls.caCert in the CloudProfile because site %q has it: the CSI driver trusts the same certificates at all vCenters",
				trusting.site)
		}
		if behind != nil && v.proxy != "" && v.proxy != behind.proxy {
			add(v.site, "must have the same proxy in the CloudProfile as site %q, or none: the CSI driver has one for all vCenters", behind.site)
		}
	}
	return conflicts
}

// vCenter is how a vCenter is reached.
type vCenter struct {
	// site is the first of its sites.
	site       string
	host, port string
	tls        v1alpha1.TLS
	proxy      string
}

func vCenterOf(site *v1alpha1.CloudProfileSite) (*vCenter, error) {
	host, port, err := Address(site.VSphere.Server)
	if err != nil {
		return nil, err
	}
	result := &vCenter{site: site.Name, host: host, port: port}
	if site.TLS != nil {
		result.tls = *site.TLS
	}
	if site.Proxy != nil {
		result.proxy = site.Proxy.URL
	}
	return result, nil
}

// differsIn returns the first setting that differs, empty if none does.
func (v *vCenter) differsIn(other *vCenter) string {
	switch {
	case v.port != other.port:
		return "port of vsphere.server"
	case v.tls != other.tls:
		return "tls"
	case v.proxy != other.proxy:
		return "proxy"
	}
	return ""
}

func findVCenter(vCenters []vCenter, host string) *vCenter {
	return firstVCenter(vCenters, func(v *vCenter) bool { return v.host == host })
}

func firstVCenter(vCenters []vCenter, is func(*vCenter) bool) *vCenter {
	for i := range vCenters {
		if is(&vCenters[i]) {
			return &vCenters[i]
		}
	}
	return nil
}

// validateDatacenter refuses a comma, which separates datacenters in the configuration of the driver.
func validateDatacenter(name string, fldPath *field.Path) field.ErrorList {
	if strings.Contains(name, ",") || !quotable(name) {
		return field.ErrorList{field.Invalid(fldPath, name,
			"must not contain commas or control characters, which the CSI driver does not support")}
	}
	return nil
}

// quotable reports whether the configuration of the driver, which has the format of git's, can contain the value: carriage returns are
// dropped and other characters cannot be escaped.
func quotable(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsAny(value, "\r\x00\ufeff")
}
