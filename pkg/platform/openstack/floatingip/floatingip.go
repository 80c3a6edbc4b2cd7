// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package floatingip gives ports of machines and bastions floating IPs. They have no names: the description is the mark.
package floatingip

import (
	"context"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// Wanted is a floating IP.
type Wanted struct {
	// Description is the mark of the machine.
	Description string
	// NetworkID is the ID of the external network.
	NetworkID string
	// SubnetID is the ID of its subnet, empty if Neutron chooses one.
	SubnetID string
	// PortID is the ID of the port that the address leads to.
	PortID string
}

// Address returns the address at which others reach a port. The error is of ClassTransient if it leads everyone to themselves, or nowhere.
func Address(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(text)
	if err != nil || !address.IsGlobalUnicast() {
		return netip.Addr{}, platform.NewError(platform.ClassTransient, "%q is not an address that can be reached", platform.Printable(text))
	}
	return address, nil
}

// Ensure returns the floating IP of the port. It takes one with the description that no port has, or creates one.
func Ensure(ctx context.Context, network *gophercloud.ServiceClient, wanted Wanted) (*floatingips.FloatingIP, error) {
	existing, err := list(ctx, network, wanted.Description)
	if err != nil {
		return nil, err
	}
	for i := range existing {
		switch existing[i].PortID {
		case wanted.PortID:
			return &existing[i], nil
		case "":
			return client.Extracted(floatingips.Update(ctx, network, existing[i].ID,
				floatingips.UpdateOpts{PortID: &wanted.PortID}).Extract())
		}
	}
	return Create(ctx, network, wanted)
}

// Create creates the floating IP of a port that was just created.
func Create(ctx context.Context, network *gophercloud.ServiceClient, wanted Wanted) (*floatingips.FloatingIP, error) {
	return client.Extracted(floatingips.Create(ctx, network, floatingips.CreateOpts{
		Description:       wanted.Description,
		FloatingNetworkID: wanted.NetworkID,
		SubnetID:          wanted.SubnetID,
		PortID:            wanted.PortID,
	}).Extract())
}

// DeleteUnused deletes the floating IPs with the description that no port has. Without its port, a floating IP leads nowhere, but stays. It
// is a no-op if the site has no routers.
func DeleteUnused(ctx context.Context, network *gophercloud.ServiceClient, description string) error {
	existing, err := list(ctx, network, description)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, ip := range existing {
		if ip.PortID != "" {
			continue
		}
		if err := client.IgnoreNotFound(floatingips.Delete(ctx, network, ip.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}

// list returns the floating IPs with the description. A site that ignores the filter must not lead to others.
func list(ctx context.Context, network *gophercloud.ServiceClient, description string) ([]floatingips.FloatingIP, error) {
	found, err := client.List(ctx, floatingips.List(network, floatingips.ListOpts{Description: description}), floatingips.ExtractFloatingIPs)
	return slices.DeleteFunc(found, func(ip floatingips.FloatingIP) bool { return ip.Description != description }), err
}
