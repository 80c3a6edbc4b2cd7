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
	"k8s.io/utils/ptr"

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
	found: func(s *observed) **routers.Router { return &s.router },
	list: func(ctx context.Context, f *flow, by filter) ([]routers.Router, error) {
		return client.List(ctx, routers.List(f.network, routers.ListOpts{ID: by.id, Name: by.name}), routers.ExtractRouters)
	},
	describe: func(r *routers.Router) object {
		return object{id: r.ID, name: r.Name, description: r.Description, tags: r.Tags}
	},
	remove:   networking(routers.Delete),
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
		return created, gatewayError(err, wanted)
	},
	update: func(ctx context.Context, f *flow, router *routers.Router) (*routers.Router, error) {
		wanted, err := wantedGateway(ctx, f)
		if err != nil || hasGateway(&router.GatewayInfo, wanted) {
			return router, err
		}
		updated, err := client.Extracted(routers.Update(ctx, f.network, router.ID, routers.UpdateOpts{GatewayInfo: wanted}).Extract())
		return updated, gatewayError(err, wanted)
	},
}

// wantedGateway records the external network and returns the desired gateway of our router.
func wantedGateway(ctx context.Context, f *flow) (*routers.GatewayInfo, error) {
	if f.observed.floatingNetwork == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "openstack.floatingPoolName is required unless openstack.router.id is given")
	}
	if err := f.recordObject(ctx, f.observed.floatingNetwork.ID, false, floatingNetworkPlace); err != nil {
		return nil, err
	}
	subnetID, err := floatingSubnetID(f)
	if err != nil {
		return nil, err
	}
	f.observed.floatingSubnetID = subnetID
	return &routers.GatewayInfo{NetworkID: f.observed.floatingNetwork.ID, EnableSNAT: f.site.Profile.OpenStack.UseSNAT,
		ExternalFixedIPs: inSubnet(subnetID)}, nil
}

// observeRouterInterface finds the interface between the known router and subnet.
func observeRouterInterface(ctx context.Context, f *flow) (err error) {
	f.observed.routerInterface, err = interfaceOf(ctx, f, routerKind.knownID(f), subnetKind.knownID(f))
	return err
}

// observeNewInterface finds the interface between objects that were not in the state.
func observeNewInterface(ctx context.Context, f *flow) (err error) {
	observed := &f.observed
	if observed.routerInterface == nil && observed.router != nil && observed.subnet != nil &&
		(routerKind.knownID(f) != observed.router.ID || subnetKind.knownID(f) != observed.subnet.ID) {
		observed.routerInterface, err = interfaceOf(ctx, f, observed.router.ID, observed.subnet.ID)
	}
	return err
}

// ensureRouterInterface connects the subnet to the router. The interface is recorded as managed only if we added it; one that is missing in
// the state is ours if the router or the subnet is.
func ensureRouterInterface(ctx context.Context, f *flow) error {
	if f.observed.routerInterface != nil {
		if f.State().RouterInterface != nil {
			return nil
		}
		ours := routerKind.givenID(f) == "" || subnetKind.givenID(f) == ""
		return f.recordObject(ctx, f.observed.subnet.ID, ours, routerInterface)
	}
	// The intent is recorded first: an interface has no name or mark that identifies it as ours.
	if err := f.recordObject(ctx, f.observed.subnet.ID, true, routerInterface); err != nil {
		return err
	}
	_, err := routers.AddInterface(ctx, f.network, f.observed.router.ID, routers.AddInterfaceOpts{SubnetID: f.observed.subnet.ID}).Extract()
	return client.Classify(err)
}

// deleteRouterInterfaces removes the managed interface in the state, and all interfaces of our routers and subnets, which could not be
// deleted otherwise.
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

// inSubnet returns an address in the subnet that Neutron chooses, nil if there is no subnet.
func inSubnet(subnetID string) []routers.ExternalFixedIP {
	if subnetID == "" {
		return nil
	}
	return []routers.ExternalFixedIP{{SubnetID: subnetID}}
}

// hasGateway reports whether the existing gateway is in the desired network and, if they are requested, in the desired subnet and with the
// desired translation of addresses.
func hasGateway(existing, wanted *routers.GatewayInfo) bool {
	if existing.NetworkID != wanted.NetworkID ||
		wanted.EnableSNAT != nil && ptr.Deref(existing.EnableSNAT, true) != *wanted.EnableSNAT {
		return false
	}
	for _, ip := range wanted.ExternalFixedIPs {
		if !slices.ContainsFunc(existing.ExternalFixedIPs, func(e routers.ExternalFixedIP) bool { return e.SubnetID == ip.SubnetID }) {
			return false
		}
	}
	return true
}

// gatewayError names the fields that may be the cause if a gateway is forbidden: by default OpenStack reserves them for administrators.
func gatewayError(err error, wanted *routers.GatewayInfo) error {
	err = client.Classify(err)
	if platform.ClassOf(err) != platform.ClassForbidden {
		return err
	}
	if wanted.EnableSNAT != nil {
		err = fmt.Errorf("openstack.useSNAT of the site in the CloudProfile: the credentials may not choose whether a router translates "+
			"addresses: %w", err)
	}
	if len(wanted.ExternalFixedIPs) > 0 {
		err = fmt.Errorf("openstack.floatingSubnet: the credentials may not choose the subnet of a router's gateway: %w", err)
	}
	return err
}

// egressCIDRs are the external addresses of the router unless SNAT is disabled. IPv6 addresses are not translated.
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

// deleteRoutes removes the routes to pods via the site's nodes from the router, even from a given one. Other routes stay: the update fails
// if the router was changed in the meantime.
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

// otherRoutes returns the routes that do not lead to pods via nodes.
func otherRoutes(routes []routers.Route, nodes, pods ranges) []routers.Route {
	others := []routers.Route{}
	for _, route := range routes {
		if !nodes.contain(route.NextHop) || !pods.containRange(route.DestinationCIDR) {
			others = append(others, route)
		}
	}
	return others
}
