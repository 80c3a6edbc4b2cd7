// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"go4.org/netipx"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

func (f *flow) ensureSubnet(seen *seen) func(context.Context) error {
	place := func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.Subnet }
	return func(ctx context.Context) error {
		if len(f.site.Network.Subnets) != 1 {
			return platform.NewError(platform.ClassConfiguration, "nodes: an OpenStack site has exactly one range, got %v", f.site.Network.Subnets)
		}
		if given := referenceID(f.config().Subnet); given != "" {
			if seen.subnet == nil || seen.subnet.ID != given {
				return notFound("subnet.id", given)
			}
			// Whoever may name the network may name its subnets.
			if !slices.Contains(f.profile().Networks, seen.subnet.NetworkID) {
				if err := f.refuseForeign("subnet.id", given, seen.subnet.Description, seen.subnet.Tags, nil); err != nil {
					return err
				}
			}
			if err := f.checkSubnet(seen); err != nil {
				return err
			}
			return f.recordObject(ctx, given, false, place)
		}

		if seen.subnet == nil {
			created, err := client.Extracted(subnets.Create(ctx, f.network, f.subnetOptions(seen.network.ID)).Extract())
			if err != nil {
				return client.Classify(err)
			}
			seen.subnet = created
		} else if err := f.updateSubnet(ctx, seen); err != nil {
			return err
		}
		return f.adopt(ctx, "subnets", seen.subnet.ID, seen.subnet.Tags, place)
	}
}

// checkSubnet checks that a given subnet is in the given network and has the site's range.
func (f *flow) checkSubnet(seen *seen) error {
	if seen.network == nil || seen.subnet.NetworkID != seen.network.ID {
		return platform.NewError(platform.ClassConfiguration, "openstack.subnet.id: subnet %q is not in the network of openstack.network.id", seen.subnet.ID)
	}
	cidr, err := netip.ParsePrefix(seen.subnet.CIDR)
	if err != nil {
		return platform.NewError(platform.ClassConfiguration, "openstack.subnet.id: subnet %q has no valid range: %w", seen.subnet.ID, err)
	}
	for _, nodes := range f.site.Network.Nodes {
		if !cidr.Contains(nodes.Addr()) || cidr.Bits() > nodes.Bits() {
			return platform.NewError(platform.ClassConfiguration, "openstack.subnet.id: subnet %q has the range %s, which does not contain nodes %s", seen.subnet.ID, cidr, nodes)
		}
	}
	return nil
}

func (f *flow) subnetOptions(networkID string) subnets.CreateOpts {
	cidr := f.site.Network.Subnets[0]
	options := subnets.CreateOpts{
		NetworkID:      networkID,
		CIDR:           cidr.String(),
		Name:           f.owner.Name(),
		Description:    f.owner.Description(),
		IPVersion:      gophercloud.IPv4,
		EnableDHCP:     new(true),
		DNSNameservers: f.site.Network.DNSServers,
	}
	if cidr.Addr().Is6() {
		options.IPVersion = gophercloud.IPv6
	}
	if f.site.Network.Gateway.IsValid() {
		options.GatewayIP = new(f.site.Network.Gateway.String())
	}
	if f.site.Network.Topology == v1alpha1.TopologyStretched {
		options.AllocationPools = allocationPools(cidr, f.site.Network.Nodes, f.site.Network.Gateway)
	}
	return options
}

// allocationPools are the addresses of the site's ranges without the gateway and without the first and the last address of
// the subnet, which no host can have.
func allocationPools(subnet netip.Prefix, nodes []netip.Prefix, gateway netip.Addr) []subnets.AllocationPool {
	var builder netipx.IPSetBuilder
	for _, prefix := range nodes {
		builder.AddPrefix(prefix)
	}
	builder.Remove(subnet.Masked().Addr())
	builder.Remove(netipx.PrefixLastIP(subnet))
	if gateway.IsValid() {
		builder.Remove(gateway)
	}
	set, err := builder.IPSet()
	if err != nil {
		return nil
	}
	var pools []subnets.AllocationPool
	for _, r := range set.Ranges() {
		pools = append(pools, subnets.AllocationPool{Start: r.From().String(), End: r.To().String()})
	}
	return pools
}
