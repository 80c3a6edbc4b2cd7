// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package securityrule compares, creates and deletes rules of security groups.
package securityrule

import (
	"context"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// Rule is a security group rule without its ID, so that rules can be compared. Empty fields mean "any".
type Rule struct {
	// Direction is the direction of the traffic.
	Direction rules.RuleDirection
	// EtherType is the IP family.
	EtherType rules.RuleEtherType
	// Protocol is the protocol, in the form that the API accepts.
	Protocol string
	// Min and Max are the first and the last port.
	Min, Max int
	// RemoteGroup is the ID of the security group of the other end.
	RemoteGroup string
	// RemoteCIDR is the range of the other end.
	RemoteCIDR string
}

// Service is what a rule allows.
type Service struct {
	// Protocol is the protocol.
	Protocol string
	// Min and Max are the first and the last port.
	Min, Max int
}

// From returns the rule that allows the service from the range.
func (s Service) From(cidr netip.Prefix) Rule {
	return s.rule(rules.DirIngress, cidr)
}

// To returns the rule that allows the service of the range.
func (s Service) To(cidr netip.Prefix) Rule {
	return s.rule(rules.DirEgress, cidr)
}

func (s Service) rule(direction rules.RuleDirection, cidr netip.Prefix) Rule {
	r := Rule{Direction: direction, EtherType: rules.EtherType4, Protocol: s.Protocol, Min: s.Min, Max: s.Max,
		RemoteCIDR: cidr.Masked().String()}
	if cidr.Addr().Is6() {
		r.EtherType = rules.EtherType6
	}
	return r
}

// Of returns an existing rule.
func Of(r rules.SecGroupRule) Rule {
	return Rule{
		Direction:   rules.RuleDirection(r.Direction),
		EtherType:   rules.RuleEtherType(r.EtherType),
		Protocol:    CanonicalProtocol(r.Protocol),
		Min:         r.PortRangeMin,
		Max:         r.PortRangeMax,
		RemoteGroup: r.RemoteGroupID,
		RemoteCIDR:  r.RemoteIPPrefix,
	}
}

// CanonicalProtocol maps protocols that the API returns under another name.
func CanonicalProtocol(protocol string) string {
	switch protocol {
	case "icmpv6":
		return string(rules.ProtocolIPv6ICMP)
	case "ipip":
		return "4"
	default:
		return protocol
	}
}

// Difference returns the wanted rules that do not exist, each once and in their order, and the IDs of the existing rules that are not
// wanted.
func Difference(existing []rules.SecGroupRule, wanted []Rule) (missing []Rule, unwanted []string) {
	open := map[Rule]bool{}
	for _, r := range wanted {
		open[r] = true
	}
	needed := map[Rule]bool{}
	for r := range open {
		needed[r] = true
	}
	for _, r := range existing {
		if !needed[Of(r)] {
			unwanted = append(unwanted, r.ID)
		}
		delete(open, Of(r))
	}
	for _, r := range wanted {
		if open[r] {
			missing = append(missing, r)
			delete(open, r)
		}
	}
	return missing, unwanted
}

// Ensure makes the wanted rules those of the group with the description. Other rules are not touched, also if the site ignores the filter.
func Ensure(ctx context.Context, network *gophercloud.ServiceClient, groupID, description string, wanted []Rule) error {
	existing, err := client.List(ctx, rules.List(network, rules.ListOpts{SecGroupID: groupID, Description: description}), rules.ExtractRules)
	if err != nil {
		return err
	}
	existing = slices.DeleteFunc(existing, func(r rules.SecGroupRule) bool { return r.SecGroupID != groupID || r.Description != description })
	missing, unwanted := Difference(existing, wanted)
	if err := Delete(ctx, network, unwanted); err != nil {
		return err
	}
	return Create(ctx, network, groupID, description, missing)
}

// Create creates the rules in one request, all or none. They get the description.
func Create(ctx context.Context, network *gophercloud.ServiceClient, groupID, description string, wanted []Rule) error {
	if len(wanted) == 0 {
		return nil
	}
	options := make([]rules.CreateOpts, 0, len(wanted))
	for _, r := range wanted {
		options = append(options, rules.CreateOpts{
			Description:    description,
			Direction:      r.Direction,
			EtherType:      r.EtherType,
			SecGroupID:     groupID,
			Protocol:       rules.RuleProtocol(r.Protocol),
			PortRangeMin:   r.Min,
			PortRangeMax:   r.Max,
			RemoteGroupID:  r.RemoteGroup,
			RemoteIPPrefix: r.RemoteCIDR,
		})
	}
	_, err := rules.CreateBulk(ctx, network, options).Extract()
	return client.Classify(err)
}

// Delete deletes the rules with the IDs. Those that do not exist are ignored.
func Delete(ctx context.Context, network *gophercloud.ServiceClient, ids []string) error {
	for _, id := range ids {
		if err := client.IgnoreNotFound(rules.Delete(ctx, network, id).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}
