// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package mutator

import (
	"math/bits"
	"net/netip"
	"slices"
	"strings"
)

const (
	// minParts is the minimum number of parts of a network, so that sites can be added later.
	minParts = 4
	// maxSplit is the maximum number of bits by which the prefix of a site is longer than that of the network.
	maxSplit = 8
	// minHostBits is the minimum number of host bits, as required by validation.
	minHostBits = 3
)

// addresses is a range of addresses.
type addresses struct {
	first, last netip.Addr
}

// parseAddresses reads a CIDR or a range such as 192.0.2.10-192.0.2.20.
func parseAddresses(value string) (addresses, bool) {
	if first, last, ok := strings.Cut(value, "-"); ok {
		from, fromErr := netip.ParseAddr(strings.TrimSpace(first))
		to, toErr := netip.ParseAddr(strings.TrimSpace(last))
		return addresses{from, to}, fromErr == nil && toErr == nil
	}
	prefix, err := netip.ParsePrefix(value)
	if err != nil {
		return addresses{}, false
	}
	return addressesOf(prefix), true
}

func addressesOf(prefix netip.Prefix) addresses {
	prefix = prefix.Masked()
	last := prefix.Addr().AsSlice()
	for bit := prefix.Bits(); bit < len(last)*8; bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	addr, _ := netip.AddrFromSlice(last)
	return addresses{prefix.Addr(), addr}
}

func (a addresses) overlaps(other addresses) bool {
	return a.first.Is4() == other.first.Is4() && a.first.Compare(other.last) <= 0 && other.first.Compare(a.last) <= 0
}

// partBits returns the prefix length of equal parts of a network for the number of sites. At least one part remains free for later use.
func partBits(network netip.Prefix, sites int) int {
	parts := max(sites+1, minParts)
	return min(network.Bits()+bits.Len(uint(parts-1)), smallestBits(network)) // #nosec G115 -- parts is positive
}

// smallestBits returns the prefix length of the smallest part that a site may get.
func smallestBits(network netip.Prefix) int {
	return max(network.Bits(), min(network.Bits()+maxSplit, network.Addr().BitLen()-minHostBits))
}

// freePart returns the first free part of the network: one of the equal parts or, if there is none, the largest smaller one.
func freePart(network netip.Prefix, sites int, taken []addresses) (netip.Prefix, bool) {
	for length := partBits(network, sites); length <= smallestBits(network); length++ {
		if part, ok := freePrefix(network, length, taken); ok {
			return part, true
		}
	}
	return netip.Prefix{}, false
}

func freePrefix(network netip.Prefix, length int, taken []addresses) (netip.Prefix, bool) {
	for part := netip.PrefixFrom(network.Addr(), length); network.Contains(part.Addr()); {
		candidate := addressesOf(part)
		index := slices.IndexFunc(taken, candidate.overlaps)
		if index < 0 {
			return part, true
		}
		// The overlapping range may be larger than a part: continue behind it.
		behind := candidate.last
		if taken[index].last.Compare(behind) > 0 {
			behind = addressesOf(netip.PrefixFrom(taken[index].last, length)).last
		}
		next := behind.Next()
		if !next.IsValid() {
			break
		}
		part = netip.PrefixFrom(next, length)
	}
	return netip.Prefix{}, false
}
