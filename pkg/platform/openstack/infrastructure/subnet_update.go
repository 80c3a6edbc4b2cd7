// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

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
