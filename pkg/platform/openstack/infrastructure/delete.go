// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// delete deletes what is ours: the objects that the state knows as managed, those that are found by name and mark, and what
// Services left behind. What uses others goes first.
func (f *flow) delete(ctx context.Context) error {
	var machines error // A server that does not go keeps its subnet, but nothing else.
	err := parallel(ctx,
		sequence(
			func(ctx context.Context) error {
				return parallel(ctx, f.deleteLoadBalancers, func(ctx context.Context) error {
					machines = f.deleteMachines(ctx)
					return nil
				})
			},
			func(ctx context.Context) error {
				return parallel(ctx, f.deleteFloatingIPs, f.deleteRoutes, f.deleteShareNetworks)
			},
			func(ctx context.Context) error {
				return parallel(ctx,
					sequence(
						f.deleteRouterInterfaces,
						func(ctx context.Context) error {
							return parallel(ctx, f.deleteRouters, sequence(f.deleteSubnets, f.deleteNetworks))
						},
					),
					f.deleteSecurityGroups,
					f.deleteServiceSecurityGroups,
				)
			},
		),
		sequence(
			func(ctx context.Context) error { return f.deleteKeyPairs(ctx) },
			func(ctx context.Context) error {
				return f.Record(ctx, func(state *v1alpha1.OpenStackState) { state.KeyPair, state.FormerKeyPair = nil, nil })
			},
		),
		f.deleteServerGroups,
	)
	return errors.Join(machines, err)
}

// deleteMachines deletes what is left of machines.
func (f *flow) deleteMachines(ctx context.Context) error {
	return sequence(f.deleteServers, f.deletePorts)(ctx)
}

// ownPorts lists the ports of the site's machines.
func (f *flow) ownPorts(ctx context.Context) ([]ports.Port, error) {
	return client.List(ctx, ports.List(f.network, ports.ListOpts{Description: f.owner.Description()}), ports.ExtractPorts)
}

// deletePorts deletes the ports of machines that no server uses. One is left if the answer to its creation was lost and its
// machine was deleted before it showed up.
func (f *flow) deletePorts(ctx context.Context) error {
	found, err := f.ownPorts(ctx)
	if err != nil {
		return err
	}
	for _, port := range found {
		if port.DeviceID != "" {
			continue
		}
		if err := client.IgnoreNotFound(ports.Delete(ctx, f.network, port.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
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

func (f *flow) ownedRouters(ctx context.Context) ([]routers.Router, error) {
	return owned(ctx, f.routers, f.State().Router, f.owner.Name(),
		func(r routers.Router) (string, bool) { return r.ID, f.owner.Owns(r.Description, r.Tags) })
}

func (f *flow) ownedSubnets(ctx context.Context) ([]subnets.Subnet, error) {
	return owned(ctx, f.subnets, f.State().Subnet, f.owner.Name(),
		func(s subnets.Subnet) (string, bool) { return s.ID, f.owner.Owns(s.Description, s.Tags) })
}

func (f *flow) ownedNetworks(ctx context.Context) ([]network, error) {
	return owned(ctx, f.networksBy, f.State().Network, f.owner.Name(),
		func(n network) (string, bool) { return n.ID, f.owner.Owns(n.Description, n.Tags) })
}

func (f *flow) ownedSecurityGroups(ctx context.Context) ([]groups.SecGroup, error) {
	return owned(ctx, f.securityGroups, f.State().SecurityGroup, f.owner.Name(),
		func(g groups.SecGroup) (string, bool) { return g.ID, f.owner.Owns(g.Description, g.Tags) })
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

func (f *flow) deleteSubnets(ctx context.Context) error {
	found, err := f.ownedSubnets(ctx)
	if err != nil {
		return err
	}
	for _, subnet := range found {
		if err := client.IgnoreNotFound(subnets.Delete(ctx, f.network, subnet.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return f.forget(ctx, func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.Subnet })
}

func (f *flow) deleteNetworks(ctx context.Context) error {
	found, err := f.ownedNetworks(ctx)
	if err != nil {
		return err
	}
	for _, n := range found {
		if err := client.IgnoreNotFound(networks.Delete(ctx, f.network, n.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return f.forget(ctx, func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.Network })
}

func (f *flow) deleteSecurityGroups(ctx context.Context) error {
	found, err := f.ownedSecurityGroups(ctx)
	if err != nil {
		return err
	}
	for _, group := range found {
		if err := client.IgnoreNotFound(groups.Delete(ctx, f.network, group.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return f.forget(ctx, func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.SecurityGroup })
}

// owned lists the objects with the name that are marked as ours, and the one that the state knows as managed, which somebody
// may have renamed.
func owned[T any](ctx context.Context, list func(context.Context, filter) ([]T, error), known *v1alpha1.OpenStackObject, name string, identify func(T) (string, bool)) ([]T, error) {
	found, err := list(ctx, filter{name: name})
	if err != nil {
		return nil, client.Classify(err)
	}
	found = slices.DeleteFunc(found, func(object T) bool {
		_, ours := identify(object)
		return !ours
	})
	if known == nil || !known.Managed || slices.ContainsFunc(found, func(object T) bool {
		id, _ := identify(object)
		return id == known.ID
	}) {
		return found, nil
	}
	renamed, err := list(ctx, filter{id: known.ID})
	return append(found, renamed...), client.Classify(err)
}
