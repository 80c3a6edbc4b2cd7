// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

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
	// maxVCenters is how many vCenters the CSI driver takes.
	maxVCenters        = 5
	defaultVCenterPort = "443"
)

// VCenterConflict is why the CSI driver cannot serve a vSphere site, or not together with others of a shoot.
type VCenterConflict struct {
	// Site is the name of the site.
	Site string
	// Message says what the site must have or must not.
	Message string
}

// VCenterAddress returns the host of a vCenter, by which the CSI driver knows it, in small letters, and its port.
func VCenterAddress(server string) (host, port string, err error) {
	address, err := url.Parse(server)
	if err != nil || address.Hostname() == "" {
		return "", "", fmt.Errorf("vsphere.server %q is no address", server)
	}
	return strings.ToLower(address.Hostname()), cmp.Or(address.Port(), defaultVCenterPort), nil
}

// VCenterConflicts returns why one CSI driver cannot reach the vCenters of the sites, which have vsphere.topology. It knows a vCenter by
// its host. For all vCenters together it has the certificates, because its syncer connects to any one of them with what is global, and
// the proxy, because that is in its environment. Sites without an address are left out.
func VCenterConflicts(sites []*v1alpha1.CloudProfileSite) []VCenterConflict {
	var (
		conflicts []VCenterConflict
		vCenters  []vCenter
	)
	add := func(site, format string, args ...any) {
		conflicts = append(conflicts, VCenterConflict{Site: site, Message: fmt.Sprintf(format, args...)})
	}
	for _, site := range sites {
		added, err := vCenterOf(site)
		if err != nil {
			continue
		}
		known := findVCenter(vCenters, added.host)
		if known == nil {
			if len(vCenters) >= maxVCenters {
				add(site.Name, "must not be used, because the CSI driver takes %d vCenters at most and the other sites are at as many", maxVCenters)
			}
			vCenters = append(vCenters, *added)
			continue
		}
		if what := known.differsIn(added); what != "" {
			add(site.Name, "must have the same %s in the CloudProfile as site %q: both are at one vCenter, where the CSI driver has one login", what,
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
				"must have tls.caCert instead of thumbprint in the CloudProfile: the CSI driver has no thumbprint for each of several vCenters")
		case trusting != nil && v.tls == v1alpha1.TLS{}:
			add(v.site, "must have tls.caCert in the CloudProfile because site %q has: the CSI driver trusts the same certificates at all vCenters",
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
	host, port, err := VCenterAddress(site.VSphere.Server)
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

// differsIn returns what is not the same, and nothing if all is.
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

// IsDatacenter reports whether the configuration of the CSI driver, where commas divide datacenters, can have the name.
func IsDatacenter(name string) bool {
	return !strings.Contains(name, ",") && quotable(name)
}

func validateDatacenter(name string, fldPath *field.Path) field.ErrorList {
	if !IsDatacenter(name) {
		return field.ErrorList{field.Invalid(fldPath, name, "must have no comma and no control character, which the CSI driver does not take")}
	}
	return nil
}

// quotable reports whether the configuration of the CSI driver, in the format of git's, can have the value: it drops carriage returns
// and has no escapes for other characters.
func quotable(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsAny(value, "\r\x00\ufeff")
}
