// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// minMTU is the minimum MTU of IPv6 in bytes.
	minMTU = 1280
	// maxMTU is the maximum MTU of Ethernet equipment in bytes.
	maxMTU = 9216
	// minHostBits is the minimum number of host bits of a node range: gateway, first and last address are not available to nodes.
	minHostBits = 3
)

// validateCIDRs checks the ranges of a node network and returns those that are valid.
func validateCIDRs(cidrs []string, fldPath *field.Path) ([]netip.Prefix, field.ErrorList) {
	var (
		allErrs  field.ErrorList
		prefixes []netip.Prefix
		families = map[bool]bool{}
	)
	if len(cidrs) == 0 {
		return nil, append(allErrs, field.Required(fldPath, "must have one CIDR per IP family"))
	}
	for i, cidr := range cidrs {
		idxPath := fldPath.Index(i)
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			allErrs = append(allErrs, field.Invalid(idxPath, cidr, "must be a CIDR such as 10.250.0.0/16"))
			continue
		}
		if masked := prefix.Masked(); masked != prefix {
			allErrs = append(allErrs, field.Invalid(idxPath, cidr, fmt.Sprintf("must have no host bits: %s", masked)))
			continue
		}
		if bits := prefix.Addr().BitLen() - minHostBits; prefix.Bits() > bits {
			allErrs = append(allErrs, field.Invalid(idxPath, cidr, fmt.Sprintf("must be /%d or larger", bits)))
			continue
		}
		if families[prefix.Addr().Is4()] {
			allErrs = append(allErrs, field.Invalid(idxPath, cidr, "must be the only CIDR of its IP family"))
			continue
		}
		families[prefix.Addr().Is4()] = true
		prefixes = append(prefixes, prefix)
	}
	return prefixes, allErrs
}

// validateGateway checks that the address, if there is one, is one that a host in the ranges can have.
func validateGateway(gateway string, ranges []netip.Prefix, fldPath *field.Path) field.ErrorList {
	if gateway == "" {
		return nil
	}
	addr, err := netip.ParseAddr(gateway)
	if err != nil {
		return field.ErrorList{field.Invalid(fldPath, gateway, "must be an IP address")}
	}
	if len(ranges) == 0 {
		return nil
	}
	for _, prefix := range ranges {
		if prefix.Contains(addr) {
			if addr == prefix.Addr() || addr == netipx.PrefixLastIP(prefix) {
				return field.ErrorList{field.Invalid(fldPath, gateway, fmt.Sprintf("must not be the first or last address of %s", prefix))}
			}
			return nil
		}
	}
	return field.ErrorList{field.Invalid(fldPath, gateway, fmt.Sprintf("must be an address in %s", ranges))}
}

func validateDNSServers(servers []string, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	seen := names{}
	for i, server := range servers {
		if _, err := netip.ParseAddr(server); err != nil {
			allErrs = append(allErrs, field.Invalid(fldPath.Index(i), server, "must be an IP address"))
			continue
		}
		allErrs = append(allErrs, seen.add(server, fldPath.Index(i))...)
	}
	return allErrs
}

func validateMTU(mtu *int32, fldPath *field.Path) field.ErrorList {
	if mtu == nil || *mtu >= minMTU && *mtu <= maxMTU {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath, *mtu, fmt.Sprintf("must be between %d and %d", minMTU, maxMTU))}
}

// inside reports whether one of the outer ranges contains all of the inner one.
func inside(outer []netip.Prefix, inner netip.Prefix) bool {
	for _, prefix := range outer {
		if prefix.Bits() <= inner.Bits() && prefix.Contains(inner.Addr()) {
			return true
		}
	}
	return false
}

func sameFamilies(a, b []netip.Prefix) bool {
	families := func(prefixes []netip.Prefix) (v4, v6 bool) {
		for _, prefix := range prefixes {
			v4 = v4 || prefix.Addr().Is4()
			v6 = v6 || prefix.Addr().Is6()
		}
		return v4, v6
	}
	a4, a6 := families(a)
	b4, b6 := families(b)
	return a4 == b4 && a6 == b6
}
