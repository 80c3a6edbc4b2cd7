// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/vspherecsi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
)

// vCenter is a vCenter with at least one site.
type vCenter struct {
	host, port  string
	login       login
	datacenters []string
	tls         v1alpha1.TLS
	proxy       v1alpha1.Proxy
}

// vCentersOf returns the vCenters of the sites that the driver has a login for. It identifies a vCenter by its host.
func vCentersOf(sites []platform.ControlPlaneSite) (result []vCenter, mistakes, err error) {
	var errs []error
	for _, s := range sites {
		found, err := vCenterOf(s)
		if err != nil {
			errs = append(errs, platform.InSite(s.Site.Name, err))
			continue
		}
		result = merge(result, *found)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	logins, mistakes, err := loginsOf(sites)
	if err != nil {
		return nil, nil, err
	}
	for i := range result {
		result[i].login = logins[result[i].host]
	}
	return slices.DeleteFunc(result, func(v vCenter) bool { return v.login == login{} }), mistakes, nil
}

func vCenterOf(s platform.ControlPlaneSite) (*vCenter, error) {
	profile := s.Site.Profile
	host, port, err := vspherecsi.Address(profile.VSphere.Server)
	if err != nil {
		return nil, mistake("%w", err)
	}
	result := &vCenter{
		host: host, port: port, tls: ptr.Deref(profile.TLS, v1alpha1.TLS{}), proxy: ptr.Deref(profile.Proxy, v1alpha1.Proxy{}),
	}
	names := []string{profile.VSphere.Datacenter}
	for _, zone := range profile.Zones {
		if zone.VSphere != nil && zone.VSphere.Datacenter != "" {
			names = append(names, zone.VSphere.Datacenter)
		}
	}
	for _, name := range names {
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
