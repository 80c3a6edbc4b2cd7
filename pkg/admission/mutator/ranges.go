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
	// minParts is in how many parts a network is divided at least, so that sites can be added later.
	minParts = 4
	// maxSplit is how many bits longer than the network's the prefix of a site may be.
	maxSplit = 8
	// minHostBits is the number of bits that validation wants to be left for addresses.
	minHostBits = 3
)

// addresses are those from the first to the last one.
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

// partBits returns the length of the prefixes of even parts of a network for so many sites: a power of two of parts of which one or
// more remain for sites and other addresses that come later.
func partBits(network netip.Prefix, sites int) int {
	parts := max(sites+1, minParts)
	return min(network.Bits()+bits.Len(uint(parts-1)), smallestBits(network)) // #nosec G115 -- parts is positive
}

// smallestBits returns the length of the prefix of the smallest part of a network that a site gets.
func smallestBits(network netip.Prefix) int {
	return max(network.Bits(), min(network.Bits()+maxSplit, network.Addr().BitLen()-minHostBits))
}

// freePart returns the first part of the network that has none of the addresses that are taken: an even one, or else the largest
// smaller one.
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
		// What overlaps may be larger than a part: the next candidate is the one behind it.
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
