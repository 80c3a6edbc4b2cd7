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
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/securityrule"
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
// quota is exhausted: machines must not wait for metrics. Existing ones are deleted if the quota does not suffice for required rules. Rules
// for bastions and for the load balancer of a self-hosted shoot are those of other controllers.
func ensureRules(ctx context.Context, f *flow, group *groups.SecGroup) error {
	needed, metrics := wantedRules(group.ID, f.site.Network), metricRules(f.site.Network)
	missing := map[rule]bool{}
	for _, r := range slices.Concat(needed, metrics) {
		missing[r] = true
	}

	var unwanted, optional []string
	for _, existing := range group.Rules {
		r := securityrule.Of(existing)
		switch {
		case f.owner.OwnsBastionRule(existing.Description), existing.Description == f.owner.ExposureRule():
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
		if err := securityrule.Delete(ctx, f.network, optional); err != nil {
			return err
		}
		err = createRules(ctx, f, group.ID, needed, missing)
	}
	if err != nil {
		return err
	}
	// The next reconciliation tries again to add the deleted ones.
	if err := securityrule.Delete(ctx, f.network, unwanted); err != nil || crowded {
		return err
	}
	if err := createRules(ctx, f, group.ID, metrics, missing); err != nil && platform.ClassOf(err) != platform.ClassQuota {
		return err
	}
	return nil
}

// createRules creates the missing rules, all or none.
func createRules(ctx context.Context, f *flow, groupID string, wanted []rule, missing map[rule]bool) error {
	var left []rule
	for _, r := range wanted {
		if missing[r] && !slices.Contains(left, r) {
			left = append(left, r)
		}
	}
	return securityrule.Create(ctx, f.network, groupID, "", left)
}

type (
	rule    = securityrule.Rule
	service = securityrule.Service
)

// nodeServices are the services that the nodes of a cluster need from each other.
var nodeServices = []service{
	{Protocol: "tcp", Min: 10250, Max: 10250}, // kubelet
	{Protocol: "udp", Min: 4789, Max: 4789},   // overlay: VXLAN of Calico
	{Protocol: "udp", Min: 8472, Max: 8472},   // overlay: VXLAN of Cilium
	{Protocol: "udp", Min: 6081, Max: 6081},   // overlay: Geneve
	{Protocol: "4"},                           // overlay: IP in IP
	{Protocol: "udp", Min: 51820, Max: 51820}, // overlay: WireGuard of Calico
	{Protocol: "udp", Min: 51871, Max: 51871}, // overlay: WireGuard of Cilium
	{Protocol: "tcp", Min: 5473, Max: 5473},   // overlay: Typha of Calico
	{Protocol: "tcp", Min: 179, Max: 179},     // BGP
}

// metricServices are scraped through the VPN. Traffic from the VPN's pod to the node itself bypasses the overlay.
var metricServices = []service{
	{Protocol: "tcp", Min: 10249, Max: 10249}, // kube-proxy
	{Protocol: "tcp", Min: 16909, Max: 16910}, // node-exporter, apiserver-proxy
	{Protocol: "tcp", Min: 9253, Max: 9253},   // node-local-dns
	{Protocol: "tcp", Min: 9353, Max: 9353},   // node-local-dns: errors
	{Protocol: "tcp", Min: 9090, Max: 9094},   // Calico, Cilium's agents
	{Protocol: "tcp", Min: 6942, Max: 6942},   // Cilium's operator
}

// nodePorts are the ports of Services of type NodePort and LoadBalancer.
var nodePorts = []service{{Protocol: "tcp", Min: 30000, Max: 32767}, {Protocol: "udp", Min: 30000, Max: 32767}}

// wantedRules are the required rules of the nodes' security group: all traffic out and between the nodes of the site, node services from
// the nodes of other sites, and node ports from everywhere.
func wantedRules(groupID string, network site.Network) []rule {
	result := []rule{
		{Direction: rules.DirEgress, EtherType: rules.EtherType4},
		{Direction: rules.DirEgress, EtherType: rules.EtherType6},
		{Direction: rules.DirIngress, EtherType: rules.EtherType4, RemoteGroup: groupID},
		{Direction: rules.DirIngress, EtherType: rules.EtherType6, RemoteGroup: groupID},
	}
	for _, foreign := range network.Foreign {
		result = append(result, fromEach([]netip.Prefix{foreign}, nodeServices)...)
		result = append(result, service{Protocol: icmp(foreign)}.From(foreign))
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
			result = append(result, s.From(cidr))
		}
	}
	return result
}

func icmp(cidr netip.Prefix) string {
	if cidr.Addr().Is6() {
		return string(rules.ProtocolIPv6ICMP)
	}
	return string(rules.ProtocolICMP)
}
