// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// usedRouters lists the routers of the site's nodes: ours and the given one.
func (f *flow) usedRouters(ctx context.Context) ([]routers.Router, error) {
	own, err := f.ownedRouters(ctx)
	if err != nil {
		return nil, err
	}
	id := knownID(referenceID(f.config().Router), f.State().Router)
	if id == "" || slices.ContainsFunc(own, func(r routers.Router) bool { return r.ID == id }) {
		return own, nil
	}
	given, err := f.routers(ctx, filter{id: id})
	return append(own, given...), err
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

func (f *flow) usedRouterIDs(ctx context.Context) ([]string, error) {
	found, err := f.usedRouters(ctx)
	var ids []string
	for i := range found {
		ids = append(ids, found[i].ID)
	}
	return ids, err
}

func (f *flow) usedSubnetIDs(ctx context.Context) ([]string, error) {
	found, err := f.usedSubnets(ctx)
	var ids []string
	for i := range found {
		ids = append(ids, found[i].ID)
	}
	return ids, err
}
