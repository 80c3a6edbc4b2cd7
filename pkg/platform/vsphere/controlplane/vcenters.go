// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
)

// vCenter is a vCenter with at least one site.
type vCenter struct {
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
		errs   = []error{checkTogether(sites)}
	)
	for _, s := range sites {
		found, err := vCenterOf(s)
		if err != nil {
			errs = append(errs, platform.InSite(s.Site.Name, err))
			continue
		}
		result = merge(result, *found)
	}
	return result, errors.Join(errs...)
}

// checkTogether checks what the admission has checked already. The CloudProfile and the Secret may have changed since.
func checkTogether(sites []platform.ControlPlaneSite) error {
	var (
		errs     []error
		profiles []*v1alpha1.CloudProfileSite
		logins   []validation.VCenterLogin
	)
	for _, s := range sites {
		profiles = append(profiles, s.Site.Profile)
		login := validation.VCenterLogin{Site: s.Site.Profile, Username: s.Site.Credentials["username"], Password: s.Site.Credentials["password"]}
		if login.Username == "" || login.Password == "" {
			errs = append(errs, platform.InSite(s.Site.Name, mistake("credentials: username and password are needed")))
			continue
		}
		logins = append(logins, login)
	}
	for _, conflict := range validation.VCenterConflicts(profiles) {
		errs = append(errs, platform.InSite(conflict.Site, mistake("%s", conflict.Message)))
	}
	for _, conflict := range validation.VCenterLoginConflicts(logins) {
		errs = append(errs, platform.InSite(conflict.Site, mistake("credentials: %s %s", conflict.Key, conflict.Message)))
	}
	return errors.Join(errs...)
}

func vCenterOf(s platform.ControlPlaneSite) (*vCenter, error) {
	profile := s.Site.Profile
	host, port, err := validation.VCenterAddress(profile.VSphere.Server)
	if err != nil {
		return nil, mistake("%w", err)
	}
	result := &vCenter{host: host, port: port, user: s.Site.Credentials["username"], password: s.Site.Credentials["password"]}
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
		if !validation.IsDatacenter(name) {
			return nil, mistake("datacenter %q: the CSI driver takes no name with a comma or a control character", name)
		}
		result.add(inventory.Datacenter.Path("", name))
	}
	return result, nil
}

func (v *vCenter) add(datacenter string) {
	if !slices.Contains(v.datacenters, datacenter) {
		v.datacenters = append(v.datacenters, datacenter)
	}
}

// merge adds the vCenter, or its datacenters if there is one of the same host already.
func merge(vCenters []vCenter, added vCenter) []vCenter {
	i := slices.IndexFunc(vCenters, func(v vCenter) bool { return v.host == added.host })
	if i < 0 {
		return append(vCenters, added)
	}
	for _, datacenter := range added.datacenters {
		vCenters[i].add(datacenter)
	}
	return vCenters
}
