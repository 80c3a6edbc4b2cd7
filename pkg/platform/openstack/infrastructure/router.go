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

var routerKind = &marked[routers.Router]{
	name: "router",
	places: []field{
		func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.Router },
		floatingNetworkPlace,
	},
	found: func(s *seen) **routers.Router { return &s.router },
	list: func(ctx context.Context, f *flow, by filter) ([]routers.Router, error) {
		return client.List(ctx, routers.List(f.network, routers.ListOpts{ID: by.id, Name: by.name}), routers.ExtractRouters)
	},
	describe: func(r *routers.Router) object {
		return object{id: r.ID, name: r.Name, description: r.Description, tags: r.Tags}
	},
	remove: func(ctx context.Context, f *flow, id string) error {
		return routers.Delete(ctx, f.network, id).ExtractErr()
	},
	field:    "router.id",
	given:    func(c v1alpha1.OpenStackInfrastructure) string { return referenceID(c.Router) },
	resource: "routers",
	create: func(ctx context.Context, f *flow) (*routers.Router, error) {
		wanted, err := wantedGateway(ctx, f)
		if err != nil {
			return nil, err
		}
		created, err := client.Extracted(routers.Create(ctx, f.network, routers.CreateOpts{
			Name:         f.owner.Name(),
			Description:  f.owner.Description(),
			AdminStateUp: new(true),
			GatewayInfo:  wanted,
		}).Extract())
		return created, gatewayError(err, f.seen.floatingSubnetID)
	},
	update: func(ctx context.Context, f *flow, router *routers.Router) (*routers.Router, error) {
		wanted, err := wantedGateway(ctx, f)
		if err != nil || hasGateway(&router.GatewayInfo, wanted) {
			return router, err
		}
		updated, err := client.Extracted(routers.Update(ctx, f.network, router.ID, routers.UpdateOpts{GatewayInfo: wanted}).Extract())
		return updated, gatewayError(err, f.seen.floatingSubnetID)
	},
}

// wantedGateway records the external network and returns the gateway that a router of ours shall have.
func wantedGateway(ctx context.Context, f *flow) (*routers.GatewayInfo, error) {
	if f.seen.floatingNetwork == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "openstack.floatingPoolName is required unless openstack.router.id is given")
	}
	if err := f.recordObject(ctx, f.seen.floatingNetwork.ID, false, floatingNetworkPlace); err != nil {
		return nil, err
	}
	subnetID, err := floatingSubnetID(f)
	if err != nil {
		return nil, err
	}
	f.seen.floatingSubnetID = subnetID
	return gateway(f.seen.floatingNetwork.ID, subnetID), nil
}

// lookRouterInterface finds the interface of the known objects.
func lookRouterInterface(ctx context.Context, f *flow) (err error) {
	f.seen.routerInterface, err = interfaceOf(ctx, f, routerKind.knownID(f), subnetKind.knownID(f))
	return err
}

// lookAgainForInterface looks for the interface of objects that the state did not know.
func lookAgainForInterface(ctx context.Context, f *flow) (err error) {
	seen := &f.seen
	if seen.routerInterface == nil && seen.router != nil && seen.subnet != nil &&
		(routerKind.knownID(f) != seen.router.ID || subnetKind.knownID(f) != seen.subnet.ID) {
		seen.routerInterface, err = interfaceOf(ctx, f, seen.router.ID, seen.subnet.ID)
	}
	return err
}

// ensureRouterInterface connects the subnet to the router. The interface is recorded as ours only if we added it; one that the state has
// lost is ours if the router or the subnet is.
func ensureRouterInterface(ctx context.Context, f *flow) error {
	if f.seen.routerInterface != nil {
		if f.State().RouterInterface != nil {
			return nil
		}
		ours := routerKind.givenID(f) == "" || subnetKind.givenID(f) == ""
		return f.recordObject(ctx, f.seen.subnet.ID, ours, routerInterface)
	}
	// The intention is recorded first: an interface has no name or mark by which it could be found to be ours.
	if err := f.recordObject(ctx, f.seen.subnet.ID, true, routerInterface); err != nil {
		return err
	}
	_, err := routers.AddInterface(ctx, f.network, f.seen.router.ID, routers.AddInterfaceOpts{SubnetID: f.seen.subnet.ID}).Extract()
	return client.Classify(err)
}

// deleteRouterInterfaces removes the interface that the state knows as added by us, and all interfaces of our routers and of
// our subnets, which could not be deleted otherwise.
func deleteRouterInterfaces(ctx context.Context, f *flow) error {
	state := f.State()
	if state.RouterInterface != nil && state.RouterInterface.Managed && state.Router != nil {
		if err := removeInterface(ctx, f, state.Router.ID, state.RouterInterface.ID); err != nil {
			return err
		}
	}
	ownRouters, err := routerKind.own(ctx, f)
	if err != nil {
		return err
	}
	for i := range ownRouters {
		if err := removeInterfaces(ctx, f, ports.ListOpts{DeviceID: ownRouters[i].ID}); err != nil {
			return err
		}
	}
	ownSubnets, err := subnetKind.own(ctx, f)
	if err != nil {
		return err
	}
	for i := range ownSubnets {
		if err := removeInterfaces(ctx, f, ports.ListOpts{FixedIPs: []ports.FixedIPOpts{{SubnetID: ownSubnets[i].ID}}}); err != nil {
			return err
		}
	}
	return f.forget(ctx, routerInterface)
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

// deleteRoutes removes the routes to pods by way of the site's nodes from the router, also from one that was given. All other
// routes stay: the update is refused if somebody changed the router in the meantime.
func deleteRoutes(ctx context.Context, f *flow) error {
	found, err := routerKind.used(ctx, f)
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
