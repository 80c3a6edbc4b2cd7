// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// addressRange is a range of addresses, including the last.
type addressRange struct {
	first, last netip.Addr
}

// parseAddressRange reads a CIDR, or two addresses with a dash between them.
func parseAddressRange(value string) (addressRange, bool) {
	if first, last, isRange := strings.Cut(value, "-"); isRange {
		from, fromErr := netip.ParseAddr(strings.TrimSpace(first))
		to, toErr := netip.ParseAddr(strings.TrimSpace(last))
		ok := fromErr == nil && toErr == nil && from.Is4() == to.Is4() && from.Compare(to) <= 0
		return addressRange{from, to}, ok
	}
	prefix, err := netip.ParsePrefix(value)
	if err != nil || prefix.Masked() != prefix {
		return addressRange{}, false
	}
	return rangeOf(prefix), true
}

func rangeOf(prefix netip.Prefix) addressRange {
	return addressRange{prefix.Addr(), lastAddr(prefix)}
}

func (r addressRange) overlaps(other addressRange) bool {
	return r.first.Is4() == other.first.Is4() && r.first.Compare(other.last) <= 0 && other.first.Compare(r.last) <= 0
}

func (r addressRange) contains(addr netip.Addr) bool {
	return r.overlaps(addressRange{addr, addr})
}

// taken is a range of addresses that load balancers must not use.
type taken struct {
	addressRange
	by string
}

// addressPools validates the addresses of load balancers of the shoot.
type addressPools struct {
	// subnets are the ranges of the L2 network of each site.
	subnets map[string][]addressRange
	// nodes are the ranges of the machines of each site.
	nodes []siteRange
	// taken are the ranges that no pool may use.
	taken []taken
	// stretched is true if the network has addresses besides those of the machines.
	stretched bool
}

func newAddressPools(infrastructure *v1alpha1.InfrastructureConfig, networking *gardencorev1beta1.Networking) *addressPools {
	p := &addressPools{subnets: map[string][]addressRange{}, stretched: infrastructure.Networks.Topology == v1alpha1.TopologyStretched}
	if networking != nil {
		p.takeRange("the Shoot's spec.networking.pods", networking.Pods)
		p.takeRange("the Shoot's spec.networking.services", networking.Services)
	}
	p.takeAddress("the gateway", infrastructure.Networks.Gateway)
	for i := range infrastructure.Sites {
		site := &infrastructure.Sites[i]
		subnets := site.Nodes
		if p.stretched {
			subnets = infrastructure.Networks.Nodes
		}
		p.subnets[site.Name] = parseRanges(subnets)
		for _, cidr := range site.Nodes {
			if prefix, err := netip.ParsePrefix(cidr); err == nil {
				p.nodes = append(p.nodes, siteRange{site.Name, prefix})
			}
		}
		p.takeAddress(fmt.Sprintf("the gateway of site %q", site.Name), p.gatewayOf(site))
	}
	return p
}

// gatewayOf returns the gateway of a site. Default: the first address of its own subnet.
func (p *addressPools) gatewayOf(site *v1alpha1.InfrastructureSite) string {
	if site.Gateway == "" && !p.stretched && len(site.Nodes) > 0 {
		if prefix, err := netip.ParsePrefix(site.Nodes[0]); err == nil {
			return prefix.Masked().Addr().Next().String()
		}
	}
	return site.Gateway
}

func (p *addressPools) takeRange(by string, cidr *string) {
	if cidr == nil {
		return
	}
	if parsed, ok := parseAddressRange(*cidr); ok {
		p.taken = append(p.taken, taken{parsed, fmt.Sprintf("%s, which is %s", by, *cidr)})
	}
}

func (p *addressPools) takeAddress(by, address string) {
	if addr, err := netip.ParseAddr(address); err == nil {
		p.taken = append(p.taken, taken{addressRange{addr, addr}, fmt.Sprintf("%s, which is %s", by, address)})
	}
}

func parseRanges(cidrs []string) []addressRange {
	var ranges []addressRange
	for _, cidr := range cidrs {
		if parsed, ok := parseAddressRange(cidr); ok {
			ranges = append(ranges, parsed)
		}
	}
	return ranges
}

// validate checks the addresses of a pool of the site, and reserves them. Addresses that are announced in the site's network must be in
// that network. If the site has its own subnet, the shoot owner has to keep machines from using them.
func (p *addressPools) validate(site string, pool *v1alpha1.MetalLBAddressPool, fldPath *field.Path) field.ErrorList {
	var (
		allErrs  field.ErrorList
		inSubnet = pool.Advertisement == v1alpha1.MetalLBAdvertisementL2
	)
	if len(pool.CIDRs) == 0 {
		return append(allErrs, field.Required(fldPath, "must have at least one CIDR or range"))
	}
	for i, value := range pool.CIDRs {
		idxPath := fldPath.Index(i)
		addresses, ok := parseAddressRange(value)
		if !ok {
			allErrs = append(allErrs, field.Invalid(idxPath, value, "must be a CIDR such as 192.0.2.0/28, or a range such as 192.0.2.10-192.0.2.20"))
			continue
		}
		if !inSubnet && !addresses.first.Is4() {
			allErrs = append(allErrs, field.Invalid(idxPath, value, "must be IPv4: MetalLB does not announce IPv6 addresses with BGP"))
		}
		for _, other := range p.taken {
			if addresses.overlaps(other.addressRange) {
				allErrs = append(allErrs, field.Invalid(idxPath, value, fmt.Sprintf("must not overlap with %s", other.by)))
			}
		}
		for _, nodes := range p.nodes {
			if (!inSubnet || p.stretched || nodes.site != site) && addresses.overlaps(rangeOf(nodes.prefix)) {
				allErrs = append(allErrs,
					field.Invalid(idxPath, value,
						fmt.Sprintf("must not overlap with the addresses of the machines of site %q, which are %s", nodes.site, nodes.prefix)))
			}
		}
		if subnets := p.subnets[site]; inSubnet && len(subnets) > 0 &&
			!slices.ContainsFunc(subnets, func(s addressRange) bool { return s.contains(addresses.first) && s.contains(addresses.last) }) {
			allErrs = append(allErrs,
				field.Invalid(idxPath, value, "must be within the network of the site's nodes, where its addresses are announced"))
		}
		p.taken = append(p.taken, taken{addresses, fmt.Sprintf("pool %q of site %q", pool.Name, site)})
	}
	return allErrs
}
