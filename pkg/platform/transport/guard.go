// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	keepAlive   = 30 * time.Second
	// maxAddresses limits how many addresses of a host are tried.
	maxAddresses = 4
)

// ErrForbidden means that a tenant configured a host that tenants must not use.
var ErrForbidden = errors.New("connections to this address are not allowed")

// Guard opens connections to hosts that were configured by a tenant. It resolves a host once and connects only to the addresses that it
// checked, so that DNS rebinding has no effect. The most specific network that contains an address decides.
type Guard struct {
	// Allowed are networks that may be connected to although they are not public, or part of a larger network in Refused.
	Allowed []netip.Prefix
	// Refused are networks that must not be connected to although they are public, or part of a larger network in Allowed.
	Refused []netip.Prefix
	// PlainHTTP permits requests without TLS to addresses in Allowed.
	PlainHTTP bool
	// Resolver resolves hosts; nil uses the system's resolver.
	Resolver Resolver `json:"-"`
}

// Resolver resolves hosts.
type Resolver interface {
	// LookupNetIP returns the addresses of the host.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

var (
	public = prefixes("0.0.0.0/0", "2000::/3")
	// notPublic are the networks of IANA's special-purpose address registries, and the address of Azure's instance metadata service.
	notPublic = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3", "168.63.129.16/32",
		"::/0", "::/8", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "2001::/23", "2001:db8::/32", "3fff::/20",
	)
	// translators map networks with embedded IPv4 addresses to the octet where those begin.
	translators = map[netip.Prefix]int{netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("2002::/16"): 2}
)

func prefixes(texts ...string) []netip.Prefix {
	result := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		result[i] = netip.MustParsePrefix(text)
	}
	return result
}

// Refusing returns a copy of the guard that also refuses the given networks.
func (g *Guard) Refusing(networks []netip.Prefix) *Guard {
	result := *g
	result.Refused = slices.Concat(g.Refused, networks)
	return &result
}

// DialContext connects to the host and port. The error is ErrForbidden if the host has no permitted address.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, err := cmp.Or[Resolver](g.Resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	_, plain := ctx.Value(plainHTTP{}).(bool)
	addresses = slices.DeleteFunc(addresses, func(a netip.Addr) bool { return !g.permits(a, plain) })
	addresses = addresses[:min(len(addresses), maxAddresses)]
	if len(addresses) == 0 {
		return nil, fmt.Errorf("%s: %w", host, ErrForbidden)
	}
	dialer := net.Dialer{Timeout: dialTimeout / time.Duration(len(addresses)), KeepAlive: keepAlive}
	var errs []error
	for _, a := range addresses {
		conn, err := dialer.DialContext(ctx, network, netip.AddrPortFrom(a.Unmap(), uint16(port)).String())
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// permits reports whether the address may be connected to, without TLS if plain is true.
func (g *Guard) permits(address netip.Addr, plain bool) bool {
	address = address.WithZone("").Unmap()
	for translator, octet := range translators {
		if raw := address.As16(); translator.Contains(address) {
			address = netip.AddrFrom4([4]byte(raw[octet : octet+4]))
		}
	}
	bits, permitted, listed := -1, false, false
	decide := func(networks []netip.Prefix, permit, operator bool) {
		for _, network := range networks {
			if network.Contains(address) && network.Bits() >= bits {
				bits, permitted, listed = network.Bits(), permit, operator
			}
		}
	}
	decide(public, true, false)
	decide(notPublic, false, false)
	decide(g.Refused, false, false)
	decide(g.Allowed, true, true)
	return permitted && (!plain || listed && g.PlainHTTP)
}

// plainHTTP is the context key of requests without TLS.
type plainHTTP struct{}

// admit returns the request if it uses TLS or is permitted to go without.
func (g *Guard) admit(request *http.Request) (*http.Request, error) {
	switch {
	case request.URL.Scheme == "https":
		return request, nil
	case request.URL.Scheme == "http" && g.PlainHTTP:
		return request.WithContext(context.WithValue(request.Context(), plainHTTP{}, true)), nil
	default:
		return nil, fmt.Errorf("%s without TLS: %w", request.URL.Host, ErrForbidden)
	}
}
