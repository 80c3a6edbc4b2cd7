// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"net/netip"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"go4.org/netipx"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// maxHostBits is the number of host bits from which on a range is large enough for any shoot.
	maxHostBits = 20
	// notForNodes is the number of addresses of a range that nodes do not get: the first, the last, and the gateway.
	notForNodes = 3
)

var emptyStatus v1alpha1.InfrastructureStatus

// span is a range of addresses and what has it.
type span struct {
	name   string
	prefix netip.Prefix
}

// unusable are ranges that no host outside a node has.
var unusable = slices.Concat(
	parseSpans("Gardener's VPN", v1beta1constants.DefaultVPNRangeV6, v1beta1constants.ReservedKubeApiServerMappingRange,
		v1beta1constants.ReservedSeedPodNetworkMappedRange, v1beta1constants.ReservedShootNodeNetworkMappedRange,
		v1beta1constants.ReservedShootServiceNetworkMappedRange, v1beta1constants.ReservedShootPodNetworkMappedRange),
	parseSpans("loopback", "127.0.0.0/8", "::1/128"),
	parseSpans("multicast", "224.0.0.0/4", "ff00::/8"),
)

// reserved are ranges that nodes must not have.
var reserved = append(parseSpans("link-local addresses", "169.254.0.0/16", "fe80::/10"), unusable...)

func parseSpans(name string, texts ...string) []span {
	var result []span
	for _, text := range texts {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			result = append(result, span{name: name, prefix: prefix.Masked()})
		}
	}
	return result
}

func spans(name string, prefixes ...netip.Prefix) []span {
	var result []span
	for _, prefix := range prefixes {
		result = append(result, span{name: name, prefix: prefix})
	}
	return result
}

// rangesOfShoot returns the ranges of pods and services.
func rangesOfShoot(networking *gardencorev1beta1.Networking) []span {
	if networking == nil {
		return nil
	}
	return append(parseSpans("pods", ptr.Deref(networking.Pods, "")), parseSpans("services", ptr.Deref(networking.Services, ""))...)
}

// rangesOfSeed returns the ranges that the seed blocks, or those of its own networks. seed may be nil.
func rangesOfSeed(seed *gardencorev1beta1.SeedNetworks, blocked bool) []span {
	switch {
	case seed == nil:
		return nil
	case blocked:
		return parseSpans("blocked CIDRs", seed.BlockCIDRs...)
	}
	return slices.Concat(parseSpans("nodes", ptr.Deref(seed.Nodes, "")), parseSpans("pods", seed.Pods), parseSpans("services", seed.Services))
}

// contains returns the first range with the address, nil if there is none.
func contains(ranges []span, addr netip.Addr) *span {
	addr = addr.Unmap().WithZone("")
	i := slices.IndexFunc(ranges, func(s span) bool { return s.prefix.Contains(addr) })
	if i < 0 {
		return nil
	}
	return &ranges[i]
}

// overlapping returns the first range that overlaps with the prefix, nil if there is none.
func overlapping(ranges []span, prefix netip.Prefix) *span {
	i := slices.IndexFunc(ranges, func(s span) bool { return s.prefix.Overlaps(prefix) })
	if i < 0 {
		return nil
	}
	return &ranges[i]
}

// edges returns the first and the last address of each range of IPv4. A range of IPv6 has no broadcast address.
func edges(prefixes []netip.Prefix) []span {
	var result []span
	for _, prefix := range prefixes {
		if prefix.Addr().Is4() {
			for _, addr := range []netip.Addr{prefix.Masked().Addr(), netipx.PrefixLastIP(prefix)} {
				result = append(result, span{prefix: netip.PrefixFrom(addr, addr.BitLen())})
			}
		}
	}
	return result
}
