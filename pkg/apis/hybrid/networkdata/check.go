// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package networkdata

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// maxProblems is the maximum number of problems in an error.
const maxProblems = 5

// Check returns an error unless the text is network data that the inventory and the host's system accept. The text is that of OpenStack's
// network_data.json for Metal3, and a .network file of systemd-networkd for IronCore. Unknown fields, which are ignored on hosts, are
// accepted.
func Check(inventory v1alpha1.MetalInventory, text string) error {
	return check(inventory, text, rules{related: true})
}

// CheckTemplate is Check for a template, of whose values only the given ones are known. It does not accept unknown fields.
func CheckTemplate(inventory v1alpha1.MetalInventory, template string, known Values) error {
	variables, err := Parse(template)
	if err != nil {
		return err
	}
	r := rules{strict: true, related: !slices.ContainsFunc(variables, func(v Variable) bool {
		return v == Address || v == Prefix || v == Gateway
	})}
	var first error
	for _, sample := range []Values{
		{Address: "192.0.2.10", Prefix: 24, Gateway: "192.0.2.1"},
		{Address: "2001:db8::10", Prefix: 64, Gateway: "2001:db8::1"},
	} {
		sample.Machine, sample.Host, sample.MAC = "machine", "host", "02:00:00:00:00:01"
		if sample.DNSServers = known.DNSServers; len(sample.DNSServers) == 0 {
			sample.DNSServers = []string{"192.0.2.2"}
		}
		sample.MTU = cmp.Or(known.MTU, 1500)
		text, err := Expand(template, sample)
		if err != nil {
			return err
		}
		if err = check(inventory, text, r); err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// rules say what is checked.
type rules struct {
	// strict is true if unknown fields are rejected.
	strict bool
	// related is true if addresses are compared with each other.
	related bool
}

func check(inventory v1alpha1.MetalInventory, text string, r rules) error {
	p := problems{}
	switch inventory {
	case v1alpha1.MetalInventoryMetal3:
		p.openStack(text, r)
	case v1alpha1.MetalInventoryIronCore:
		p.networkd(text, r)
	}
	return p.error()
}

// problems are the problems that were found. They name fields.
type problems struct {
	found []string
}

func (p *problems) add(path, format string, args ...any) {
	p.found = append(p.found, path+": "+fmt.Sprintf(format, args...))
}

func (p *problems) error() error {
	found := p.found
	if more := len(found) - maxProblems; more > 0 {
		found = append(found[:maxProblems:maxProblems], fmt.Sprintf("and %d more problems", more))
	}
	if len(found) == 0 {
		return nil
	}
	return errors.New(strings.Join(found, "; "))
}

// address checks an IP address, and returns it if it is valid. A zone is valid for link-local addresses only.
func (p *problems) address(path, value string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(value)
	if err != nil || addr.Zone() != "" && !addr.IsLinkLocalUnicast() {
		p.add(path, "%s must be an IP address", quote(value))
		return netip.Addr{}, false
	}
	return addr, true
}

// host checks an address with its prefix, and returns it if it is the address of a host.
func (p *problems) host(path string, prefix netip.Prefix) (netip.Prefix, bool) {
	addr := prefix.Addr()
	masked := prefix.Masked()
	switch hostBits := addr.BitLen() - prefix.Bits(); {
	case addr.IsUnspecified(), addr.IsMulticast(), addr.IsLoopback():
		p.add(path, "%s must be the address of a host", addr)
	case prefix.Bits() == 0:
		p.add(path, "%s must have a prefix length or netmask other than zero", addr)
	case addr.Is4() && hostBits > 1 && (addr == masked.Addr() || addr == netipx.PrefixLastIP(masked)):
		p.add(path, "%s must not be the first or last address of its network %s", addr, masked)
	default:
		return prefix, true
	}
	return netip.Prefix{}, false
}

// gateway checks that hosts with the addresses reach the gateway directly. Gateways outside networks of a single address, and link-local
// ones, are reached through the interface.
func (p *problems) gateway(path string, gateway netip.Addr, own []netip.Prefix) {
	var family []netip.Prefix
	for _, prefix := range own {
		if prefix.Addr().Is4() != gateway.Is4() {
			continue
		}
		if prefix.Addr() == gateway {
			p.add(path, "%s must not be the address of the host itself", gateway)
			return
		}
		family = append(family, prefix)
	}
	if len(family) == 0 || gateway.IsLinkLocalUnicast() ||
		slices.ContainsFunc(family, func(n netip.Prefix) bool { return n.IsSingleIP() || n.Contains(gateway) }) {
		return
	}
	networks := make([]string, len(family))
	for i, prefix := range family {
		networks[i] = prefix.Masked().String()
	}
	p.add(path, "%s must be in the network of the host's address, which is %s", gateway, strings.Join(networks, ", "))
}

// mac checks a MAC address, and returns it in its common form.
func (p *problems) mac(path, value string) (string, bool) {
	parsed, err := net.ParseMAC(value)
	if err != nil || len(parsed) != 6 && len(parsed) != 20 || strings.Contains(value, ".") {
		p.add(path, "%s must be a MAC address such as 52:54:00:00:00:01", quote(value))
		return "", false
	}
	return parsed.String(), true
}

// quote returns the beginning of a value in quotation marks.
func quote(value string) string {
	const most = 128
	if len(value) > most {
		return fmt.Sprintf("%q...", value[:most])
	}
	return fmt.Sprintf("%q", value)
}
