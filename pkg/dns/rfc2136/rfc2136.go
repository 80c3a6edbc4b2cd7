// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package rfc2136 changes records on servers that take dynamic updates (RFC 2136) signed with TSIG (RFC 8945).
//
// Queries are signed too, and answers must be: the same key tells which view of a server is meant, and nobody else can say that
// there is nothing to do. Everything goes over TCP, which has room for each answer.
package rfc2136

import (
	"context"
	"crypto/sha256"
	"net"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

const (
	defaultPort = "53"
	// requestTimeout is how long the server may take to take a connection or to answer a message.
	requestTimeout = 10 * time.Second
	// visibleTimeout is how long is waited for a server to answer with an update that it accepted. One that is a secondary hands the update
	// to its primary and gets it back by a transfer, which may take longer.
	visibleTimeout = time.Second
	firstLook      = 100 * time.Millisecond
)

// algorithms are the algorithms of keys by their names. SHA-1 and MD5 are not among them.
var algorithms = map[string]string{
	"":            mdns.HmacSHA256,
	"hmac-sha256": mdns.HmacSHA256,
	"hmac-sha384": mdns.HmacSHA384,
	"hmac-sha512": mdns.HmacSHA512,
}

type service struct {
	guard *transport.Guard
	zones dns.Cache[string]
}

// New returns the DNS service of servers that take dynamic updates. The guard opens all connections.
func New(guard *transport.Guard) dns.Service {
	return &service{guard: guard}
}

// Open implements dns.Service. It sends nothing.
func (s *service) Open(_ context.Context, access dns.Access) (dns.Provider, error) {
	if access.Site != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "credentials: key dns.site is for records of OpenStack Designate only")
	}
	credentials := access.Credentials
	for _, key := range []string{"server", "tsigKeyName", "tsigSecret"} {
		if credentials[key] == "" {
			return nil, platform.NewError(platform.ClassConfiguration,
				"credentials: key %q is missing; server, tsigKeyName and tsigSecret are needed", key)
		}
	}
	algorithm, ok := algorithms[strings.ToLower(strings.TrimSuffix(credentials["tsigAlgorithm"], "."))]
	if !ok {
		return nil, platform.NewError(platform.ClassConfiguration, "credentials: tsigAlgorithm must be hmac-sha256, hmac-sha384 or hmac-sha512")
	}
	key, server := dns.Canonical(credentials["tsigKeyName"]), address(credentials["server"])
	return &provider{
		service: s,
		client: &client{
			server:    server,
			key:       key,
			algorithm: algorithm,
			identity:  sha256.Sum256([]byte(strings.Join([]string{server, key, algorithm, credentials["tsigSecret"]}, " "))),
			dial:      s.guard.Refusing(access.Refused).DialContext,
			messages:  &mdns.Client{Net: "tcp", Timeout: requestTimeout, TsigSecret: map[string]string{key: credentials["tsigSecret"]}},
		},
	}, nil
}

// address adds the port to a server that has none.
func address(server string) string {
	if _, _, err := net.SplitHostPort(server); err == nil {
		return server
	}
	return net.JoinHostPort(strings.Trim(server, "[]"), defaultPort)
}

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
