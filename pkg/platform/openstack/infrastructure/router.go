// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

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

func routerInterface(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject {
	return &s.RouterInterface
}
