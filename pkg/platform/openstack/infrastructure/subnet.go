// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"go4.org/netipx"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

func (f *flow) subnets(ctx context.Context, by filter) ([]subnets.Subnet, error) {
	return client.List(ctx, subnets.List(f.network, subnets.ListOpts{ID: by.id, Name: by.name}), subnets.ExtractSubnets)
}

func (f *flow) lookSubnet(ctx context.Context, id string) (*subnets.Subnet, error) {
	return find(ctx, id, f.subnets, func(s subnets.Subnet) bool { return f.owner.Owns(s.Description, s.Tags) }, f.owner.Name())
}

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

// updateSubnet changes the resolvers and the gateway of a subnet of ours.
func (f *flow) updateSubnet(ctx context.Context, seen *seen) error {
	var (
		network = f.site.Network
		options subnets.UpdateOpts
	)
	if !slices.Equal(network.DNSServers, seen.subnet.DNSNameservers) {
		servers := append([]string{}, network.DNSServers...)
		options.DNSNameservers = &servers
	}
	if network.Gateway.IsValid() && network.Gateway.String() != seen.subnet.GatewayIP {
		if err := f.releaseGateway(ctx, seen); err != nil {
			return err
		}
		options.GatewayIP = new(network.Gateway.String())
		options.AllocationPools = allocationPools(network.Subnets[0], network.Nodes, network.Gateway)
	}
	if options.DNSNameservers == nil && options.GatewayIP == nil {
		return nil
	}
	updated, err := client.Extracted(subnets.Update(ctx, f.network, seen.subnet.ID, options).Extract())
	if err != nil {
		return client.Classify(err)
	}
	seen.subnet = updated
	return nil
}

// releaseGateway removes the router's interface, whose address is the gateway and cannot be changed. It is added again with
// the new address. Before that it checks that the new address is free, or else the interface could not come back.
func (f *flow) releaseGateway(ctx context.Context, seen *seen) error {
	address := f.site.Network.Gateway.String()
	users, err := client.List(ctx, ports.List(f.network, ports.ListOpts{
		FixedIPs: []ports.FixedIPOpts{{SubnetID: seen.subnet.ID, IPAddress: address}},
	}), ports.ExtractPorts)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return platform.NewError(platform.ClassConflict, "gateway: port %q has the address %s", users[0].ID, address)
	}
	if seen.routerInterface == nil {
		return nil
	}
	if err := f.removeInterface(ctx, seen.routerInterface.DeviceID, seen.subnet.ID); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	seen.routerInterface = nil
	return nil
}

func (f *flow) ownedSubnets(ctx context.Context) ([]subnets.Subnet, error) {
	return owned(ctx, f.subnets, f.State().Subnet, f.owner.Name(),
		func(s subnets.Subnet) (string, bool) { return s.ID, f.owner.Owns(s.Description, s.Tags) })
}

// usedSubnets lists the subnets of the site's nodes: ours and the given one.
func (f *flow) usedSubnets(ctx context.Context) ([]subnets.Subnet, error) {
	own, err := f.ownedSubnets(ctx)
	if err != nil {
		return nil, err
	}
	id := knownID(referenceID(f.config().Subnet), f.State().Subnet)
	if id == "" || slices.ContainsFunc(own, func(s subnets.Subnet) bool { return s.ID == id }) {
		return own, nil
	}
	given, err := f.subnets(ctx, filter{id: id})
	return append(own, given...), err
}

func (f *flow) usedSubnetIDs(ctx context.Context) ([]string, error) {
	found, err := f.usedSubnets(ctx)
	var ids []string
	for i := range found {
		ids = append(ids, found[i].ID)
	}
	return ids, err
}

func (f *flow) deleteSubnets(ctx context.Context) error {
	found, err := f.ownedSubnets(ctx)
	if err != nil {
		return err
	}
	for _, subnet := range found {
		if err := client.IgnoreNotFound(subnets.Delete(ctx, f.network, subnet.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return f.forget(ctx, func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.Subnet })
}

func (f *flow) orphanedSubnets(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownedSubnets(ctx)
	return orphansOf(f, "subnet", found, func(s subnets.Subnet) (string, string) { return s.ID, s.Name }), err
}
