// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package networkdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

const (
	// maxElements is the maximum number of elements of each list.
	maxElements = 64
	// minMTU and maxMTU limit the MTU of a link in bytes: the minimum of IPv4, and the maximum of Ironic.
	minMTU, maxMTU = 68, 65535
	// maxVLAN is the maximum ID of a VLAN.
	maxVLAN = 4094
)

var (
	// physicalTypes are the types of links that are interfaces of the host: those of Ironic's schema and of cloud-init.
	physicalTypes = []string{
		"phy", "ethernet", "vif", "tap", "bridge", "ovs", "dvs", "hyperv", "hw_veb", "hostdev_physical", "vhostuser", "cascading", "infiniband",
	}
	bondModes = []string{"802.3ad", "802.1ad", "balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb",
		"0", "1", "2", "3", "4", "5", "6"}
	staticTypes  = []string{"ipv4", "ipv6", "static", "static6"}
	dynamicTypes = []string{"ipv4_dhcp", "ipv6_dhcp", "ipv6_slaac", "ipv6_dhcpv6-stateful", "ipv6_dhcpv6-stateless"}
)

// number is an integer, which may be in quotation marks.
type number int

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	value, err := strconv.Atoi(string(bytes.Trim(data, `"`)))
	if err != nil {
		return fmt.Errorf("%s must be an integer", quote(string(data)))
	}
	*n = number(value)
	return nil
}

// texts is a list of strings. A single one may be written without a list.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*t = texts{""}
		return utiljson.Unmarshal(data, &(*t)[0])
	}
	return utiljson.Unmarshal(data, (*[]string)(t))
}

// networkData is the network data of OpenStack, with the fields that cloud-init adds.
type networkData struct {
	Links    []link    `json:"links"`
	Networks []network `json:"networks"`
	Services []service `json:"services"`
}

