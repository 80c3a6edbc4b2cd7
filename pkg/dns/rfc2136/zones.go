// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"context"

	mdns "github.com/miekg/dns"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Zone implements dns.Provider. A server does not list its zones. But asked for the SOA record of a name that has none it answers with
// that of the zone that the name is in, so the first question is usually the last.
func (p *provider) Zone(ctx context.Context, given, name string) (string, error) {
	name = dns.Canonical(name)
	if given != "" {
		if given = dns.Canonical(given); !dns.In(name, given) {
			return "", platform.NewError(platform.ClassConfiguration, "spec.zone: %s is not in zone %s", name, given)
		}
		return given, nil
	}
	cacheKey := p.cacheKey(name)
	if zone, ok := p.service.zones.Get(cacheKey); ok {
		return zone, nil
	}
	connection := p.connect()
	defer connection.close()
	for _, candidate := range dns.Parents(name) {
		zone, err := connection.zoneOf(ctx, candidate)
		if err != nil {
			return "", err
		}
		if zone != "" {
			p.service.zones.Put(cacheKey, zone)
			return zone, nil
		}
	}
	return "", platform.NewError(platform.ClassNotFound, "DNS server %s has no zone that %s is in", p.server, name)
}

func (p *provider) cacheKey(name string) string {
	return string(p.identity[:]) + name
}

// zoneOf returns the zone that the server answers the name from, empty if it did not say. Only the authority for a zone can tell.
func (c *connection) zoneOf(ctx context.Context, name string) (string, error) {
	answer, err := c.query(ctx, name, mdns.TypeSOA)
	if err != nil {
		return "", err
	}
	if answer.Rcode == mdns.RcodeServerFailure {
		return "", c.classify(answer, "a query for the zone of "+name)
	}
	if !answer.Authoritative {
		return "", c.delegated(answer, name)
	}
	for _, rr := range append(answer.Answer, answer.Ns...) {
		owner := dns.Canonical(rr.Header().Name)
		switch rr.Header().Rrtype {
		case mdns.TypeSOA:
			if dns.In(name, owner) {
				return owner, nil
			}
		case mdns.TypeCNAME, mdns.TypeDNAME:
			return "", nil // what follows is about another name
		}
	}
	return "", nil
}

// delegated returns an error if the server says that others have the zone of the name. A record above their zone would be answered by
// nobody.
func (c *connection) delegated(answer *mdns.Msg, name string) error {
	for _, rr := range answer.Ns {
		owner := dns.Canonical(rr.Header().Name)
		if rr.Header().Rrtype == mdns.TypeNS && owner != "." && dns.In(name, owner) && answer.Rcode == mdns.RcodeSuccess {
			return platform.NewError(platform.ClassNotFound, "DNS server %s does not have the zone of %s: %s is delegated to others",
				c.server, name, owner)
		}
	}
	return nil
}
