// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package networkdata_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/networkdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	phy = `{"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}`
	// bonded are two interfaces, a bond of them and a VLAN on it.
	bonded = phy + `,
		{"id": "b", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:02", "mtu": 9000},
		{"id": "bond", "type": "bond", "bond_mode": "802.3ad", "bond_links": ["a", "b"], "bond_miimon": 100},
		{"id": "vlan", "type": "vlan", "vlan_link": "bond", "vlan_id": 7, "vlan_mac_address": "52:54:00:00:00:02"}`
	static = `{"id": "n", "link": "a", "type": "ipv4", "ip_address": "10.0.0.7/24", "gateway": "10.0.0.1"}`
)

// document returns network data of OpenStack.
func document(links, networks string) string {
	return fmt.Sprintf(`{"links": [%s], "networks": [%s], "services": []}`, links, networks)
}

var _ = Describe("#Check", func() {
	DescribeTable("accepts for Metal3", func(text string) {
		Expect(Check(v1alpha1.MetalInventoryMetal3, text)).To(Succeed())
	},
		Entry("an address", document(phy, static)),
		Entry("DHCP", document(phy, `{"id": "n", "link": "a", "type": "ipv4_dhcp"}`)),
		Entry("a bond with a VLAN", document(bonded, strings.Replace(static, `"link": "a"`, `"link": "vlan"`, 1))),
		Entry("a netmask, resolvers and routes", document(phy, `{"id": "n", "network_id": "x", "link": "a", "type": "ipv4",
			"ip_address": "10.0.0.7", "netmask": "255.255.255.0", "dns_nameservers": ["10.0.0.2"], "dns_search": "example.com",
			"routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.0.0.1"}],
			"services": [{"type": "dns", "address": "10.0.0.3"}]}`)),
		Entry("IPv6 with a gateway of the link", document(phy, `{"id": "n", "link": "a", "type": "ipv6", "ip_address": "2001:db8::7/64",
			"gateway": "fe80::1"}`)),
		Entry("a single address with a gateway elsewhere", document(phy, `{"id": "n", "link": "a", "type": "ipv4", "ip_address": "10.0.0.7/32",
			"gateway": "10.9.0.1"}`)),
		Entry("a route through the network of another address of the link", document(phy, static+`,
			{"id": "m", "link": "a", "type": "ipv4", "ip_address": "10.1.0.7/24",
			"routes": [{"network": "10.2.0.0/16", "gateway": "10.0.0.9"}]}`)),
		Entry("YAML", "links:\n- {id: a, type: phy, ethernet_mac_address: '52:54:00:00:00:01', mtu: null}\n"+
			"networks:\n- {link: a, type: ipv4_dhcp}\n"),
		Entry("unknown fields, which hosts ignore", document(phy, strings.Replace(static, "{", `{"comment": 1, `, 1))),
		Entry("numbers in quotation marks", document(strings.Replace(phy, "{", `{"mtu": "1450", `, 1), static)),
	)

	DescribeTable("refuses for Metal3", func(text string, expected ...string) {
		err := Check(v1alpha1.MetalInventoryMetal3, text)
		Expect(err).To(HaveOccurred())
		for _, part := range expected {
			Expect(err).To(MatchError(ContainSubstring(part)))
		}
		Expect(err.Error()).NotTo(ContainSubstring("\n"))
		Expect(len(err.Error())).To(BeNumerically("<", 2048))
	},
		Entry("text", "rack-7 52:54:00:00:00:01", "must be the JSON or YAML"),
		Entry("nothing", "", "links: must have at least one element", "networks: must have at least one element"),
		Entry("a file of systemd-networkd", "[Match]\nMACAddress=52:54:00:00:00:01\n[Network]\nDHCP=yes\n", "must be the JSON or YAML"),
		Entry("the format of netplan", "version: 2\nethernets: {eth0: {dhcp4: true}}\n", "links: must have at least one element"),
		Entry("a list", `[]`, "must be the JSON or YAML"),
		Entry("text for a list", `{"links": "a"}`, "must be the JSON or YAML"),
		Entry("fields in capital letters", document(`{"ID": "a", "Type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}`, static),
			"links[0].id: must not be empty"),
		Entry("no type", document(`{"id": "a"}`, static), `links[0].type: "" must be bond, vlan, or one of`),
		Entry("an invalid MAC address", document(`{"id": "a", "type": "phy", "ethernet_mac_address": "52:54"}`, static),
			`links[0].ethernet_mac_address: "52:54" must be a MAC address`),
		Entry("one MAC address twice", document(phy+`, {"id": "b", "type": "phy", "ethernet_mac_address": "52-54-00-00-00-01"}`, static),
			"links[1].ethernet_mac_address: 52:54:00:00:00:01 must not be that of links[0]"),
		Entry("one ID twice", document(phy+`, {"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:02"}`, static+","+static),
			`links[1].id: "a" must be unique`, `networks[1].id: "n" must be unique`,
			"networks[1].ip_address: 10.0.0.7 must not be that of networks[0]"),
		Entry("an MTU that is too small", document(strings.Replace(phy, "{", `{"mtu": 10, `, 1), static), "links[0].mtu: 10 must be between"),
		Entry("an MTU that is no number", document(strings.Replace(phy, "{", `{"mtu": 1.5, `, 1), static), `\"1.5\" must be an integer`),
		Entry("a bond of nothing", document(phy+`, {"id": "bond", "type": "bond", "bond_mode": "fast"}`, static),
			`links[1].bond_mode: "fast" must be one of`, "links[1].bond_links: must have between 1 and 64 IDs"),
		Entry("a bond of unknown links", document(phy+`, {"id": "bond", "type": "bond", "bond_mode": "802.3ad", "bond_links": ["c", "bond"]}`,
			static), `links[1].bond_links[0]: "c" must be the ID of a link`, `links[1].bond_links[1]: "bond" must be the ID of an interface`),
		Entry("an interface in two bonds", document(phy+`, {"id": "x", "type": "bond", "bond_mode": "802.3ad", "bond_links": ["a"]},
			{"id": "y", "type": "bond", "bond_mode": "802.3ad", "bond_links": ["a"]}`, static),
			`links[2].bond_links[0]: "a" must not be in links[1].bond_links[0], too`),
		Entry("a VLAN on nothing", document(phy+`, {"id": "v", "type": "vlan", "vlan_link": "c", "vlan_id": 4095, "vlan_mac_address": "x"}`,
			static), `links[1].vlan_link: "c" must be the ID of a link`, "links[1].vlan_id: 4095 must be between 1 and 4094",
			`links[1].vlan_mac_address: "x" must be a MAC address`),
		Entry("VLANs in a circle", document(phy+`,
			{"id": "v", "type": "vlan", "vlan_link": "w", "vlan_id": 1, "vlan_mac_address": "52:54:00:00:00:01"},
			{"id": "w", "type": "vlan", "vlan_link": "v", "vlan_id": 1, "vlan_mac_address": "52:54:00:00:00:01"}`, static),
			`links[1].vlan_link: "w" must not lead back to the link`),
		Entry("a network on an unknown link", document(phy, strings.Replace(static, `"link": "a"`, `"link": "c"`, 1)),
			`networks[0].link: "c" must be the ID of a link`),
		Entry("a network of an unknown type", document(phy, strings.Replace(static, `"ipv4"`, `"dhcp"`, 1)), `networks[0].type: "dhcp" must be`),
		Entry("no address", document(phy, `{"id": "n", "link": "a", "type": "ipv4"}`), `networks[0].ip_address: "" must be an IP address`),
		Entry("an address that is none", document(phy, strings.Replace(static, "10.0.0.7/24", "10.0.0.300/24", 1)),
			`networks[0].ip_address: "10.0.0.300/24" must be an address`),
		Entry("an address without a prefix", document(phy, strings.Replace(static, "10.0.0.7/24", "10.0.0.7", 1)),
			`networks[0].netmask: "" must be a netmask`),
		Entry("a netmask with gaps", document(phy,
			`{"id": "n", "link": "a", "type": "ipv4", "ip_address": "10.0.0.7", "netmask": "255.0.255.0"}`),
			`networks[0].netmask: "255.0.255.0" must be a netmask`),
		Entry("the address of the network", document(phy, strings.Replace(static, "10.0.0.7/24", "10.0.0.0/24", 1)),
			"networks[0].ip_address: 10.0.0.0 must not be the first or last address of its network 10.0.0.0/24"),
		Entry("the broadcast address", document(phy, strings.Replace(static, "10.0.0.7/24", "10.0.0.255/24", 1)),
			"networks[0].ip_address: 10.0.0.255 must not be the first or last address"),
		Entry("an address of the other family", document(phy, strings.Replace(static, "10.0.0.7/24", "2001:db8::7/64", 1)),
			`networks[0].ip_address: 2001:db8::7 must be of the family of the type "ipv4"`),
		Entry("a gateway elsewhere", document(phy, strings.Replace(static, "10.0.0.1", "10.0.1.1", 1)),
			"networks[0].gateway: 10.0.1.1 must be in the network of the host's address, which is 10.0.0.0/24"),
		Entry("the host as its gateway", document(phy, strings.Replace(static, "10.0.0.1", "10.0.0.7", 1)),
			"networks[0].gateway: 10.0.0.7 must not be the address of the host itself"),
		Entry("a route to a host", document(phy, `{"id": "n", "link": "a", "type": "ipv4", "ip_address": "10.0.0.7/24",
			"routes": [{"network": "10.2.0.1/16", "gateway": "10.0.0.1"}, {"network": "10.3.0.0/16"}]}`),
			"networks[0].routes[0].network: 10.2.0.1/16 must have no host bits: 10.2.0.0/16",
			`networks[0].routes[1].gateway: "" must be an IP address`),
		Entry("a resolver that is a name", document(phy, `{"id": "n", "link": "a", "type": "ipv4_dhcp", "dns_nameservers": ["dns"]}`),
			`networks[0].dns_nameservers[0]: "dns" must be an IP address`),
		Entry("an unknown service", `{"links": [`+phy+`], "networks": [`+static+`], "services": [{"type": "ntp", "address": "x"}]}`,
			`services[0].type: "ntp" must be dns`, `services[0].address: "x" must be an IP address`),
		Entry("too many links", document(strings.Repeat(phy+",", 64)+phy, static), "links: must have at most 64 elements"),
		Entry("many problems", document(strings.Repeat(`{"id": "`+strings.Repeat("x", 1000)+`", "type": "none"},`, 20)+phy, static),
			"more problems"),
		Entry("YAML that grows", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"+
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f]\n",
			"must"),
	)

	DescribeTable("accepts for IronCore", func(text string) {
		Expect(Check(v1alpha1.MetalInventoryIronCore, text)).To(Succeed())
	},
		Entry("an address", "[Match]\nMACAddress=52:54:00:00:00:01\n[Network]\nAddress=10.0.0.7/24\nGateway=10.0.0.1\nDNS=10.0.0.2 10.0.0.3\n"),
		Entry("DHCP with comments", "# x\n; y\n\n[Match]\r\nName=*\r\n[Network]\r\nDHCP=yes\r\n"),
		Entry("several sections", "[Match]\nName=eth0 \\\n  eth1\n[Link]\nMTUBytes=9000\n[Network]\nGateway=_dhcp4\n"+
			"DNS=10.0.0.2:53%eth0#dns\nDNS=\n[Address]\nAddress=2001:db8::7/64\n[Route]\nGateway=10.9.0.1\nGatewayOnLink=yes\n"),
		Entry("an address without a prefix, whose length is guessed", "[Match]\nName=*\n[Network]\nAddress=10.0.0.7\n"),
		Entry("an address that is chosen", "[Match]\nName=*\n[Network]\nAddress=0.0.0.0/26\n"),
	)

	DescribeTable("refuses for IronCore", func(text string, expected ...string) {
		err := Check(v1alpha1.MetalInventoryIronCore, text)
		Expect(err).To(HaveOccurred())
		for _, part := range expected {
			Expect(err).To(MatchError(ContainSubstring(part)))
		}
	},
		Entry("nothing", "", "must have a section [Match] that selects the interface", "must have a section [Network]"),
		Entry("the format of OpenStack", document(phy, static), "line 1: must be a section"),
		Entry("all interfaces", "[Match]\n[Network]\nDHCP=yes\n", "must have a section [Match] that selects the interface"),
		Entry("a setting without a section", "DHCP=yes\n", "line 1: must be in a section"),
		Entry("an invalid MAC address", "[Match]\nMACAddress=${MAC}\n[Network]\n", `line 2: Match.MACAddress: "${MAC}" must be a MAC address`),
		Entry("an invalid address", "[Match]\nName=*\n[Network]\nAddress=10.0.0.7/33\n", `line 4: Network.Address: "10.0.0.7/33" must be`),
		Entry("a gateway elsewhere", "[Match]\nName=*\n[Network]\nAddress=10.0.0.7/24\nGateway=10.0.1.1\n",
			"line 5: Network.Gateway: 10.0.1.1 must be in the network"),
		Entry("a resolver that is a name", "[Match]\nName=*\n[Network]\nDNS=dns.example.com\n", `Network.DNS: "dns.example.com" must be an IP`),
		Entry("an MTU", "[Match]\nName=*\n[Network]\n[Link]\nMTUBytes=1\n", "Link.MTUBytes: 1 must be between"),
		Entry("binary data", "[Match]\nName=\x00\n", "must be text"),
	)
})

