// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// maxAddressRanges is the maximum number of address ranges of the load balancers of a shoot.
const maxAddressRanges = 256

// ParseAddressRange reads a CIDR, or two addresses of one IP family with a dash between them.
func ParseAddressRange(value string) (netipx.IPRange, bool) {
	if first, last, isRange := strings.Cut(value, "-"); isRange {
		from, fromErr := netip.ParseAddr(strings.TrimSpace(first))
		to, toErr := netip.ParseAddr(strings.TrimSpace(last))
		addresses := netipx.IPRangeFrom(from, to)
		return addresses, fromErr == nil && toErr == nil && addresses.IsValid()
	}
	prefix, err := netip.ParsePrefix(value)
	return netipx.RangeOfPrefix(prefix), err == nil && prefix.Masked() == prefix
}

// taken is a range of addresses that load balancers must not use.
type taken struct {
	netipx.IPRange
	by string
}

// addressPools validates the addresses of load balancers of the shoot.
type addressPools struct {
	// subnets are the ranges of the L2 network of each site.
	subnets map[string][]netipx.IPRange
	// nodes are the ranges of the machines of each site.
	nodes []siteRange
	// taken are the ranges that no pool may use.
	taken []taken
	// stretched is true if the network has addresses besides those of the machines.
	stretched bool
}

func newAddressPools(infrastructure *v1alpha1.InfrastructureConfig, networking *gardencorev1beta1.Networking) *addressPools {
	p := &addressPools{subnets: map[string][]netipx.IPRange{}, stretched: infrastructure.Networks.Topology == v1alpha1.TopologyStretched}
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
	if parsed, ok := ParseAddressRange(*cidr); ok {
		p.taken = append(p.taken, taken{parsed, fmt.Sprintf("%s, which is %s", by, *cidr)})
	}
}

func (p *addressPools) takeAddress(by, address string) {
	if addr, err := netip.ParseAddr(address); err == nil {
		p.taken = append(p.taken, taken{netipx.IPRangeFrom(addr, addr), fmt.Sprintf("%s, which is %s", by, address)})
	}
}

func parseRanges(cidrs []string) []netipx.IPRange {
	var ranges []netipx.IPRange
	for _, cidr := range cidrs {
		if parsed, ok := ParseAddressRange(cidr); ok {
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
		addresses, ok := ParseAddressRange(value)
		if !ok {
			allErrs = append(allErrs, field.Invalid(idxPath, value, "must be a CIDR such as 192.0.2.0/28, or a range such as 192.0.2.10-192.0.2.20"))
			continue
		}
		if !inSubnet && !addresses.From().Is4() {
			allErrs = append(allErrs, field.Invalid(idxPath, value, "must be IPv4: MetalLB does not announce IPv6 addresses with BGP"))
		}
		for _, other := range p.taken {
			if addresses.Overlaps(other.IPRange) {
				allErrs = append(allErrs, field.Invalid(idxPath, value, fmt.Sprintf("must not overlap with %s", other.by)))
			}
		}
		for _, nodes := range p.nodes {
			if (!inSubnet || p.stretched || nodes.site != site) && addresses.Overlaps(netipx.RangeOfPrefix(nodes.prefix)) {
				allErrs = append(allErrs,
					field.Invalid(idxPath, value,
						fmt.Sprintf("must not overlap with the addresses of the machines of site %q, which are %s", nodes.site, nodes.prefix)))
			}
		}
		if subnets := p.subnets[site]; inSubnet && len(subnets) > 0 &&
			!slices.ContainsFunc(subnets, func(s netipx.IPRange) bool { return s.Contains(addresses.From()) && s.Contains(addresses.To()) }) {
			allErrs = append(allErrs,
				field.Invalid(idxPath, value, "must be within the network of the site's nodes, where its addresses are announced"))
		}
		p.taken = append(p.taken, taken{addresses, fmt.Sprintf("pool %q of site %q", pool.Name, site)})
	}
	return allErrs
}

// ValidateAddressesInUse checks that no address pool has addresses that load balancers of other shoots or the APIs of sites use. inUse
// reports whether load balancers do at the site. fldPath is the path of the ControlPlaneConfig.
func ValidateAddressesInUse(config *v1alpha1.ControlPlaneConfig, profile *v1alpha1.CloudProfileConfig,
	inUse func(site string, addresses netipx.IPRange) bool, fldPath *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	var (
		allErrs field.ErrorList
		apis    = addressesOfAPIs(profile)
		ranges  = 0
	)
	for i := range config.Sites {
		site := &config.Sites[i]
		if site.LoadBalancer == nil || site.LoadBalancer.MetalLB == nil {
			continue
		}
		poolsPath := fldPath.Child("sites").Index(i).Child("loadBalancer", "metalLB", "addressPools")
		for j, pool := range site.LoadBalancer.MetalLB.AddressPools {
			if ranges += len(pool.CIDRs); ranges > maxAddressRanges {
				return append(allErrs, field.TooMany(poolsPath.Index(j).Child("cidrs"), ranges, maxAddressRanges))
			}
			for k, value := range pool.CIDRs {
				addresses, ok := ParseAddressRange(value)
				if !ok {
					continue
				}
				idxPath := poolsPath.Index(j).Child("cidrs").Index(k)
				if addresses.From().Is4In6() {
					allErrs = append(allErrs, field.Invalid(idxPath, value, "must be IPv4 without the prefix ::ffff:"))
					continue
				}
				for _, api := range apis {
					if addresses.Overlaps(api.IPRange) {
						allErrs = append(allErrs, field.Invalid(idxPath, value, fmt.Sprintf("must not contain %s", api.by)))
					}
				}
				if inUse(site.Name, addresses) {
					allErrs = append(allErrs,
						field.Invalid(idxPath, value,
							fmt.Sprintf("must not overlap with addresses that are in use for load balancers at site %q: choose other addresses, "+
								"or ask the operator of the site which ones are free", site.Name)))
				}
			}
		}
	}
	return allErrs
}

// addressesOfAPIs returns the IP addresses of the APIs of sites and their proxies. Load balancers with such an address would receive
// requests to the API.
func addressesOfAPIs(profile *v1alpha1.CloudProfileConfig) []taken {
	var result []taken
	if profile == nil {
		return nil
	}
	for i := range profile.Sites {
		site := &profile.Sites[i]
		add := func(what, address string) {
			if parsed, err := url.Parse(address); err == nil {
				if addr, err := netip.ParseAddr(parsed.Hostname()); err == nil {
					addr = addr.Unmap()
					result = append(result, taken{netipx.IPRangeFrom(addr, addr), fmt.Sprintf("the address of the %s of site %q", what, site.Name)})
				}
			}
		}
		add("API", site.Endpoint())
		if site.Proxy != nil {
			add("proxy", site.Proxy.URL)
		}
	}
	return result
}
