// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

func routerInterface(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject {
	return &s.RouterInterface
}

func (f *flow) lookRouterInterface(ctx context.Context, routerID, subnetID string) (*ports.Port, error) {
	if routerID == "" || subnetID == "" {
		return nil, nil
	}
	found, err := client.List(ctx, ports.List(f.network, ports.ListOpts{
		DeviceID: routerID,
		FixedIPs: []ports.FixedIPOpts{{SubnetID: subnetID}},
	}), ports.ExtractPorts)
	return first(found), err
}

func (f *flow) removeInterfaces(ctx context.Context, options ports.ListOpts) error {
	found, err := client.List(ctx, ports.List(f.network, options), ports.ExtractPorts)
	if err != nil {
		return err
	}
	for _, port := range found {
		if !slices.Contains(interfaceOwners, port.DeviceOwner) {
			continue
		}
		for _, ip := range port.FixedIPs {
			if err := f.removeInterface(ctx, port.DeviceID, ip.SubnetID); err != nil {
				return err
			}
		}
	}
	return nil
}

// interfaceOwners are the device owners of router ports to internal networks; the port to the external network has another.
var interfaceOwners = []string{"network:router_interface", "network:router_interface_distributed", "network:ha_router_replicated_interface"}

func (f *flow) removeInterface(ctx context.Context, routerID, subnetID string) error {
	_, err := routers.RemoveInterface(ctx, f.network, routerID, routers.RemoveInterfaceOpts{SubnetID: subnetID}).Extract()
	return client.IgnoreNotFound(err)
}
