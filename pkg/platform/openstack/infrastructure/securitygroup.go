// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var securityGroupKind = &marked[groups.SecGroup]{
	name:   "security group",
	places: []field{func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.SecurityGroup }},
	found:  func(s *observed) **groups.SecGroup { return &s.securityGroup },
	list: func(ctx context.Context, f *flow, by filter) ([]groups.SecGroup, error) {
		return client.List(ctx, groups.List(f.network, groups.ListOpts{ID: by.id, Name: by.name}), groups.ExtractGroups)
	},
	describe: describeSecurityGroup,
	remove:   networking(groups.Delete),
	field:    "securityGroup.id",
	given:    func(c v1alpha1.OpenStackInfrastructure) string { return referenceID(c.SecurityGroup) },
	allowed: func(p v1alpha1.OpenStackProfile, g *groups.SecGroup) bool {
		return slices.Contains(p.SecurityGroups, g.ID)
	},
	resource: "security-groups",
	create: func(ctx context.Context, f *flow) (*groups.SecGroup, error) {
		return client.Extracted(groups.Create(ctx, f.network,
			groups.CreateOpts{Name: f.owner.Name(), Description: f.owner.Description()}).Extract())
	},
}

// serviceSecurityGroupKind are the security groups that the shoot's Services left behind. They do not name their site, and another site may
// be in the same project: they are deleted only with the whole shoot.
var serviceSecurityGroupKind = kind[groups.SecGroup]{
	name: "security group",
	own: func(ctx context.Context, f *flow) ([]groups.SecGroup, error) {
		if f.site.Removed() {
			return nil, nil
		}
		project, err := f.session.ProjectID()
		if err != nil {
			return nil, err
		}
		found, err := client.List(ctx, groups.List(f.network, groups.ListOpts{ProjectID: project}), groups.ExtractGroups)
		return slices.DeleteFunc(found, func(g groups.SecGroup) bool { return !f.owner.OwnsServiceSecurityGroup(g.Description) }), err
	},
	describe: describeSecurityGroup,
	remove:   networking(groups.Delete),
}

func describeSecurityGroup(g *groups.SecGroup) object {
	return object{id: g.ID, name: g.Name, description: g.Description, tags: g.Tags}
}

func ensureSecurityGroup(ctx context.Context, f *flow) error {
	if err := securityGroupKind.ensure(ctx, f); err != nil || securityGroupKind.givenID(f) != "" {
		return err
	}
	return ensureRules(ctx, f, f.observed.securityGroup)
}

// ensureRules adds missing rules in one request before it deletes unwanted ones. Rules for metrics are added last and are skipped if the
// quota is exhausted: machines must not wait for metrics. Existing ones are deleted if the quota does not suffice for required rules.
func ensureRules(ctx context.Context, f *flow, group *groups.SecGroup) error {
	needed, metrics := wantedRules(group.ID, f.site.Network), metricRules(f.site.Network)
	missing := map[rule]bool{}
	for _, r := range slices.Concat(needed, metrics) {
		missing[r] = true
	}

	var unwanted, optional []string
	for _, existing := range group.Rules {
		r := ruleOf(existing)
		switch {
		case !missing[r]:
			unwanted = append(unwanted, existing.ID)
		case slices.Contains(metrics, r):
			optional = append(optional, existing.ID)
		}
		delete(missing, r)
	}

	err := createRules(ctx, f, group.ID, needed, missing)
	crowded := platform.ClassOf(err) == platform.ClassQuota && len(optional) > 0
	if crowded {
		if err := deleteRules(ctx, f, optional); err != nil {
			return err
		}
		err = createRules(ctx, f, group.ID, needed, missing)
	}
	if err != nil {
		return err
	}
	// The next reconciliation tries again to add the deleted ones.
	if err := deleteRules(ctx, f, unwanted); err != nil || crowded {
		return err
	}
	if err := createRules(ctx, f, group.ID, metrics, missing); err != nil && platform.ClassOf(err) != platform.ClassQuota {
		return err
	}
	return nil
}

// createRules creates the missing rules, all or none.
func createRules(ctx context.Context, f *flow, groupID string, wanted []rule, missing map[rule]bool) error {
	var (
		options []rules.CreateOpts
		added   = map[rule]bool{}
	)
	for _, r := range wanted {
		if missing[r] && !added[r] {
			options = append(options, r.options(groupID))
			added[r] = true
		}
	}
	if len(options) == 0 {
		return nil
	}
	_, err := rules.CreateBulk(ctx, f.network, options).Extract()
	return client.Classify(err)
}

func deleteRules(ctx context.Context, f *flow, ids []string) error {
	for _, id := range ids {
		if err := client.IgnoreNotFound(rules.Delete(ctx, f.network, id).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}

// rule is a security group rule without its ID, so that rules can be compared. Empty fields mean "any".
type rule struct {
	direction   rules.RuleDirection
	etherType   rules.RuleEtherType
	protocol    string
	min, max    int
	remoteGroup string
	remoteCIDR  string
}

// service is a service of nodes.
type service struct {
	protocol string
	min, max int
}

// nodeServices are the services that the nodes of a cluster need from each other.
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

// metricServices are scraped through the VPN. Traffic from the VPN's pod to the node itself bypasses the overlay.
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

// wantedRules are the required rules of the nodes' security group: all traffic out and between the nodes of the site, node services from
// the nodes of other sites, and node ports from everywhere.
func wantedRules(groupID string, network site.Network) []rule {
	result := []rule{
		{direction: rules.DirEgress, etherType: rules.EtherType4},
		{direction: rules.DirEgress, etherType: rules.EtherType6},
		{direction: rules.DirIngress, etherType: rules.EtherType4, remoteGroup: groupID},
		{direction: rules.DirIngress, etherType: rules.EtherType6, remoteGroup: groupID},
	}
	for _, foreign := range network.Foreign {
		result = append(result, fromEach([]netip.Prefix{foreign}, nodeServices)...)
		result = append(result, service{protocol: icmp(foreign)}.from(foreign))
	}
	for _, subnet := range network.Subnets {
		everywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if subnet.Addr().Is6() {
			everywhere = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		result = append(result, fromEach([]netip.Prefix{everywhere}, nodePorts)...)
	}
	return result
}

// metricRules let nodes of other sites scrape metrics of nodes. A site works without them.
func metricRules(network site.Network) []rule {
	return fromEach(network.Foreign, metricServices)
}

// fromEach returns the rules for the services from each of the ranges.
func fromEach(cidrs []netip.Prefix, services []service) []rule {
	var result []rule
	for _, cidr := range cidrs {
		for _, s := range services {
			result = append(result, s.from(cidr))
		}
	}
	return result
}

func (s service) from(cidr netip.Prefix) rule {
	r := rule{direction: rules.DirIngress, etherType: rules.EtherType4, protocol: s.protocol, min: s.min, max: s.max,
		remoteCIDR: cidr.Masked().String()}
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

// canonicalProtocol maps protocols that the API returns under another name.
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
