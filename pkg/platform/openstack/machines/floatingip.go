// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// ensureFloatingIP gives the port the machine's floating IP if it is to have one. A port that was just created has none yet.
func (c *call) ensureFloatingIP(ctx context.Context, portID string, created bool) error {
	networkID := c.request.Spec.OpenStack.FloatingNetworkID
	if networkID == "" {
		return nil
	}
	if !created {
		existing, err := c.floatingIPs(ctx)
		if err != nil {
			return err
		}
		for _, ip := range existing {
			switch ip.PortID {
			case portID:
				return nil
			case "":
				return client.Classify(floatingips.Update(ctx, c.network, ip.ID, floatingips.UpdateOpts{PortID: &portID}).Err)
			}
		}
	}
	return client.Classify(floatingips.Create(ctx, c.network, floatingips.CreateOpts{
		Description:       c.owner.MachineDescription(c.request.Name),
		FloatingNetworkID: networkID,
		PortID:            portID,
	}).Err)
}

// deleteFloatingIPs deletes the machine's floating IPs that no port has. With its port, a floating IP loses its place, but stays.
func (c *call) deleteFloatingIPs(ctx context.Context) error {
	if c.request.Spec.OpenStack.FloatingNetworkID == "" {
		return nil
	}
	existing, err := c.floatingIPs(ctx)
	if err != nil {
		return err
	}
	for _, ip := range existing {
		if ip.PortID != "" {
			continue
		}
		if err := client.IgnoreNotFound(floatingips.Delete(ctx, c.network, ip.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}

// floatingIPs lists the machine's floating IPs.
func (c *call) floatingIPs(ctx context.Context) ([]floatingips.FloatingIP, error) {
	return client.List(ctx, floatingips.List(c.network, floatingips.ListOpts{Description: c.owner.MachineDescription(c.request.Name)}),
		floatingips.ExtractFloatingIPs)
}
