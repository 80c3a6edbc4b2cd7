// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package rfc2136 manages records on servers that support dynamic updates (RFC 2136) signed with TSIG (RFC 8945).
//
// Queries are signed, too, and responses must be: the key selects the view of a server, and no other server can pretend that a record is up
// to date. All messages use TCP, which has room for every response.
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
	// requestTimeout limits the time to connect and to answer a message.
	requestTimeout = 10 * time.Second
	// visibleTimeout limits the wait for a server to serve an update that it accepted. A secondary forwards the update to its primary and
	// receives it by a transfer, which may take longer.
	visibleTimeout = time.Second
	firstPoll      = 100 * time.Millisecond
)

// algorithms maps names to key algorithms. SHA-1 and MD5 are not supported.
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

// New returns the DNS service of servers with dynamic updates. The guard opens all connections.
func New(guard *transport.Guard) dns.Service {
	return &service{guard: guard}
}

// Open implements dns.Service. It sends no request.
func (s *service) Open(_ context.Context, access dns.Access) (dns.Provider, error) {
	if access.Site != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "credentials: key dns.site is only supported for OpenStack Designate")
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

// address adds the default port if the server has none.
func address(server string) string {
	if _, _, err := net.SplitHostPort(server); err == nil {
		return server
	}
	return net.JoinHostPort(strings.Trim(server, "[]"), defaultPort)
}

// Zone implements dns.Provider. A server does not list its zones. But a query for the SOA record of a name without one returns that of the
// enclosing zone, so the first query is usually the last.
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
	return "", platform.NewError(platform.ClassNotFound, "DNS server %s has no zone for %s", p.server, name)
}

func (p *provider) cacheKey(name string) string {
	return string(p.identity[:]) + name
}

// zoneOf returns the zone from which the server answers the name, or an empty string if it does not say. Only authoritative responses
// count.
func (c *connection) zoneOf(ctx context.Context, name string) (string, error) {
	answer, err := c.query(ctx, name, mdns.TypeSOA)
	if err != nil {
		return "", err
	}
	if answer.Rcode == mdns.RcodeServerFailure {
		return "", c.classify(answer, "a query for the zone of "+name)
	}
	if !answer.Authoritative {
		return "", c.checkAuthority(answer, name)
	}
	for _, rr := range append(answer.Answer, answer.Ns...) {
		owner := dns.Canonical(rr.Header().Name)
		switch rr.Header().Rrtype {
		case mdns.TypeSOA:
			if dns.In(name, owner) {
				return owner, nil
			}
		case mdns.TypeCNAME, mdns.TypeDNAME:
			return "", nil // the following records have another name
		}
	}
	return "", nil
}

// checkAuthority returns an error if the server delegates the zone of the name. A record above the delegation would never be served.
func (c *connection) checkAuthority(answer *mdns.Msg, name string) error {
	for _, rr := range answer.Ns {
		owner := dns.Canonical(rr.Header().Name)
		if rr.Header().Rrtype == mdns.TypeNS && owner != "." && dns.In(name, owner) && answer.Rcode == mdns.RcodeSuccess {
			return platform.NewError(platform.ClassNotFound, "DNS server %s does not have the zone of %s: %s is delegated to other servers",
				c.server, name, owner)
		}
	}
	return nil
}
