// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// ethernetMTU is the MTU in bytes that networks have unless they are configured otherwise.
	ethernetMTU = 1500
	// maxAge is the age of a report that may no longer be true.
	maxAge = 24 * time.Hour
)

// probeChecks are the checks of sites with the report of a probe.
var probeChecks = platform.Checks[*subject]{
	{Check: platform.Check{
		ID:     "probe-age",
		Title:  "The report of the probe is recent.",
		Remedy: "Run the probe again.",
	}, Run: (*subject).checkAge},
	{Check: platform.Check{
		ID:     "probe-address",
		Title:  "The probe ran on a host in the site's network.",
		Remedy: "Run the probe on a host with an address in the network of the site's nodes.",
	}, Run: (*subject).checkProbeAddress},
	{Check: platform.Check{
		ID:     "probe-gateway",
		Title:  "The default gateway in the site's network is that of the site.",
		Remedy: "Correct `gateway` of the site in the InfrastructureConfig, or what DHCP assigns.",
		Needs:  []string{"probe-address"},
	}, Run: (*subject).checkProbeGateway},
	{Check: platform.Check{
		ID:     "probe-interface-mtu",
		Title:  "Interfaces in the site's network have the MTU of the shoot.",
		Remedy: "Set `mtu` of the site to that of its network, or configure the network and its DHCP server for a larger MTU.",
		Needs:  []string{"probe-address"},
	}, Run: (*subject).checkInterfaceMTU},
	{Check: platform.Check{
		ID:     "probe-gateway-mtu",
		Title:  "Packets with the MTU of the shoot get to the gateway.",
		Remedy: "Set `mtu` of the site to what gets through, or configure the switches and hypervisors of the site for a larger MTU.",
		Needs:  []string{"probe-interface-mtu"},
	}, Run: (*subject).checkGatewayMTU},
	{Check: platform.Check{
		ID:     "probe-dhcp",
		Title:  "A DHCP server answers in the site's network.",
		Remedy: "Start a DHCP server in the network, unless the machines get their addresses otherwise.",
		Needs:  []string{"probe-address"},
	}, Run: (*subject).checkDHCP},
	{Check: platform.Check{
		ID:     "probe-dhcp-range",
		Title:  "DHCP assigns addresses in the range of the site's nodes.",
		Remedy: "Set `nodes` of the site in the InfrastructureConfig to the range of the DHCP server: other sites know the nodes by it.",
		Needs:  []string{"probe-dhcp"},
	}, Run: (*subject).checkDHCPRange},
	{Check: platform.Check{
		ID:     "probe-dhcp-router",
		Title:  "DHCP tells the gateway of the site.",
		Remedy: "Correct the option `router` of the DHCP server, or `gateway` of the site in the InfrastructureConfig.",
		Needs:  []string{"probe-dhcp"},
	}, Run: (*subject).checkDHCPRouter},
	{Check: platform.Check{
		ID:     "probe-dhcp-servers",
		Title:  "Only one DHCP server answers in the site's network.",
		Remedy: "Stop the other server, unless both assign addresses of one pool.",
		Needs:  []string{"probe-dhcp"},
	}, Run: (*subject).checkDHCPServers},
	{Check: platform.Check{
		ID:     "probe-dns",
		Title:  "The site's DNS servers resolve the names that nodes need.",
		Remedy: "Correct `dnsServers` of the site, or let these servers resolve the names.",
		Needs:  []string{"probe-address"},
	}, Run: (*subject).checkProbeDNS},
	{Check: platform.Check{
		ID:     "probe-clock",
		Title:  "The clock in the site's network is right.",
		Remedy: "Let hosts of the site use a time server that they can reach.",
		Needs:  []string{"probe-address"},
	}, Run: (*subject).checkProbeClock},
	{Check: platform.Check{
		ID:     "probe-api-server",
		Title:  "Nodes reach the API server of the shoot.",
		Remedy: "Permit connections from the site to the ingress of the seed, see [network](../usage/network.md#what-must-be-open).",
		Needs:  []string{"probe-address"},
	}, Run: checkTargets(roleAPIServer)},
	{Check: platform.Check{
		ID:     "probe-registry",
		Title:  "Nodes reach the registries.",
		Remedy: "Permit connections from the site to the registries, or configure mirrors for the shoot.",
		Needs:  []string{"probe-address"},
	}, Run: checkTargets(roleRegistry)},
}

