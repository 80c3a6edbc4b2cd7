// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package networkdata

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	sectionMatch   = "Match"
	sectionNetwork = "Network"
)

var (
	sectionRegexp = regexp.MustCompile(`^\[[A-Za-z0-9-]+\]$`)
	keyRegexp     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)
	// networkSections are the sections of .network files.
	networkSections = []string{
		sectionMatch, sectionNetwork, "Link", "Address", "Neighbor", "IPv6AddressLabel", "RoutingPolicyRule", "NextHop", "Route", "DHCP",
		"DHCPv4", "DHCPv6", "DHCPPrefixDelegation", "IPv6AcceptRA", "DHCPServer", "DHCPServerStaticLease", "IPv6SendRA", "IPv6Prefix",
		"IPv6RoutePrefix",
		"IPv6PREF64Prefix", "Bridge", "BridgeFDB", "BridgeMDB", "BridgeVLAN", "LLDP", "CAN", "IPoIB", "QDisc", "NetworkEmulator",
		"TokenBucketFilter", "PIE", "FlowQueuePIE", "StochasticFairBlue", "StochasticFairnessQueueing", "BFIFO", "PFIFO", "PFIFOHeadDrop",
		"PFIFOFast", "CAKE", "ControlledDelay", "DeficitRoundRobinScheduler", "DeficitRoundRobinSchedulerClass", "EnhancedTransmissionSelection",
		"GenericRandomEarlyDetection", "FairQueueingControlledDelay", "FairQueueing", "TrivialLinkEqualizer", "HierarchyTokenBucket",
		"HierarchyTokenBucketClass", "ClassfulMultiQueueing", "BandMultiQueueing", "HeavyHitterFilter", "QuickFairQueueing",
		"QuickFairQueueingClass", "MobileNetwork", "SR-IOV",
	}
)

// setting is a line of a file of systemd-networkd.
type setting struct {
	section, key, value string
	line                int
}

func (s setting) path() string { return fmt.Sprintf("line %d: %s.%s", s.line, s.section, s.key) }

// networkd checks a .network file of systemd-networkd.
func (p *problems) networkd(text string, r rules) {
	settings, sections := p.settings(text, r)
	if !slices.ContainsFunc(settings, func(s setting) bool { return s.section == sectionMatch && s.value != "" }) {
		p.add("network data", "must have a section [%s] that selects the interface, such as MACAddress=${%s}", sectionMatch, MAC)
	}
	if !slices.Contains(sections, sectionNetwork) {
		p.add("network data", "must have a section [%s]", sectionNetwork)
	}

	var own []netip.Prefix
	for _, s := range settings {
		switch {
		case s.value == "":
			// An empty value resets the setting.
		case s.key == "Address" && (s.section == sectionNetwork || s.section == "Address"):
			if prefix, ok := p.interfaceAddress(s, r); ok {
				own = append(own, prefix)
			}
		case s.section == sectionMatch && (s.key == "MACAddress" || s.key == "PermanentMACAddress"):
			for _, mac := range strings.Fields(s.value) {
				p.mac(s.path(), mac)
			}
		case s.section == sectionNetwork && s.key == "DNS":
			for _, server := range strings.Fields(s.value) {
				p.resolver(s.path(), server)
			}
		case s.section == "Link" && s.key == "MTUBytes":
			// Suffixes such as K are rare; systemd-networkd checks them itself.
			if mtu, err := strconv.Atoi(s.value); err == nil && (mtu < minMTU || mtu > maxMTU) {
				p.add(s.path(), "%d must be between %d and %d", mtu, minMTU, maxMTU)
			}
		}
	}
	p.gateways(settings, own, r)
}

// gateways checks the gateways. Those of [Route] sections may be on the link.
func (p *problems) gateways(settings []setting, own []netip.Prefix, r rules) {
	for _, s := range settings {
		if s.key != "Gateway" || s.value == "" || strings.HasPrefix(s.value, "_") {
			continue
		}
		switch s.section {
		case sectionNetwork:
			p.nextHop(s.path(), s.value, own, r)
		case "Route":
			p.address(s.path(), s.value)
		}
	}
}

// settings returns the settings of a file and the names of its sections.
func (p *problems) settings(text string, r rules) (settings []setting, sections []string) {
	if strings.ContainsRune(text, 0) {
		p.add("network data", "must be text")
		return nil, nil
	}
	var (
		section   string
		continued bool
	)
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		ends := !strings.HasSuffix(line, `\`)
		if continued {
			last := &settings[len(settings)-1]
			last.value = strings.TrimSpace(last.value + " " + strings.TrimSuffix(line, `\`))
			continued = !ends
			continue
		}
		if sectionRegexp.MatchString(line) {
			section = strings.Trim(line, "[]")
			if sections = append(sections, section); r.strict && !slices.Contains(networkSections, section) {
				p.add(fmt.Sprintf("line %d", i+1), "%s must be a section of a .network file of systemd-networkd", quote(line))
			}
			continue
		}
		key, value, found := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		switch {
		case !found || !keyRegexp.MatchString(key):
			p.add(fmt.Sprintf("line %d", i+1), "must be a section such as [%s], or a setting such as DHCP=yes", sectionNetwork)
		case section == "":
			p.add(fmt.Sprintf("line %d", i+1), "must be in a section such as [%s]", sectionNetwork)
		default:
			continued = !ends
			settings = append(settings, setting{section, key, strings.TrimSpace(strings.TrimSuffix(value, `\`)), i + 1})
		}
	}
	return settings, sections
}

// interfaceAddress checks an address of the interface. systemd-networkd guesses the length of a prefix that is missing, and chooses an
// address instead of the unspecified one.
func (p *problems) interfaceAddress(s setting, r rules) (netip.Prefix, bool) {
	prefix, err := netip.ParsePrefix(s.value)
	if _, guessed := netip.ParseAddr(s.value); guessed == nil && !r.strict {
		return netip.Prefix{}, false
	}
	if err != nil {
		p.add(s.path(), "%s must be an address with the length of its prefix, such as 192.0.2.10/24", quote(s.value))
		return netip.Prefix{}, false
	}
	if prefix.Addr().IsUnspecified() {
		return netip.Prefix{}, false
	}
	return p.host(s.path(), prefix)
}

// resolver checks the address of a resolver, which may have a port, an interface and a name: 192.0.2.53:53%eth0#dns.example.com.
func (p *problems) resolver(path, value string) {
	address, _, _ := strings.Cut(value, "#")
	if strings.HasPrefix(address, "_") {
		return
	}
	address, _, _ = strings.Cut(address, "%")
	if withPort, err := netip.ParseAddrPort(address); err == nil {
		address = withPort.Addr().String()
	}
	p.address(path, address)
}
