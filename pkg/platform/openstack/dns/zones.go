// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2/openstack/dns/v2/zones"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

const (
	// zonesPerPage is Designate's default maximum.
	zonesPerPage = 1000
	// secondary is the type of zones that are managed elsewhere.
	secondary = "SECONDARY"
)

// Zone implements dns.Provider. The given zone may be an ID or a name.
func (p *provider) Zone(ctx context.Context, given, name string) (_ string, err error) {
	defer platform.NameSite(p.session.Site, &err)
	name = dns.Canonical(name)
	if isID(given) {
		return given, nil
	}
	if given != "" {
		if given = dns.Canonical(given); !dns.In(name, given) {
			return "", platform.NewError(platform.ClassConfiguration, "spec.zone: %s is not in zone %s", name, given)
		}
		return p.findZone(ctx, func(known []dns.Zone) (dns.Zone, bool) { return named(known, given) },
			"zone %s does not exist in Designate or is not visible to the credentials", given)
	}
	return p.findZone(ctx, func(known []dns.Zone) (dns.Zone, bool) { return dns.Longest(known, name) },
		"no zone in Designate that is visible to the credentials contains %s", name)
}

// isID reports whether the text is an ID, which lacks hyphens in old zones.
func isID(text string) bool {
	return uuid.Validate(text) == nil || len(text) == 32 && strings.Trim(text, "0123456789abcdef") == ""
}

func named(known []dns.Zone, name string) (dns.Zone, bool) {
	for _, zone := range known {
		if zone.Name == name {
			return zone, true
		}
	}
	return dns.Zone{}, false
}

// findZone chooses a cached zone, and lists the zones if none matches.
func (p *provider) findZone(ctx context.Context, choose func([]dns.Zone) (dns.Zone, bool), missing, name string) (string, error) {
	known, _ := p.zones.Get("")
	if zone, ok := choose(known); ok {
		return zone.ID, nil
	}
	known, err := p.list(ctx)
	if err != nil {
		return "", err
	}
	if zone, ok := choose(known); ok {
		return zone.ID, nil
	}
	return "", platform.NewError(platform.ClassNotFound, missing, name)
}

func (p *provider) list(ctx context.Context) ([]dns.Zone, error) {
	listed, err := client.List(ctx, zones.List(p.api, zones.ListOpts{Limit: zonesPerPage}), zones.ExtractZones)
	if err != nil {
		return nil, p.requestError(err)
	}
	var known []dns.Zone
	for _, zone := range listed {
		if zone.Type != secondary && isID(zone.ID) {
			known = append(known, dns.Zone{ID: zone.ID, Name: dns.Canonical(zone.Name)})
		}
	}
	p.zones.Put("", known)
	return known, nil
}