// probePath is the path of a field of the site's report.
func (s *subject) probePath(name string) *field.Path {
	return field.NewPath("probeReport").Key(s.Name).Child(name)
}

func (s *subject) checkAge(_ context.Context, result *platform.Result) error {
	made := time.Unix(s.report().Time, 0)
	if age := s.clock.Now().Sub(made); age > maxAge || age < -maxAge {
		result.Warn(s.probePath("time"), "the report is of %s", made.UTC().Format(time.RFC3339))
	}
	return nil
}

// inNetwork returns the interface with an address in the site's network, and the address. It returns nil if there is none.
func (s *subject) inNetwork() (*Interface, netip.Addr) {
	for i := range s.report().Interfaces {
		device := &s.report().Interfaces[i]
		for _, text := range device.Addresses {
			if prefix, err := netip.ParsePrefix(text); err == nil && contains(spans("", s.Network.Subnets...), prefix.Addr()) != nil {
				return device, prefix.Addr()
			}
		}
	}
	return nil, netip.Addr{}
}

func (s *subject) checkProbeAddress(_ context.Context, result *platform.Result) error {
	if device, _ := s.inNetwork(); device == nil {
		var addresses []string
		for _, device := range s.report().Interfaces {
			addresses = append(addresses, device.Addresses...)
		}
		result.Invalid(s.probePath("interfaces"), fmt.Sprint(addresses), "the probe did not run in the site's network").Want =
			fmt.Sprintf("an address in %s", s.Network.Subnets)
	}
	return nil
}

func (s *subject) checkProbeGateway(_ context.Context, result *platform.Result) error {
	gateway := s.Network.Gateway
	switch told := s.report().Gateways; {
	case !gateway.IsValid():
	case len(told) == 0:
		result.Unknown(s.probePath("gateways"), "the probe knows no default gateway")
	case !slices.Contains(told, gateway.String()):
		result.Warn(s.path.Child("gateway"), "hosts in the network use %s, not %s", strings.Join(told, ", "), gateway)
	}
	return nil
}

func (s *subject) checkInterfaceMTU(_ context.Context, result *platform.Result) error {
	device, _ := s.inNetwork()
	switch want := int(s.shared); {
	case device == nil:
	case device.MTU == 0:
		result.Unknown(s.probePath("interfaces"), "the probe does not know the MTU of %s", device.Name)
	case device.MTU < want:
		result.Invalid(s.path.Child("mtu"), fmt.Sprint(want), "interface %s of the probe has the MTU %d", device.Name, device.MTU).Want =
			fmt.Sprint(want)
	}
	return nil
}

// checkGatewayMTU says nothing about gateways that do not answer to ping.
func (s *subject) checkGatewayMTU(_ context.Context, result *platform.Result) error {
	want := int(s.shared)
	for _, path := range s.report().Paths {
		if s.Network.Gateway.IsValid() && path.Address != s.Network.Gateway.String() {
			continue
		}
		switch {
		case path.State != AnswerOK:
			result.Unknown(s.probePath("paths"), "gateway %s does not answer to ping", path.Address)
		case path.MTU == 0:
			result.Unknown(s.probePath("paths"), "the probe cannot measure the MTU of the path to gateway %s", path.Address)
		case path.MTU < want:
			result.Invalid(s.path.Child("mtu"), fmt.Sprint(want), "packets to gateway %s can have %d bytes", path.Address, path.MTU).Want =
				fmt.Sprint(want)
		}
	}
	return nil
}

func (s *subject) checkDHCP(_ context.Context, result *platform.Result) error {
	switch path := s.probePath("dhcp"); s.report().DHCP.State {
	case AnswerFailed:
		result.Warn(path, "no DHCP server answered")
	case AnswerUnknown:
		result.Unknown(path, "the probe could not ask a DHCP server: it needs root, and nmap, udhcpc, or dhclient")
	}
	return nil
}

func (s *subject) checkDHCPRange(_ context.Context, result *platform.Result) error {
	for _, offer := range s.report().DHCP.Answers {
		addr, err := netip.ParseAddr(offer.Address)
		if err == nil && contains(spans("", s.Network.Nodes...), addr) == nil {
			result.Invalid(s.path.Child("nodes"), fmt.Sprint(s.Network.Nodes), "DHCP server %s assigns %s", offer.Server, addr)
		}
	}
	return nil
}