var _ = Describe("#CheckTemplate", func() {
	const osTemplate = `{"links": [{"id": "a", "type": "phy", "ethernet_mac_address": "${MAC}", "mtu": $MTU}], "networks": [{"id": "n",
		"link": "a", "type": %q, "ip_address": "${ADDRESS}/${PREFIX}", "gateway": "10.250.0.1", "dns_nameservers": $DNS_SERVERS_JSON}]}`

	DescribeTable("accepts", func(inventory v1alpha1.MetalInventory, template string) {
		Expect(CheckTemplate(inventory, template, Values{DNSServers: []string{"192.0.2.53"}})).To(Succeed())
	},
		Entry("IPv4", v1alpha1.MetalInventoryMetal3, fmt.Sprintf(osTemplate, "ipv4")),
		Entry("IPv6", v1alpha1.MetalInventoryMetal3, fmt.Sprintf(osTemplate, "ipv6")),
		Entry("a list of one resolver", v1alpha1.MetalInventoryMetal3,
			strings.Replace(fmt.Sprintf(osTemplate, "ipv4"), "$DNS_SERVERS_JSON", `["$DNS_SERVERS"]`, 1)),
		Entry("systemd-networkd", v1alpha1.MetalInventoryIronCore,
			"[Match]\nMACAddress=$MAC\n[Network]\nAddress=$ADDRESS/$PREFIX\nGateway=$GATEWAY\nDNS=$DNS_SERVERS\n"),
	)

	DescribeTable("refuses", func(inventory v1alpha1.MetalInventory, template, expected string) {
		Expect(CheckTemplate(inventory, template, Values{})).To(MatchError(ContainSubstring(expected)))
	},
		Entry("an unknown field", v1alpha1.MetalInventoryMetal3,
			strings.Replace(fmt.Sprintf(osTemplate, "ipv4"), `"gateway"`, `"gatway"`, 1), `unknown field \"gatway\"`),
		Entry("a field twice", v1alpha1.MetalInventoryMetal3,
			strings.Replace(fmt.Sprintf(osTemplate, "ipv4"), `"id": "n"`, `"id": "n", "id": "m"`, 1), `key \"id\" already set`),
		Entry("an unknown section", v1alpha1.MetalInventoryIronCore, "[Match]\nName=*\n[Network]\n[Networks]\n",
			`line 4: "[Networks]" must be a section`),
		Entry("an address without a prefix", v1alpha1.MetalInventoryIronCore, "[Match]\nName=*\n[Network]\nAddress=$ADDRESS\n", "192.0.2.10"),
		Entry("the other inventory's language", v1alpha1.MetalInventoryIronCore, fmt.Sprintf(osTemplate, "ipv4"), "line 1: must be a section"),
		Entry("an unknown variable", v1alpha1.MetalInventoryMetal3, "$IP", `unknown variable "$IP"`),
	)
})
