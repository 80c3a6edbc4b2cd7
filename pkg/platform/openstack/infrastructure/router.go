// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

func (f *flow) routers(ctx context.Context, by filter) ([]routers.Router, error) {
	return client.List(ctx, routers.List(f.network, routers.ListOpts{ID: by.id, Name: by.name}), routers.ExtractRouters)
}

func (f *flow) lookRouter(ctx context.Context, id string) (*routers.Router, error) {
	return find(ctx, id, f.routers, func(r routers.Router) bool { return f.owner.Owns(r.Description, r.Tags) }, f.owner.Name())
}

func (f *flow) ensureRouter(seen *seen) func(context.Context) error {
	place := func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.Router }
	return func(ctx context.Context) error {
		if given := referenceID(f.config().Router); given != "" {
			if seen.router == nil || seen.router.ID != given {
				return notFound("router.id", given)
			}
			if err := f.refuseForeign("router.id", given, seen.router.Description, seen.router.Tags, nil); err != nil {
				return err
			}
			return f.recordObject(ctx, given, false, place)
		}
		if seen.floatingNetwork == nil {
			return platform.NewError(platform.ClassConfiguration, "openstack.floatingPoolName is required unless openstack.router.id is given")
		}
		if err := f.recordObject(ctx, seen.floatingNetwork.ID, false, func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.FloatingNetwork }); err != nil {
			return err
		}

		subnetID, err := f.floatingSubnetID(seen)
		if err != nil {
			return err
		}
		seen.floatingSubnetID = subnetID
		wanted := gateway(seen.floatingNetwork.ID, subnetID)
		switch {
		case seen.router == nil:
			created, err := client.Extracted(routers.Create(ctx, f.network, routers.CreateOpts{
				Name:         f.owner.Name(),
				Description:  f.owner.Description(),
				AdminStateUp: new(true),
				GatewayInfo:  wanted,
			}).Extract())
			if err != nil {
				return gatewayError(err, subnetID)
			}
			seen.router = created
		case !hasGateway(&seen.router.GatewayInfo, wanted):
			updated, err := client.Extracted(routers.Update(ctx, f.network, seen.router.ID, routers.UpdateOpts{GatewayInfo: wanted}).Extract())
			if err != nil {
				return gatewayError(err, subnetID)
			}
			seen.router = updated
		}
		return f.adopt(ctx, "routers", seen.router.ID, seen.router.Tags, place)
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

// egressCIDRs are the external addresses of the router, if it translates those of the nodes to them. It does unless that is
// switched off. IPv6 addresses are not translated.
func egressCIDRs(gateway *routers.GatewayInfo) []string {
	if gateway.EnableSNAT != nil && !*gateway.EnableSNAT {
		return nil
	}
	var cidrs []string
	for _, ip := range gateway.ExternalFixedIPs {
		if address, err := netip.ParseAddr(ip.IPAddress); err == nil && address.Is4() {
			cidrs = append(cidrs, netip.PrefixFrom(address, address.BitLen()).String())
		}
	}
	return cidrs
}

// ensureRouterInterface connects the subnet to the router. The interface is recorded as ours only if we added it.
func (f *flow) ensureRouterInterface(seen *seen) func(context.Context) error {
	return func(ctx context.Context) error {
		if seen.routerInterface != nil {
			return f.recordExistingInterface(ctx, seen)
		}
		// The intention is recorded first: an interface has no name or mark by which it could be found to be ours.
		if err := f.recordObject(ctx, seen.subnet.ID, true, routerInterface); err != nil {
			return err
		}
		_, err := routers.AddInterface(ctx, f.network, seen.router.ID, routers.AddInterfaceOpts{SubnetID: seen.subnet.ID}).Extract()
		return client.Classify(err)
	}
}

// recordExistingInterface records an interface that the state has lost: it is ours if the router or the subnet is.
func (f *flow) recordExistingInterface(ctx context.Context, seen *seen) error {
	state := f.State()
	if state.RouterInterface != nil {
		return nil
	}
	ours := referenceID(f.config().Router) == "" || referenceID(f.config().Subnet) == ""
	return f.recordObject(ctx, seen.subnet.ID, ours, routerInterface)
}

func (f *flow) ownedRouters(ctx context.Context) ([]routers.Router, error) {
	return owned(ctx, f.routers, f.State().Router, f.owner.Name(),
		func(r routers.Router) (string, bool) { return r.ID, f.owner.Owns(r.Description, r.Tags) })
}

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

func (f *flow) usedRouterIDs(ctx context.Context) ([]string, error) {
	found, err := f.usedRouters(ctx)
	var ids []string
	for i := range found {
		ids = append(ids, found[i].ID)
	}
	return ids, err
}

func (f *flow) deleteRouters(ctx context.Context) error {
	found, err := f.ownedRouters(ctx)
	if err != nil {
		return err
	}
	for _, router := range found {
		if err := client.IgnoreNotFound(routers.Delete(ctx, f.network, router.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return f.Record(ctx, func(state *v1alpha1.OpenStackState) { state.Router, state.FloatingNetwork = nil, nil })
}

// deleteRouterInterfaces removes the interface that the state knows as added by us, and all interfaces of our routers and of
// our subnets, which could not be deleted otherwise.
func (f *flow) deleteRouterInterfaces(ctx context.Context) error {
	state := f.State()
	if state.RouterInterface != nil && state.RouterInterface.Managed && state.Router != nil {
		if err := f.removeInterface(ctx, state.Router.ID, state.RouterInterface.ID); err != nil {
			return err
		}
	}

	ownRouters, err := f.ownedRouters(ctx)
	if err != nil {
		return err
	}
	for _, router := range ownRouters {
		if err := f.removeInterfaces(ctx, ports.ListOpts{DeviceID: router.ID}); err != nil {
			return err
		}
	}
	ownSubnets, err := f.ownedSubnets(ctx)
	if err != nil {
		return err
	}
	for _, subnet := range ownSubnets {
		if err := f.removeInterfaces(ctx, ports.ListOpts{FixedIPs: []ports.FixedIPOpts{{SubnetID: subnet.ID}}}); err != nil {
			return err
		}
	}
	return f.forget(ctx, routerInterface)
}

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

func (f *flow) orphanedRouters(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownedRouters(ctx)
	return orphansOf(f, "router", found, func(r routers.Router) (string, string) { return r.ID, r.Name }), err
}
