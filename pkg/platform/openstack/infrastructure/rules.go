// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"net/netip"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// rule is a security group rule without its ID, so that rules can be compared. Empty fields mean "any".
type rule struct {
	direction   rules.RuleDirection
	etherType   rules.RuleEtherType
	protocol    string
	min, max    int
	remoteGroup string
	remoteCIDR  string
}

// service is what nodes of other sites may reach.
type service struct {
	protocol string
	min, max int
}

// nodeServices are what the nodes of a cluster need of each other.
var nodeServices = []service{
	{"tcp", 10250, 10250}, // kubelet
	{"udp", 4789, 4789},   // overlay: VXLAN of Calico
	{"udp", 8472, 8472},   // overlay: VXLAN of Cilium
	{"udp", 6081, 6081},   // overlay: Geneve
	{"4", 0, 0},           // overlay: IP in IP
	{"udp", 51820, 51820}, // overlay: WireGuard of Calico
	{"udp", 51871, 51871}, // overlay: WireGuard of Cilium
	{"tcp", 5473, 5473},   // overlay: Typha of Calico
	{"tcp", 179, 179},     // BGP
}

// metricServices are what is read of nodes through the VPN. What goes from its pod to the node itself is in no overlay.
var metricServices = []service{
	{"tcp", 10249, 10249}, // kube-proxy
	{"tcp", 16909, 16910}, // node-exporter, apiserver-proxy
	{"tcp", 9253, 9253},   // node-local-dns
	{"tcp", 9353, 9353},   // node-local-dns: errors
	{"tcp", 9090, 9094},   // Calico, Cilium's agents
	{"tcp", 6942, 6942},   // Cilium's operator
}

// nodePorts are the ports of Services of type NodePort and LoadBalancer.
var nodePorts = []service{{"tcp", 30000, 32767}, {"udp", 30000, 32767}}

// wantedRules are the rules of the nodes' security group: all traffic out and between the nodes of the site, what nodes
// need of each other from the nodes of the other sites, and node ports from everywhere.
func wantedRules(groupID string, network site.Network) []rule {
	result := []rule{
		{direction: rules.DirEgress, etherType: rules.EtherType4},
		{direction: rules.DirEgress, etherType: rules.EtherType6},
		{direction: rules.DirIngress, etherType: rules.EtherType4, remoteGroup: groupID},
		{direction: rules.DirIngress, etherType: rules.EtherType6, remoteGroup: groupID},
	}
	for _, foreign := range network.Foreign {
		for _, s := range nodeServices {
			result = append(result, s.from(foreign))
		}
		result = append(result, service{protocol: icmp(foreign)}.from(foreign))
	}
	for _, subnet := range network.Subnets {
		everywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if subnet.Addr().Is6() {
			everywhere = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		for _, s := range nodePorts {
			result = append(result, s.from(everywhere))
		}
	}
	return result
}

// metricRules are the rules that let metrics of nodes be read from the nodes of the other sites. A site works without them.
func metricRules(network site.Network) []rule {
	var result []rule
	for _, foreign := range network.Foreign {
		for _, s := range metricServices {
			result = append(result, s.from(foreign))
		}
	}
	return result
}

func (s service) from(cidr netip.Prefix) rule {
	r := rule{direction: rules.DirIngress, etherType: rules.EtherType4, protocol: s.protocol, min: s.min, max: s.max, remoteCIDR: cidr.Masked().String()}
	if cidr.Addr().Is6() {
		r.etherType = rules.EtherType6
	}
	return r
}

func icmp(cidr netip.Prefix) string {
	if cidr.Addr().Is6() {
		return string(rules.ProtocolIPv6ICMP)
	}
	return string(rules.ProtocolICMP)
}

func ruleOf(r rules.SecGroupRule) rule {
	return rule{
		direction:   rules.RuleDirection(r.Direction),
		etherType:   rules.RuleEtherType(r.EtherType),
		protocol:    canonicalProtocol(r.Protocol),
		min:         r.PortRangeMin,
		max:         r.PortRangeMax,
		remoteGroup: r.RemoteGroupID,
		remoteCIDR:  r.RemoteIPPrefix,
	}
}

// canonicalProtocol undoes that the API returns some protocols under another name than they were given.
func canonicalProtocol(protocol string) string {
	switch protocol {
	case "icmpv6":
		return string(rules.ProtocolIPv6ICMP)
	case "ipip":
		return "4"
	default:
		return protocol
	}
}

func (r rule) options(groupID string) rules.CreateOpts {
	return rules.CreateOpts{
		Direction:      r.direction,
		EtherType:      r.etherType,
		SecGroupID:     groupID,
		Protocol:       rules.RuleProtocol(r.protocol),
		PortRangeMin:   r.min,
		PortRangeMax:   r.max,
		RemoteGroupID:  r.remoteGroup,
		RemoteIPPrefix: r.remoteCIDR,
	}
}