type link struct {
	bondOptions

	ID        string `json:"id"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	VIFID     string `json:"vif_id"`
	MAC       string `json:"ethernet_mac_address"`
	MTU       number `json:"mtu"`
	BondLinks texts  `json:"bond_links"`
	BondMode  any    `json:"bond_mode"`
	VLANLink  string `json:"vlan_link"`
	VLANID    number `json:"vlan_id"`
	VLANMAC   string `json:"vlan_mac_address"`
}

// bondOptions are options of bonds that are not checked.
type bondOptions struct {
	ADSelect        any `json:"bond_ad_select"`
	AllSlavesActive any `json:"bond_all_slaves_active"`
	ARPInterval     any `json:"bond_arp_interval"`
	ARPTarget       any `json:"bond_arp_ip_target"`
	ARPTargets      any `json:"bond_arp_all_targets"`
	ARPValidate     any `json:"bond_arp_validate"`
	DownDelay       any `json:"bond_downdelay"`
	FailOverMAC     any `json:"bond_fail_over_mac"`
	HashPolicy      any `json:"bond_xmit_hash_policy"`
	LACPRate        any `json:"bond_lacp_rate"`
	MIIMon          any `json:"bond_miimon"`
	MinLinks        any `json:"bond_min_links"`
	NumGratARP      any `json:"bond_num_grat_arp"`
	Packets         any `json:"bond_packets_per_slave"`
	Primary         any `json:"bond_primary"`
	Reselect        any `json:"bond_primary_reselect"`
	UpDelay         any `json:"bond_updelay"`
	UseCarrier      any `json:"bond_use_carrier"`
}

type network struct {
	ID          string    `json:"id"`
	NetworkID   string    `json:"network_id"`
	Link        string    `json:"link"`
	Type        string    `json:"type"`
	Address     string    `json:"ip_address"`
	Netmask     any       `json:"netmask"`
	Broadcast   string    `json:"broadcast"`
	Gateway     string    `json:"gateway"`
	Metric      any       `json:"metric"`
	Scope       string    `json:"scope"`
	Nameservers texts     `json:"dns_nameservers"`
	Search      texts     `json:"dns_search"`
	Routes      []route   `json:"routes"`
	Services    []service `json:"services"`
}

type route struct {
	Network     string    `json:"network"`
	Destination string    `json:"destination"`
	Netmask     any       `json:"netmask"`
	Gateway     string    `json:"gateway"`
	Metric      any       `json:"metric"`
	Services    []service `json:"services"`
}

type service struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

// openStack checks network data that baremetal-operator writes to the config drive of a host, where cloud-init reads it. It may be YAML,
// because baremetal-operator decodes it so.
func (p *problems) openStack(text string, r rules) {
	const wanted = "must be the JSON or YAML of OpenStack's network_data.json: %s"
	decode := yaml.YAMLToJSON
	if r.strict {
		decode = yaml.YAMLToJSONStrict
	}
	raw, err := decode([]byte(text))
	if err == nil && r.strict {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&networkData{})
	}
	data := networkData{}
	if err == nil {
		err = utiljson.Unmarshal(raw, &data)
	}
	if err != nil {
		p.add("network data", wanted, quote(strings.TrimPrefix(err.Error(), "json: ")))
		return
	}
	for _, list := range []struct {
		path   string
		length int
	}{{"links", len(data.Links)}, {"networks", len(data.Networks)}, {"services", len(data.Services)}} {
		switch {
		case list.length > maxElements:
			p.add(list.path, "must have at most %d elements", maxElements)
			return
		case list.length == 0 && list.path != "services":
			p.add(list.path, "must have at least one element")
		}
	}
	links := p.links(data.Links, r)
	p.networks(data.Networks, links, r)
	p.services("services", data.Services)
}

// links checks the links, and returns them by their IDs.
func (p *problems) links(all []link, r rules) map[string]*link {
	var (
		byID = map[string]*link{}
		macs = map[string]string{}
	)
	for i := range all {
		l, path := &all[i], fmt.Sprintf("links[%d]", i)
		switch {
		case l.ID == "":
			p.add(path+".id", "must not be empty")
		case byID[l.ID] != nil:
			p.add(path+".id", "%s must be unique", quote(l.ID))
		default:
			byID[l.ID] = l
		}
		if l.MTU != 0 && (l.MTU < minMTU || l.MTU > maxMTU) {
			p.add(path+".mtu", "%d must be between %d and %d", l.MTU, minMTU, maxMTU)
		}
		switch {
		case slices.Contains(physicalTypes, l.Type):
			if mac, ok := p.mac(path+".ethernet_mac_address", l.MAC); ok {
				if other := macs[mac]; other != "" {
					p.add(path+".ethernet_mac_address", "%s must not be that of %s", mac, other)
				}
				macs[mac] = path
			}
		case l.Type == "bond":
			if l.MAC != "" {
				p.mac(path+".ethernet_mac_address", l.MAC)
			}
			mode := fmt.Sprint(l.BondMode)
			if (l.BondMode != nil || r.strict) && !slices.Contains(bondModes, mode) {
				p.add(path+".bond_mode", "%s must be one of %q", quote(mode), bondModes)
			}
		case l.Type == "vlan":
			p.mac(path+".vlan_mac_address", l.VLANMAC)
			if l.VLANID < 1 || l.VLANID > maxVLAN {
				p.add(path+".vlan_id", "%d must be between 1 and %d", l.VLANID, maxVLAN)
			}
		default:
			p.add(path+".type", "%s must be bond, vlan, or one of %q", quote(l.Type), physicalTypes)
		}
	}
	p.relations(all, byID)
	return byID
}

// relations checks what bonds and VLANs refer to.
func (p *problems) relations(all []link, byID map[string]*link) {
	bondOf := map[string]string{}
	for i := range all {
		l, path := &all[i], fmt.Sprintf("links[%d]", i)
		switch l.Type {
		case "bond":
			if len(l.BondLinks) == 0 || len(l.BondLinks) > maxElements {
				p.add(path+".bond_links", "must have between 1 and %d IDs of links", maxElements)
				continue
			}
			for j, id := range l.BondLinks {
				member, memberPath := byID[id], fmt.Sprintf("%s.bond_links[%d]", path, j)
				switch {
				case member == nil:
					p.add(memberPath, "%s must be the ID of a link", quote(id))
				case !slices.Contains(physicalTypes, member.Type):
					p.add(memberPath, "%s must be the ID of an interface of the host", quote(id))
				case bondOf[id] != "":
					p.add(memberPath, "%s must not be in %s, too", quote(id), bondOf[id])
				default:
					bondOf[id] = memberPath
				}
			}
		case "vlan":
			if byID[l.VLANLink] == nil {
				p.add(path+".vlan_link", "%s must be the ID of a link", quote(l.VLANLink))
			} else if inCircle(l, byID) {
				p.add(path+".vlan_link", "%s must not lead back to the link", quote(l.VLANLink))
			}
		}
	}
}

// inCircle reports whether the VLANs below a VLAN never end.
func inCircle(l *link, byID map[string]*link) bool {
	below := l
	for range len(byID) + 1 {
		if below == nil || below.Type != "vlan" {
			return false
		}
		below = byID[below.VLANLink]
	}
	return true
}

// networks checks the networks on the links.
func (p *problems) networks(all []network, links map[string]*link, r rules) {
	var (
		ids       = map[string]bool{}
		addresses = map[netip.Addr]string{}
		byLink    = map[string][]netip.Prefix{}
	)
	for i := range all {
		n, path := &all[i], fmt.Sprintf("networks[%d]", i)
		switch {
		case n.ID == "" && r.strict:
			p.add(path+".id", "must not be empty")
		case n.ID != "" && ids[n.ID]:
			p.add(path+".id", "%s must be unique", quote(n.ID))
		}
		ids[n.ID] = true
		if links[n.Link] == nil {
			p.add(path+".link", "%s must be the ID of a link", quote(n.Link))
		}
		switch {
		case slices.Contains(staticTypes, n.Type):
			if prefix, ok := p.ownAddress(path, n); ok {
				byLink[n.Link] = append(byLink[n.Link], prefix)
				if other := addresses[prefix.Addr()]; other != "" {
					p.add(path+".ip_address", "%s must not be that of %s", prefix.Addr(), other)
				}
				addresses[prefix.Addr()] = path
			}
		case !slices.Contains(dynamicTypes, n.Type):
			p.add(path+".type", "%s must be one of %q", quote(n.Type), slices.Concat(staticTypes, dynamicTypes))
		}
		if len(n.Nameservers) > maxElements || len(n.Routes) > maxElements || len(n.Services) > maxElements {
			p.add(path, "lists must have at most %d elements", maxElements)
			return
		}
		for j, server := range n.Nameservers {
			p.address(fmt.Sprintf("%s.dns_nameservers[%d]", path, j), server)
		}
		p.services(path+".services", n.Services)
	}
	for i := range all {
		n, path := &all[i], fmt.Sprintf("networks[%d]", i)
		if n.Gateway != "" {
			p.nextHop(path+".gateway", n.Gateway, byLink[n.Link], r)
		}
		for j := range n.Routes {
			p.route(fmt.Sprintf("%s.routes[%d]", path, j), &n.Routes[j], byLink[n.Link], r)
		}
	}
}

func (p *problems) nextHop(path, value string, own []netip.Prefix, r rules) {
	if gateway, ok := p.address(path, value); ok && r.related {
		p.gateway(path, gateway, own)
	}
}

func (p *problems) route(path string, n *route, own []netip.Prefix, r rules) {
	target := n.Network
	if target == "" {
		target = n.Destination
	}
	if prefix, ok := p.prefix(path+".network", target, path+".netmask", n.Netmask); ok && prefix != prefix.Masked() {
		p.add(path+".network", "%s must have no host bits: %s", prefix, prefix.Masked())
	}
	p.nextHop(path+".gateway", n.Gateway, own, r)
	p.services(path+".services", n.Services)
}

// ownAddress checks the address of the host in the network, whose family is that of the network's type.
func (p *problems) ownAddress(path string, n *network) (netip.Prefix, bool) {
	prefix, ok := p.prefix(path+".ip_address", n.Address, path+".netmask", n.Netmask)
	if !ok {
		return netip.Prefix{}, false
	}
	if is6 := n.Type == "ipv6" || n.Type == "static6"; is6 == prefix.Addr().Is4() {
		p.add(path+".ip_address", "%s must be of the family of the type %q", prefix.Addr(), n.Type)
		return netip.Prefix{}, false
	}
	return p.host(path+".ip_address", prefix)
}

// prefix reads an address with a prefix length, or an address and a netmask.
func (p *problems) prefix(path, value, maskPath string, mask any) (netip.Prefix, bool) {
	if strings.Contains(value, "/") {
		prefix, err := netip.ParsePrefix(value)
		if err != nil {
			p.add(path, "%s must be an address with the length of its prefix, such as 192.0.2.10/24", quote(value))
		}
		return prefix, err == nil
	}
	addr, ok := p.address(path, value)
	if !ok {
		return netip.Prefix{}, false
	}
	text := ""
	if mask != nil {
		text = fmt.Sprint(mask)
	}
	bits, err := strconv.Atoi(text)
	if err != nil {
		bits = bitsOf(addr, text)
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		p.add(maskPath, "%s must be a netmask such as 255.255.255.0, unless the address has the length of its prefix", quote(text))
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, prefix.Bits()), true
}

// bitsOf returns the length of the prefix of a netmask, negative if it is invalid.
func bitsOf(addr netip.Addr, text string) int {
	mask, err := netip.ParseAddr(text)
	if err != nil || mask.Is4() != addr.Is4() {
		return -1
	}
	ones, bits := net.IPMask(mask.AsSlice()).Size()
	if bits == 0 {
		return -1
	}
	return ones
}

func (p *problems) services(path string, all []service) {
	for i, s := range all {
		if s.Type != "dns" {
			p.add(fmt.Sprintf("%s[%d].type", path, i), "%s must be dns", quote(s.Type))
		}
		p.address(fmt.Sprintf("%s[%d].address", path, i), s.Address)
	}
}
