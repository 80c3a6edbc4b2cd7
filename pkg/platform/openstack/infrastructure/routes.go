// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// deleteRoutes removes the routes to pods by way of the site's nodes from the router, also from one that was given. All other
// routes stay: the update is refused if somebody changed the router in the meantime.
func (f *flow) deleteRoutes(ctx context.Context) error {
	found, err := f.usedRouters(ctx)
	if err != nil {
		return err
	}
	for i := range found {
		router := &found[i]
		others := otherRoutes(router.Routes, f.nodeRanges(), f.podRanges())
		if len(others) == len(router.Routes) {
			continue
		}
		_, err := routers.Update(ctx, f.network, router.ID, routers.UpdateOpts{Routes: &others, RevisionNumber: &router.RevisionNumber}).Extract()
		if err := client.IgnoreNotFound(err); err != nil {
			return err
		}
	}
	return nil
}

// otherRoutes returns the routes that do not lead to pods by way of nodes.
func otherRoutes(routes []routers.Route, nodes, pods ranges) []routers.Route {
	others := []routers.Route{}
	for _, route := range routes {
		if !nodes.contain(route.NextHop) || !pods.containRange(route.DestinationCIDR) {
			others = append(others, route)
		}
	}
	return others
}