func (s *subject) checkDHCPRouter(_ context.Context, result *platform.Result) error {
	gateway := s.Network.Gateway
	for _, offer := range s.report().DHCP.Answers {
		if gateway.Is4() && len(offer.Routers) > 0 && !slices.Contains(offer.Routers, gateway.String()) {
			result.Warn(s.path.Child("gateway"), "DHCP server %s tells gateway %s, not %s", offer.Server, strings.Join(offer.Routers, ", "), gateway)
		}
	}
	return nil
}

func (s *subject) checkDHCPServers(_ context.Context, result *platform.Result) error {
	var servers []string
	for _, offer := range s.report().DHCP.Answers {
		if offer.Server != "" && !slices.Contains(servers, offer.Server) {
			servers = append(servers, offer.Server)
		}
	}
	if len(servers) > 1 {
		result.Warn(s.probePath("dhcp"), "%s answer", strings.Join(servers, " and "))
	}
	return nil
}

// checkProbeDNS fails if a server resolves none of the names, or if no server resolves one of them.
func (s *subject) checkProbeDNS(_ context.Context, result *platform.Result) error {
	var (
		servers = map[string]bool{}
		names   = map[string]bool{}
		failed  = map[string]bool{}
		unknown bool
		path    = s.path.Child("dnsServers")
	)
	for _, answer := range s.report().DNS {
		unknown = unknown || answer.State == AnswerUnknown
		servers[answer.Server] = servers[answer.Server] || answer.State != AnswerFailed
		names[answer.Name] = names[answer.Name] || answer.State != AnswerFailed
	}
	for _, answer := range s.report().DNS {
		switch {
		case !servers[answer.Server] && !failed[answer.Server]:
			failed[answer.Server] = true
			result.Invalid(path, answer.Server, "the server resolves no name")
		case servers[answer.Server] && !names[answer.Name] && !failed[answer.Name]:
			failed[answer.Name] = true
			result.Invalid(path, answer.Name, "no server resolves the name")
		}
	}
	if unknown {
		result.Unknown(s.probePath("dns"), "the probe could not ask DNS servers: it needs dig, host, or nslookup")
	}
	return nil
}

// probeOffset returns how far the clock of the probe is ahead, and how exact that is. It returns false if that is not known.
func (s *subject) probeOffset() (offset, uncertainty time.Duration, ok bool) {
	reading := s.report().Clock
	if reading == nil {
		return 0, 0, false
	}
	told, err := http.ParseTime(reading.Date)
	if err != nil || reading.After < reading.Before {
		return 0, 0, false
	}
	const second = time.Second
	before, after := time.Unix(reading.Before, 0), time.Unix(reading.After, 0).Add(second)
	between := after.Sub(before)
	offset, uncertainty = before.Add(between/2).Sub(told.Add(second/2)), (second+between)/2
	if s.Profile != nil && reading.From == s.Profile.Endpoint() {
		// The API's clock may be wrong, too.
		if look, err := s.face.look(); err == nil && !look.Date.IsZero() {
			offset, uncertainty = offset+look.Offset, uncertainty+look.Uncertainty
		}
	}
	return offset, uncertainty, true
}

func (s *subject) checkProbeClock(_ context.Context, result *platform.Result) error {
	offset, uncertainty, ok := s.probeOffset()
	if !ok {
		result.Unknown(s.probePath("clock"), "no server told the probe its time")
		return nil
	}
	judgeOffset(result, s, offset, uncertainty, "the clock of the probe", "that of this host")
	return nil
}

// checkTargets returns the check that targets of the role are reached.
func checkTargets(role string) func(*subject, context.Context, *platform.Result) error {
	return func(s *subject, _ context.Context, result *platform.Result) error {
		known := false
		for _, target := range s.report().Targets {
			if target.Role != role {
				continue
			}
			known = true
			switch target.State {
			case AnswerFailed:
				result.Invalid(s.probePath("targets"), target.Target, "cannot be reached from the site's network")
			case AnswerUnknown:
				result.Unknown(s.probePath("targets"), "the probe could not connect to %s: it needs curl, nc, openssl, or wget", target.Target)
			}
		}
		if !known {
			result.Unknown(s.probePath("targets"), "the probe did not know the address")
		}
		return nil
	}
}

