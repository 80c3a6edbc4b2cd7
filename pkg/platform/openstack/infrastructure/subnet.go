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
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"go4.org/netipx"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

var subnetKind = &marked[subnets.Subnet]{
	name:   "subnet",
	places: []field{func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.Subnet }},
	found:  func(s *observed) **subnets.Subnet { return &s.subnet },
	list: func(ctx context.Context, f *flow, by filter) ([]subnets.Subnet, error) {
		return client.List(ctx, subnets.List(f.network, subnets.ListOpts{ID: by.id, Name: by.name}), subnets.ExtractSubnets)
	},
	describe: func(s *subnets.Subnet) object {
		return object{id: s.ID, name: s.Name, description: s.Description, tags: s.Tags}
	},
	remove: networking(subnets.Delete),
	field:  "subnet.id",
	given:  func(c v1alpha1.OpenStackInfrastructure) string { return referenceID(c.Subnet) },
	// If the network is permitted, so are its subnets.
	allowed: func(p v1alpha1.OpenStackProfile, s *subnets.Subnet) bool {
		return slices.Contains(p.Networks, s.NetworkID)
	},
	check:    checkSubnet,
	resource: "subnets",
	create: func(ctx context.Context, f *flow) (*subnets.Subnet, error) {
		return client.Extracted(subnets.Create(ctx, f.network, subnetOptions(f, f.observed.network.ID)).Extract())
	},
	update: updateSubnet,
}

func ensureSubnet(ctx context.Context, f *flow) error {
	if len(f.site.Network.Subnets) != 1 {
		return platform.NewError(platform.ClassConfiguration, "nodes: an OpenStack site must have exactly one range, got %v",
			f.site.Network.Subnets)
	}
	return subnetKind.ensure(ctx, f)
}

// checkSubnet checks that a given subnet is in the given network and contains the site's ranges.
func checkSubnet(f *flow, subnet *subnets.Subnet) error {
	if f.observed.network == nil || subnet.NetworkID != f.observed.network.ID {
		return platform.NewError(platform.ClassConfiguration, "openstack.subnet.id: subnet %q is not in the network of openstack.network.id",
			subnet.ID)
	}
	cidr, err := netip.ParsePrefix(subnet.CIDR)
	if err != nil {
		return platform.NewError(platform.ClassConfiguration, "openstack.subnet.id: subnet %q has no valid range: %w", subnet.ID, err)
	}
	for _, nodes := range f.site.Network.Nodes {
		if !cidr.Contains(nodes.Addr()) || cidr.Bits() > nodes.Bits() {
			return platform.NewError(platform.ClassConfiguration, "openstack.subnet.id: subnet %q has the range %s, which does not contain nodes %s",
				subnet.ID, cidr, nodes)
		}
	}
	return nil
}

func subnetOptions(f *flow, networkID string) subnets.CreateOpts {
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

// allocationPools are the site's ranges without the gateway and without the first and last address of the subnet, which no host can have.
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
	return lists.Map(set.Ranges(), func(r netipx.IPRange) subnets.AllocationPool {
		return subnets.AllocationPool{Start: r.From().String(), End: r.To().String()}
	})
}

// updateSubnet updates the resolvers and the gateway of our subnet.
func updateSubnet(ctx context.Context, f *flow, subnet *subnets.Subnet) (*subnets.Subnet, error) {
	var (
		network = f.site.Network
		options subnets.UpdateOpts
	)
	if !slices.Equal(network.DNSServers, subnet.DNSNameservers) {
		servers := append([]string{}, network.DNSServers...)
		options.DNSNameservers = &servers
	}
	if network.Gateway.IsValid() && network.Gateway.String() != subnet.GatewayIP {
		if err := releaseGateway(ctx, f, subnet); err != nil {
			return nil, err
		}
		options.GatewayIP = new(network.Gateway.String())
		options.AllocationPools = allocationPools(network.Subnets[0], network.Nodes, network.Gateway)
	}
	if options.DNSNameservers == nil && options.GatewayIP == nil {
		return subnet, nil
	}
	return client.Extracted(subnets.Update(ctx, f.network, subnet.ID, options).Extract())
}

// releaseGateway removes the router's interface, whose address is the gateway and immutable. The interface is added again with the new
// address, so that address must be free.
func releaseGateway(ctx context.Context, f *flow, subnet *subnets.Subnet) error {
	address := f.site.Network.Gateway.String()
	users, err := client.List(ctx, ports.List(f.network, ports.ListOpts{
		FixedIPs: []ports.FixedIPOpts{{SubnetID: subnet.ID, IPAddress: address}},
	}), ports.ExtractPorts)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return platform.NewError(platform.ClassConflict, "gateway: address %[2]s is already used by port %[1]q", users[0].ID, address)
	}
	if f.observed.routerInterface == nil {
		return nil
	}
	if err := removeInterface(ctx, f, f.observed.routerInterface.DeviceID, subnet.ID); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	f.observed.routerInterface = nil
	return nil
}

func routerInterface(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject {
	return &s.RouterInterface
}

func interfaceOf(ctx context.Context, f *flow, routerID, subnetID string) (*ports.Port, error) {
	if routerID == "" || subnetID == "" {
		return nil, nil
	}
	found, err := client.List(ctx, ports.List(f.network, ports.ListOpts{
		DeviceID: routerID,
		FixedIPs: []ports.FixedIPOpts{{SubnetID: subnetID}},
	}), ports.ExtractPorts)
	return first(found), err
}

func removeInterfaces(ctx context.Context, f *flow, options ports.ListOpts) error {
	found, err := client.List(ctx, ports.List(f.network, options), ports.ExtractPorts)
	if err != nil {
		return err
	}
	for _, port := range found {
		if !slices.Contains(interfaceOwners, port.DeviceOwner) {
			continue
		}
		for _, ip := range port.FixedIPs {
			if err := removeInterface(ctx, f, port.DeviceID, ip.SubnetID); err != nil {
				return err
			}
		}
	}
	return nil
}

// interfaceOwners are the device owners of router ports to internal networks; the port to the external network has a different one.
var interfaceOwners = []string{"network:router_interface", "network:router_interface_distributed", "network:ha_router_replicated_interface"}

func removeInterface(ctx context.Context, f *flow, routerID, subnetID string) error {
	_, err := routers.RemoveInterface(ctx, f.network, routerID, routers.RemoveInterfaceOpts{SubnetID: subnetID}).Extract()
	return client.IgnoreNotFound(err)
}
