// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
)

const (
	defaultPort = "443"
	// maxVCenters is how many vCenters the driver takes.
	maxVCenters = 5
)

// userRegexp are the user names that the driver takes. It ends if one is otherwise.
var userRegexp = regexp.MustCompile(`^([a-zA-Z0-9.-]+\\[a-zA-Z0-9._-]+|[a-zA-Z0-9._-]+@[a-zA-Z0-9.-]+)$`)

// vCenter is a vCenter with at least one site.
type vCenter struct {
	// site is the first of its sites.
	site           string
	host, port     string
	user, password string
	datacenters    []string
	tls            v1alpha1.TLS
	proxy          v1alpha1.Proxy
}

// vCentersOf returns the vCenters of the sites. The driver knows a vCenter by its host and has one login there.
func vCentersOf(sites []platform.ControlPlaneSite) ([]vCenter, error) {
	var (
		result []vCenter
		errs   []error
	)
	for _, s := range sites {
		found, err := vCenterOf(s)
		if err == nil {
			result, err = merge(result, *found)
		}
		errs = append(errs, platform.InSite(s.Site.Name, err))
	}
	errs = append(errs, checkTogether(result))
	return result, errors.Join(errs...)
}

func vCenterOf(s platform.ControlPlaneSite) (*vCenter, error) {
	profile := s.Site.Profile
	server, err := url.Parse(profile.VSphere.Server)
	if err != nil || server.Hostname() == "" {
		return nil, mistake("vsphere.server %q is no address", profile.VSphere.Server)
	}
	result := &vCenter{
		site:     s.Site.Name,
		host:     server.Hostname(),
		port:     cmp.Or(server.Port(), defaultPort),
		user:     s.Site.Credentials["username"],
		password: s.Site.Credentials["password"],
	}
	if profile.TLS != nil {
		result.tls = *profile.TLS
	}
	if profile.Proxy != nil {
		result.proxy = *profile.Proxy
	}
	names := []string{profile.VSphere.Datacenter}
	for _, zone := range profile.Zones {
		if zone.VSphere != nil && zone.VSphere.Datacenter != "" {
			names = append(names, zone.VSphere.Datacenter)
		}
	}
	for _, name := range names {
		if datacenter := inventory.Datacenter.Path("", name); !slices.Contains(result.datacenters, datacenter) {
			result.datacenters = append(result.datacenters, datacenter)
		}
	}
	return result, result.check()
}

func (v *vCenter) check() error {
	var errs []error
	switch {
	case v.user == "" || v.password == "":
		errs = append(errs, mistake("credentials: username and password are needed"))
	case !userRegexp.MatchString(v.user):
		errs = append(errs, mistake(`credentials: username must be <user>@<domain> or <domain>\<user> of letters, digits, ".", "_" and "-", because the CSI driver takes no other`))
	case !quotable(v.password):
		errs = append(errs, mistake("credentials: password has characters that the configuration of the CSI driver cannot have, such as a carriage return"))
	}
	for _, datacenter := range v.datacenters {
		if strings.Contains(datacenter, ",") || !quotable(datacenter) {
			errs = append(errs, mistake("datacenter %q: the CSI driver takes no name with a comma or a control character", datacenter))
		}
	}
	return errors.Join(errs...)
}

// merge adds the vCenter, or its datacenters if there is one of the same host already.
func merge(vCenters []vCenter, added vCenter) ([]vCenter, error) {
	i := slices.IndexFunc(vCenters, func(v vCenter) bool { return strings.EqualFold(v.host, added.host) })
	if i < 0 {
		return append(vCenters, added), nil
	}
	known := &vCenters[i]
	const both = "the CSI driver has one login at a vCenter, and site %q is at the same one: %s must be the same"
	switch {
	case known.port != added.port:
		return vCenters, mistake(both, known.site, "the port of vsphere.server")
	case known.user != added.user || known.password != added.password:
		return vCenters, mistake(both, known.site, "the username and password in the credentials")
	case known.tls != added.tls:
		return vCenters, mistake(both, known.site, "tls")
	case known.proxy.URL != added.proxy.URL:
		return vCenters, mistake(both, known.site, "proxy")
	}
	for _, datacenter := range added.datacenters {
		if !slices.Contains(known.datacenters, datacenter) {
			known.datacenters = append(known.datacenters, datacenter)
		}
	}
	return vCenters, nil
}

// checkTogether checks what the driver has only once for all vCenters: the certificates that it trusts, because its syncer connects
// to any one of them with what is global, and the proxy, because that is in its environment.
func checkTogether(vCenters []vCenter) error {
	var errs []error
	if len(vCenters) > maxVCenters {
		errs = append(errs, mistake("the CSI driver takes %d vCenters at most, the shoot's vSphere sites are at %d", maxVCenters, len(vCenters)))
	}
	if len(vCenters) < 2 {
		return errors.Join(errs...)
	}
	bundled := bundle(vCenters) != ""
	proxy, proxyOf := "", ""
	for _, v := range vCenters {
		switch {
		case v.tls.Thumbprint != "":
			errs = append(errs, platform.InSite(v.site, mistake("tls.caCert must be set instead of thumbprint: the CSI driver has no thumbprint for each of several vCenters")))
		case bundled && v.tls == v1alpha1.TLS{}:
			errs = append(errs, platform.InSite(v.site, mistake("tls.caCert must be set because another vCenter of the shoot has one: the CSI driver trusts the same certificates for all of them")))
		}
		switch {
		case v.proxy.URL == "":
		case proxy == "":
			proxy, proxyOf = v.proxy.URL, v.site
		case proxy != v.proxy.URL:
			errs = append(errs, platform.InSite(v.site, mistake("proxy: the CSI driver has one proxy for all vCenters, and that of site %q is another", proxyOf)))
		}
	}
	return errors.Join(errs...)
}
