// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"net/netip"
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// recordRanges keeps the ranges by which is told, also after the site left the shoot, what Services left behind.
func recordRanges(state *v1alpha1.OpenStackState, network site.Network) {
	state.NodeRanges = cidrsOf(network.Nodes)
	state.PodRanges = cidrsOf(network.Pods)
}

// ranges are address ranges.
type ranges []netip.Prefix

// nodeRanges are the ranges of the site's nodes: those of the shoot or, if it does not use the site any more, those of the state.
func (f *flow) nodeRanges() ranges {
	return knownRanges(f.site.Network.Nodes, f.State().NodeRanges)
}

// podRanges are the shoot's pod ranges.
func (f *flow) podRanges() ranges {
	return knownRanges(f.site.Network.Pods, f.State().PodRanges)
}

func knownRanges(network []netip.Prefix, recorded []string) ranges {
	if len(network) > 0 {
		return network
	}
	var result ranges
	for _, text := range recorded {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			result = append(result, prefix)
		}
	}
	return result
}

// contain reports whether an address is in one of the ranges.
func (r ranges) contain(address string) bool {
	parsed, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(r, func(prefix netip.Prefix) bool { return prefix.Contains(parsed) })
}

// containRange reports whether a range is part of one of the ranges.
func (r ranges) containRange(cidr string) bool {
	parsed, err := netip.ParsePrefix(cidr)
	return err == nil && slices.ContainsFunc(r, func(prefix netip.Prefix) bool {
		return prefix.Bits() <= parsed.Bits() && prefix.Contains(parsed.Addr())
	})
}

func cidrsOf(prefixes []netip.Prefix) []string {
	var result []string
	for _, prefix := range prefixes {
		result = append(result, prefix.String())
	}
	return result
}
