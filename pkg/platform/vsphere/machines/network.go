// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
)

// network is the network configuration of a virtual machine.
type network struct {
	mac     string
	address ipam.Address
	// dnsServers are IP addresses.
	dnsServers []string
	mtu        int32
}

// networkConfig is version 2 of cloud-init's network configuration.
type networkConfig struct {
	Version   int                 `json:"version"`
	Ethernets map[string]ethernet `json:"ethernets"`
}

type ethernet struct {
	Match       match       `json:"match"`
	SetName     string      `json:"set-name"`
	DHCP4       bool        `json:"dhcp4"`
	DHCP6       bool        `json:"dhcp6"`
	Addresses   []string    `json:"addresses"`
	Routes      []route     `json:"routes,omitempty"`
	Nameservers nameservers `json:"nameservers,omitzero"`
	MTU         int32       `json:"mtu,omitempty"`
}

type match struct {
	MACAddress string `json:"macaddress"`
}

type route struct {
	To  string `json:"to"`
	Via string `json:"via"`
}

type nameservers struct {
	Addresses []string `json:"addresses,omitempty"`
}

// interfaceName is the name of the interface: cloud-init has a name in the formats of all systems only if it sets it.
const interfaceName = "eth0"

// cloudInit returns the configuration as cloud-init reads it, nil if there is none.
func (n *network) cloudInit() *networkConfig {
	if n == nil {
		return nil
	}
	card := ethernet{
		Match:       match{MACAddress: n.mac},
		SetName:     interfaceName,
		Addresses:   []string{n.address.IP.String()},
		Nameservers: nameservers{Addresses: n.dnsServers},
		MTU:         n.mtu,
	}
	if gateway := n.address.Gateway; gateway.IsValid() {
		to := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if gateway.Is6() {
			to = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		card.Routes = []route{{To: to.String(), Via: gateway.String()}}
	}
	return &networkConfig{Version: 2, Ethernets: map[string]ethernet{interfaceName: card}}
}

// networkd returns the configuration as a file of systemd-networkd.
func (n *network) networkd() []byte {
	var text strings.Builder
	section := func(name string) { text.WriteString("[" + name + "]\n") }
	set := func(key, value string) { text.WriteString(key + "=" + value + "\n") }
	section("Match")
	set("MACAddress", n.mac)
	if n.mtu > 0 {
		section("Link")
		set("MTUBytes", strconv.Itoa(int(n.mtu)))
	}
	section("Network")
	set("Address", n.address.IP.String())
	if n.address.Gateway.IsValid() {
		set("Gateway", n.address.Gateway.String())
	}
	for _, server := range n.dnsServers {
		set("DNS", server)
	}
	return []byte(text.String())
}
