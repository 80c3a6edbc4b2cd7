// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"maps"
	"net/netip"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// pair are two sites.
type pair [2]*subject

// pairChecks are the checks of pairs of sites.
var pairChecks = platform.Checks[*pair]{
	{Check: platform.Check{
		ID:     "pair-range",
		Title:  "The ranges of the nodes of two sites do not overlap.",
		Remedy: "Give each site a range of its own.",
	}, Run: (*pair).checkPairRange},
	{Check: platform.Check{
		ID:     "pair-api",
		Title:  "The API of a site is not in the node range of another one.",
		Remedy: "Choose another range, so that a site does not depend on the network of another one.",
	}, Run: (*pair).checkPairAPI},
	{Check: platform.Check{
		ID:     "pair-clock",
		Title:  "The clocks of the APIs of two sites agree.",
		Remedy: "Let both sites use the same time servers.",
	}, Run: (*pair).checkPairClock},
	{Check: platform.Check{
		ID:     "pair-mtu",
		Title:  "Sites that share one network have one MTU.",
		Remedy: "Set the MTU of both sites to the smaller one in the InfrastructureConfig, and configure the hypervisors and switches for it.",
	}, Run: (*pair).checkPairMTU},
	{Check: platform.Check{
		ID:     "pair-topology",
		Title:  "The networks of two sites fit the topology.",
		Remedy: "With Routed, each site needs a gateway in its own range. With Stretched, all gateways must be in `networks.nodes`.",
		Needs:  []string{"pair-range"},
	}, Run: (*pair).checkPairTopology},
	{Check: platform.Check{
		ID:     "pair-dns",
		Title:  "A site does not use only DNS servers in the network of another site.",
		Remedy: "Give each site a DNS server that it can reach when the other site is cut off.",
	}, Run: (*pair).checkPairDNS},
	{Check: platform.Check{
		ID:     "pair-place",
		Title:  "Two sites are two places.",
		Remedy: "Use one site with several zones: two sites at the same place fail together.",
	}, Run: (*pair).checkPairPlace},
}

// each calls check with both sites in both orders.
func (p *pair) each(check func(s, other *subject)) {
	check(p[0], p[1])
	check(p[1], p[0])
}

func (p *pair) checkPairRange(_ context.Context, result *platform.Result) error {
	for i, prefix := range p[1].Network.Nodes {
		if other := overlapping(spans("nodes", p[0].Network.Nodes...), prefix); other != nil {
			result.Invalid(p[1].path.Child("nodes").Index(i), prefix.String(), "overlaps with %s of site %q", other.prefix, p[0].Name)
		}
	}
	return nil
}

// checkPairAPI warns: that the control plane cannot reach a private address in the shoot's ranges is another check.
func (p *pair) checkPairAPI(_ context.Context, result *platform.Result) error {
	p.each(func(s, other *subject) {
		addresses, err := s.face.addresses()
		if err != nil {
			return // another check of the site tells that
		}
		for _, addr := range addresses {
			if found := contains(spans("nodes", other.Network.Nodes...), addr); found != nil {
				result.Warn(other.path.Child("nodes"), "%s of site %q is at %s, which is in the range %s of site %q", s.face.contact.What, s.Name,
					addr, found.prefix, other.Name)
				return
			}
		}
	})
	return nil
}

func (p *pair) checkPairClock(_ context.Context, result *platform.Result) error {
	var looks [2]transport.Look
	for i, s := range p {
		looks[i], _ = s.face.look()
		if looks[i].Date.IsZero() {
			result.Depend(checkClock)
			return nil
		}
	}
	first, second := looks[0], looks[1]
	judgeOffset(result, p[1], second.Offset-first.Offset, first.Uncertainty+second.Uncertainty,
		fmt.Sprintf("the clock of the API of site %q", p[1].Name), fmt.Sprintf("that of site %q", p[0].Name))
	return nil
}

// checkPairMTU fails for sites that share one network: large packets from one would be dropped by the other.
func (p *pair) checkPairMTU(_ context.Context, result *platform.Result) error {
	if p[0].Network.Topology != v1alpha1.TopologyStretched {
		return nil
	}
	first, second := p[0].mtu(), p[1].mtu()
	if first > 0 && second > 0 && first != second {
		result.Invalid(p[1].path.Child("mtu"), fmt.Sprint(second), "site %q has %d in the same network", p[0].Name, first)
	}
	return nil
}

// mtu returns the MTU of the site's node network, zero if it is not known.
func (s *subject) mtu() int32 {
	configured, told := s.Network.MTU, s.discoveredMTU()
	if configured == 0 || told > 0 && told < configured {
		return told
	}
	return configured
}

func (p *pair) checkPairTopology(_ context.Context, result *platform.Result) error {
	p.each(func(s, other *subject) {
		gateway := s.Network.Gateway
		if !gateway.IsValid() || s.Network.Topology != v1alpha1.TopologyRouted {
			return
		}
		if found := contains(spans("nodes", other.Network.Nodes...), gateway); found != nil {
			result.Invalid(s.path.Child("gateway"), gateway.String(), "is in the range %s of site %q", found.prefix, other.Name)
		}
	})
	if gateways := [2]netip.Addr{p[0].Network.Gateway, p[1].Network.Gateway}; p[0].Network.Topology == v1alpha1.TopologyStretched &&
		gateways[0].IsValid() != gateways[1].IsValid() {
		result.Warn(p[0].path.Child("gateway"), "only one of both sites has a gateway, although they share one network")
	}
	return nil
}

func (p *pair) checkPairDNS(_ context.Context, result *platform.Result) error {
	p.each(func(s, other *subject) {
		foreign := 0
		for _, text := range s.Network.DNSServers {
			if server, err := netip.ParseAddr(text); err == nil && contains(spans("nodes", other.Network.Nodes...), server) != nil {
				foreign++
			}
		}
		if foreign > 0 && foreign == len(s.Network.DNSServers) {
			result.Warn(s.path.Child("dnsServers"), "all DNS servers are in the range of site %q", other.Name)
		}
	})
	return nil
}

// checkPairPlace warns about two names of one place, with the same credentials.
func (p *pair) checkPairPlace(_ context.Context, result *platform.Result) error {
	first, second := p[0], p[1]
	if first.Profile == nil || second.Profile == nil || first.Platform != second.Platform ||
		first.Profile.Endpoint() != second.Profile.Endpoint() ||
		!maps.Equal(first.Profile.Scope(), second.Profile.Scope()) || !maps.Equal(first.Credentials, second.Credentials) {
		return nil
	}
	for _, zone := range first.Profile.Zones {
		for _, other := range second.Profile.Zones {
			if zone.Name = other.Name; equality.Semantic.DeepEqual(zone, other) {
				result.Warn(second.path.Child("name"), "site %q is at the same API, in the same failure domain", first.Name)
				return nil
			}
		}
	}
	return nil
}
