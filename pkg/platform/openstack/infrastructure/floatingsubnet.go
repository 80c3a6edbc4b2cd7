// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// floatingSubnets are the subnets of an external network that have the name that is asked for.
type floatingSubnets struct {
	networkID string
	found     []subnets.Subnet
}

// lookFloatingSubnets finds the subnets of an external network with the name that is asked for, if one is.
func (f *flow) lookFloatingSubnets(ctx context.Context, networkID string) (floatingSubnets, error) {
	wanted := f.config().FloatingSubnet
	if wanted == nil || wanted.Name == "" || networkID == "" {
		return floatingSubnets{}, nil
	}
	found, err := client.List(ctx, subnets.List(f.network, subnets.ListOpts{Name: wanted.Name, NetworkID: networkID}), subnets.ExtractSubnets)
	return floatingSubnets{networkID: networkID, found: found}, err
}

// floatingSubnetID is the ID of the subnet of the external network that is asked for, empty if none is. What is given by ID is
// looked for in the network, because members of other projects often do not see the subnet itself.
func (f *flow) floatingSubnetID(seen *seen) (string, error) {
	wanted := f.config().FloatingSubnet
	switch {
	case wanted == nil:
		return "", nil
	case wanted.ID != "":
		if !slices.Contains(seen.floatingNetwork.Subnets, wanted.ID) {
			return "", platform.NewError(platform.ClassConfiguration, "openstack.floatingSubnet.id: network %q has no subnet %q", seen.floatingNetwork.Name, wanted.ID)
		}
		return wanted.ID, nil
	case len(seen.floatingSubnets.found) != 1:
		return "", platform.NewError(platform.ClassConfiguration,
			"openstack.floatingSubnet.name: %d subnets of network %q with the name %q are visible to the credentials, want one; the ID works also for one that is not visible",
			len(seen.floatingSubnets.found), seen.floatingNetwork.Name, wanted.Name)
	default:
		return seen.floatingSubnets.found[0].ID, nil
	}
}

// gateway is the gateway that a router of ours shall have.
func gateway(networkID, subnetID string) *routers.GatewayInfo {
	wanted := &routers.GatewayInfo{NetworkID: networkID}
	if subnetID != "" {
		wanted.ExternalFixedIPs = []routers.ExternalFixedIP{{SubnetID: subnetID}}
	}
	return wanted
}

// hasGateway reports whether the existing gateway is in the network and, if one is asked for, in the subnet of the wanted one.
func hasGateway(existing, wanted *routers.GatewayInfo) bool {
	if existing.NetworkID != wanted.NetworkID {
		return false
	}
	for _, ip := range wanted.ExternalFixedIPs {
		if !slices.ContainsFunc(existing.ExternalFixedIPs, func(e routers.ExternalFixedIP) bool { return e.SubnetID == ip.SubnetID }) {
			return false
		}
	}
	return true
}

// gatewayError says that it is the subnet that is not allowed, which OpenStack's own policies leave to administrators.
func gatewayError(err error, subnetID string) error {
	err = client.Classify(err)
	if subnetID != "" && platform.ClassOf(err) == platform.ClassForbidden {
		return fmt.Errorf("openstack.floatingSubnet: the credentials may not choose the subnet of a router's gateway: %w", err)
	}
	return err
}
