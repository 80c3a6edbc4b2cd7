// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"net/netip"

	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

func (s *subject) checkRangeShoot(_ context.Context, result *platform.Result) error {
	others := rangesOfShoot(s.shoot.Networking)
	for i, prefix := range s.Network.Nodes {
		if other := overlapping(others, prefix); other != nil {
			result.Invalid(s.path.Child("nodes").Index(i), prefix.String(), "overlaps with the Shoot's %s, which are %s", other.name,
				other.prefix)
		}
	}
	return nil
}

// checkRangeSeed warns about ranges of IPv4, which Gardener maps to others.
func (s *subject) checkRangeSeed(_ context.Context, result *platform.Result) error {
	for i, prefix := range s.Network.Nodes {
		path := s.path.Child("nodes").Index(i)
		switch other := overlapping(append(rangesOfSeed(s.shoot.Seed, false), rangesOfSeed(s.shoot.Seed, true)...), prefix); {
		case other == nil:
		case prefix.Addr().Is4():
			result.Warn(path, "%s overlaps with the seed's %s, which are %s", prefix, other.name, other.prefix)
		default:
			result.Invalid(path, prefix.String(), "overlaps with the seed's %s, which are %s", other.name, other.prefix)
		}
	}
	return nil
}

func (s *subject) checkRangeReserved(_ context.Context, result *platform.Result) error {
	for i, prefix := range s.Network.Nodes {
		if other := overlapping(reserved, prefix); other != nil {
			result.Invalid(s.path.Child("nodes").Index(i), prefix.String(), "overlaps with %s, which is reserved for %s", other.prefix,
				other.name)
		}
	}
	return nil
}

func (s *subject) checkRangeSize(_ context.Context, result *platform.Result) error {
	var minimum, maximum int64
	for _, demand := range s.shoot.Demands[s.Name] {
		minimum += int64(demand.Minimum)
		maximum += int64(demand.Maximum)
	}
	if own := s.Config.MaximumMachines; own != nil {
		maximum = max(minimum, min(maximum, int64(*own)))
	}
	for i, prefix := range s.Network.Nodes {
		size := prefix.Addr().BitLen() - prefix.Bits()
		if size > maxHostBits {
			continue
		}
		var (
			room = int64(1)<<size - notForNodes
			path = s.path.Child("nodes").Index(i)
		)
		switch {
		case minimum > room:
			result.Invalid(path, prefix.String(), "has %d addresses for nodes, and the pools have at least %d machines", room, minimum)
		case maximum > room:
			result.Warn(path, "%s has %d addresses for nodes, and the pools can have %d machines", prefix, room, maximum)
		}
	}
	return nil
}

func (s *subject) checkGateway(_ context.Context, result *platform.Result) error {
	gateway := s.Network.Gateway
	if !gateway.IsValid() {
		return nil
	}
	path := s.path.Child("gateway")
	if other := contains(rangesOfShoot(s.shoot.Networking), gateway); other != nil {
		result.Invalid(path, gateway.String(), "is in the range %s of the Shoot's %s", other.prefix, other.name)
	} else if contains(spans("", s.Network.Subnets...), gateway) == nil {
		result.Invalid(path, gateway.String(), "is not in the site's network").Want = fmt.Sprintf("an address in %s", s.Network.Subnets)
	}
	return nil
}

// checkDNSRange fails for addresses that requests of nodes never leave the node to, or that no host has.
func (s *subject) checkDNSRange(_ context.Context, result *platform.Result) error {
	for i, text := range s.Network.DNSServers {
		server, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		path := s.path.Child("dnsServers").Index(i)
		other := contains(append(rangesOfShoot(s.shoot.Networking), unusable...), server)
		switch {
		case other != nil:
			result.Invalid(path, text, "is in the range %s of %s", other.prefix, other.name)
		case server.IsUnspecified():
			result.Invalid(path, text, "is not the address of a host")
		case contains(edges(s.Network.Subnets), server) != nil:
			result.Invalid(path, text, "is the first or last address of the site's network, which no host has")
		}
	}
	return nil
}

func (s *subject) checkDNSFamily(_ context.Context, result *platform.Result) error {
	if len(s.Network.DNSServers) == 0 || len(s.Network.Nodes) == 0 {
		return nil
	}
	for _, text := range s.Network.DNSServers {
		server, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		for _, prefix := range s.Network.Nodes {
			if prefix.Addr().Is4() == server.Unmap().Is4() {
				return nil
			}
		}
	}
	result.Invalid(s.path.Child("dnsServers"), fmt.Sprint(s.Network.DNSServers), "has no address of an IP family of the nodes %s",
		s.Network.Nodes)
	return nil
}

func (s *subject) checkMTU(_ context.Context, result *platform.Result) error {
	if told := s.discoveredMTU(); told > 0 && s.Network.MTU > told {
		result.Warn(s.path.Child("mtu"), "the MTU is %d, but the site's network reports %d, which is used", s.Network.MTU, told)
	}
	return nil
}

// discoveredMTU returns the MTU that the site's platform reported, zero if it did not.
func (s *subject) discoveredMTU() int32 {
	for i := range ptr.Deref(s.shoot.Status, emptyStatus).Sites {
		if status := &s.shoot.Status.Sites[i]; status.Name == s.Name {
			return status.DiscoveredMTU()
		}
	}
	return 0
}
