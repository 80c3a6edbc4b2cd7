// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// deleteFloatingIPs deletes the floating IPs that the shoot's Services left behind on the site.
func (f *flow) deleteFloatingIPs(ctx context.Context) error {
	found, err := f.ownedFloatingIPs(ctx)
	if err != nil {
		return err
	}
	return f.deleteAllFloatingIPs(ctx, found)
}

// deleteFloatingIPsOf deletes the floating IPs of a port that were made for the shoot's Services.
func (f *flow) deleteFloatingIPsOf(ctx context.Context, portID string) error {
	if portID == "" {
		return nil
	}
	found, err := client.List(ctx, floatingips.List(f.network, floatingips.ListOpts{PortID: portID}), floatingips.ExtractFloatingIPs)
	if err != nil {
		return err
	}
	return f.deleteAllFloatingIPs(ctx, slices.DeleteFunc(found, func(ip floatingips.FloatingIP) bool {
		return !f.owner.OwnsFloatingIP(ip.Description)
	}))
}

func (f *flow) deleteAllFloatingIPs(ctx context.Context, ips []floatingips.FloatingIP) error {
	for i := range ips {
		if err := client.IgnoreNotFound(floatingips.Delete(ctx, f.network, ips[i].ID).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}

// ownedFloatingIPs lists the floating IPs that were made for the shoot's Services and lead to the site's nodes. One that leads
// nowhere may be that of another site in the same project: it is taken only if the whole shoot is deleted.
func (f *flow) ownedFloatingIPs(ctx context.Context) ([]floatingips.FloatingIP, error) {
	project, err := f.session.ProjectID()
	if err != nil {
		return nil, err
	}
	found, err := client.List(ctx, floatingips.List(f.network, floatingips.ListOpts{ProjectID: project}), floatingips.ExtractFloatingIPs)
	if err != nil {
		return nil, err
	}
	routerIDs, err := f.usedRouterIDs(ctx)
	if err != nil {
		return nil, err
	}
	nodes := f.nodeRanges()
	return slices.DeleteFunc(found, func(ip floatingips.FloatingIP) bool {
		switch {
		case !f.owner.OwnsFloatingIP(ip.Description):
			return true
		case ip.PortID == "":
			return f.site.Removed()
		default:
			return !slices.Contains(routerIDs, ip.RouterID) || !nodes.contain(ip.FixedIP)
		}
	}), nil
}
