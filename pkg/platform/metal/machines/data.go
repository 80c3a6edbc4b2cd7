// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/networkdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// data returns the machine's data for its first boot on the host.
func (c *call) data(ctx context.Context, host *inventory.Host) (inventory.Data, error) {
	network, err := c.networkData(ctx, host)
	if err != nil {
		return inventory.Data{}, err
	}
	return inventory.Data{UserData: c.request.UserData, NodeName: c.nodeName(host), NetworkData: network}, nil
}

// networkData returns the network configuration of the machine on the host, with an address of its own if there is a pool. It is empty
// if there is no template.
func (c *call) networkData(ctx context.Context, host *inventory.Host) ([]byte, error) {
	network := c.spec.Network
	if network == nil {
		return nil, nil
	}
	values := networkdata.Values{
		Machine:    c.request.Name,
		Host:       host.Name,
		MAC:        host.MACAddress,
		Gateway:    network.Gateway,
		DNSServers: network.DNSServers,
		MTU:        network.MTU,
	}
	if network.PoolRef != nil {
		address, err := c.addresses.Ensure(ctx, c.request.Name, *network.PoolRef)
		if err != nil {
			return nil, err
		}
		values.Address, values.Prefix = address.IP.Addr().String(), address.IP.Bits()
		if address.Gateway.IsValid() {
			values.Gateway = address.Gateway.String()
		}
	}
	if network.Template == "" {
		return nil, nil
	}
	text, err := networkdata.Expand(network.Template, values)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "networkDataTemplate for machine %q on host %q: %w", c.request.Name,
			host.Name, err)
	}
	return []byte(text), nil
}
