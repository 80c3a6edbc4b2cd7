// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package mutator

import (
	"math/bits"
	"net/netip"

	"go4.org/netipx"
)

const (
	// minParts is the minimum number of parts of a network, so that sites can be added later.
	minParts = 4
	// maxSplit is the maximum number of bits by which the prefix of a site is longer than that of the network.
	maxSplit = 8
	// minHostBits is the minimum number of host bits, as required by validation.
	minHostBits = 3
)

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
func freePart(network netip.Prefix, sites int, taken []netipx.IPRange) (netip.Prefix, bool) {
	builder := netipx.IPSetBuilder{}
	builder.AddPrefix(network)
	for _, addresses := range taken {
		builder.RemoveRange(addresses)
	}
	free, err := builder.IPSet()
	if err != nil {
		return netip.Prefix{}, false
	}
	for length := partBits(network, sites); length <= smallestBits(network); length++ {
		for _, prefix := range free.Prefixes() {
			if prefix.Bits() <= length {
				return netip.PrefixFrom(prefix.Addr(), length), true
			}
		}
	}
	return netip.Prefix{}, false
}