// probePairChecks are the checks of pairs of sites with the reports of both probes.
var probePairChecks = platform.Checks[*pair]{
	{Check: platform.Check{
		ID:     "pair-probe",
		Title:  "The probes of two sites ran on different hosts.",
		Remedy: "Run the probe of each site on a host in its network.",
	}, Run: (*pair).checkPairProbe},
	{Check: platform.Check{
		ID:    "pair-reach",
		Title: "Two sites reach each other.",
		Remedy: "Add the routes between the networks of both sites, and permit the traffic in firewalls, see " +
			"[network](../usage/network.md#what-must-be-open).",
		Needs: []string{"pair-probe"},
	}, Run: (*pair).checkReach},
	{Check: platform.Check{
		ID:     "pair-path-mtu",
		Title:  "Packets with the MTU of the shoot get from one site to the other, in both directions.",
		Remedy: "Set `networks.mtu` of the InfrastructureConfig to what gets through, or configure the way for a larger MTU.",
		Needs:  []string{"pair-reach"},
	}, Run: (*pair).checkPathMTU},
	{Check: platform.Check{
		ID:     "pair-probe-clock",
		Title:  "The clocks in the networks of two sites agree.",
		Remedy: "Let the hosts of both sites use time servers that agree.",
		Needs:  []string{"pair-probe"},
	}, Run: (*pair).checkPairProbeClock},
}

func (p *pair) checkPairProbe(_ context.Context, result *platform.Result) error {
	for _, s := range p {
		if s.report() == nil {
			result.Unknown(s.path, "there is no report of the probe of site %q", s.Name)
			return nil
		}
	}
	_, first := p[0].inNetwork()
	if _, second := p[1].inNetwork(); first.IsValid() && first == second {
		result.Invalid(p[1].probePath("interfaces"), second.String(), "the probe of site %q has the same address", p[0].Name)
	}
	return nil
}

// peer returns the path from the probe of the site to that of the other one, nil if it was not measured.
func (s *subject) peer(other *subject) *Path {
	if s.report() == nil {
		return nil
	}
	i := slices.IndexFunc(s.report().Peers, func(p Path) bool { return p.To == other.Name })
	if i < 0 {
		return nil
	}
	return &s.report().Peers[i]
}

func (p *pair) checkReach(_ context.Context, result *platform.Result) error {
	p.each(func(s, other *subject) {
		switch path := s.peer(other); {
		case s.report() == nil:
		case path == nil:
			result.Unknown(s.probePath("peers"), "the probe of site %q did not know the address of that of site %q", s.Name, other.Name)
		case path.State == AnswerFailed:
			result.Invalid(s.probePath("peers"), path.Address, "site %q does not reach site %q", s.Name, other.Name)
		case path.State == AnswerUnknown:
			result.Unknown(s.probePath("peers"), "the probe of site %q needs ping", s.Name)
		}
	})
	return nil
}

func (p *pair) checkPathMTU(_ context.Context, result *platform.Result) error {
	p.each(func(s, other *subject) {
		switch path, want := s.peer(other), int(s.shared); {
		case path == nil || path.State != AnswerOK:
		case path.MTU == 0:
			result.Unknown(s.probePath("peers"), "the probe of site %q cannot measure the MTU: it needs ping of iputils, or tracepath", s.Name)
		case path.MTU < want:
			result.Invalid(s.path.Child("mtu"), fmt.Sprint(want), "packets from site %q to site %q can have %d bytes", s.Name, other.Name,
				path.MTU).Want = fmt.Sprint(want)
		}
	})
	return nil
}

func (p *pair) checkPairProbeClock(_ context.Context, result *platform.Result) error {
	for _, s := range p {
		if s.report() == nil {
			return nil
		}
	}
	first, firstUncertainty, ok := p[0].probeOffset()
	second, secondUncertainty, otherOK := p[1].probeOffset()
	if !ok || !otherOK {
		result.Unknown(p[0].probePath("clock"), "no server told both probes its time")
		return nil
	}
	judgeOffset(result, p[1], second-first, firstUncertainty+secondUncertainty,
		fmt.Sprintf("the clock of the probe of site %q", p[1].Name), fmt.Sprintf("that of site %q", p[0].Name))
	return nil
}
