// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/sharenetworks"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// seen is what a look at the site found; nil where there is nothing.
type seen struct {
	network         *network
	floatingNetwork *network
	floatingSubnets floatingSubnets
	// floatingSubnetID is the subnet of the external network that is asked for.
	floatingSubnetID string
	subnet           *subnets.Subnet
	router           *routers.Router
	routerInterface  *ports.Port
	securityGroup    *groups.SecGroup
	keyPair          *keypairs.KeyPair
	shareNetwork     *sharenetworks.ShareNetwork
}

// look reads all objects of the site in parallel, in one round trip if the state knows their IDs.
func (f *flow) look(ctx context.Context) (*seen, error) {
	var (
		result = &seen{}
		state  = f.State()
		config = f.config()
	)

	routerID, subnetID := knownID(referenceID(config.Router), state.Router), knownID(referenceID(config.Subnet), state.Subnet)
	securityGroupID := knownID(referenceID(config.SecurityGroup), state.SecurityGroup)

	err := parallel(ctx,
		func(ctx context.Context) error { return f.lookNetworks(ctx, result) },
		func(ctx context.Context) (err error) {
			result.subnet, err = f.lookSubnet(ctx, subnetID)
			return err
		},
		func(ctx context.Context) (err error) {
			result.router, err = f.lookRouter(ctx, routerID)
			return err
		},
		func(ctx context.Context) (err error) {
			result.securityGroup, err = f.lookSecurityGroup(ctx, securityGroupID)
			return err
		},
		func(ctx context.Context) (err error) {
			result.keyPair, err = f.lookKeyPair(ctx)
			return err
		},
		func(ctx context.Context) (err error) {
			result.routerInterface, err = f.lookRouterInterface(ctx, routerID, subnetID)
			return err
		},
		func(ctx context.Context) (err error) {
			result.floatingSubnets, err = f.lookFloatingSubnets(ctx, knownID("", state.FloatingNetwork))
			return err
		},
		func(ctx context.Context) (err error) {
			result.shareNetwork, err = f.lookShareNetwork(ctx)
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	return result, f.lookAgain(ctx, result, routerID, subnetID)
}

// lookAgain looks for what hangs on objects that the state did not know.
func (f *flow) lookAgain(ctx context.Context, result *seen, routerID, subnetID string) error {
	return parallel(ctx,
		func(ctx context.Context) (err error) {
			if result.routerInterface == nil && result.router != nil && result.subnet != nil && (routerID != result.router.ID || subnetID != result.subnet.ID) {
				result.routerInterface, err = f.lookRouterInterface(ctx, result.router.ID, result.subnet.ID)
			}
			return err
		},
		func(ctx context.Context) (err error) {
			if result.floatingNetwork != nil && result.floatingSubnets.networkID != result.floatingNetwork.ID {
				result.floatingSubnets, err = f.lookFloatingSubnets(ctx, result.floatingNetwork.ID)
			}
			return err
		},
	)
}

func (f *flow) lookSubnet(ctx context.Context, id string) (*subnets.Subnet, error) {
	return find(ctx, id, f.subnets, func(s subnets.Subnet) bool { return f.owner.Owns(s.Description, s.Tags) }, f.owner.Name())
}

func (f *flow) lookRouter(ctx context.Context, id string) (*routers.Router, error) {
	return find(ctx, id, f.routers, func(r routers.Router) bool { return f.owner.Owns(r.Description, r.Tags) }, f.owner.Name())
}

func (f *flow) lookSecurityGroup(ctx context.Context, id string) (*groups.SecGroup, error) {
	return find(ctx, id, f.securityGroups, func(g groups.SecGroup) bool { return f.owner.Owns(g.Description, g.Tags) }, f.owner.Name())
}

func (f *flow) lookRouterInterface(ctx context.Context, routerID, subnetID string) (*ports.Port, error) {
	if routerID == "" || subnetID == "" {
		return nil, nil
	}
	found, err := client.List(ctx, ports.List(f.network, ports.ListOpts{
		DeviceID: routerID,
		FixedIPs: []ports.FixedIPOpts{{SubnetID: subnetID}},
	}), ports.ExtractPorts)
	return first(found), err
}

// filter selects objects by ID or by name.
type filter struct{ id, name string }

func (f *flow) subnets(ctx context.Context, by filter) ([]subnets.Subnet, error) {
	return client.List(ctx, subnets.List(f.network, subnets.ListOpts{ID: by.id, Name: by.name}), subnets.ExtractSubnets)
}

func (f *flow) routers(ctx context.Context, by filter) ([]routers.Router, error) {
	return client.List(ctx, routers.List(f.network, routers.ListOpts{ID: by.id, Name: by.name}), routers.ExtractRouters)
}

func (f *flow) securityGroups(ctx context.Context, by filter) ([]groups.SecGroup, error) {
	return client.List(ctx, groups.List(f.network, groups.ListOpts{ID: by.id, Name: by.name}), groups.ExtractGroups)
}

// find returns the object with the ID or, if there is none, the one with the name that is ours.
func find[T any](ctx context.Context, id string, list func(context.Context, filter) ([]T, error), owned func(T) bool, name string) (*T, error) {
	if id != "" {
		found, err := list(ctx, filter{id: id})
		if err != nil || len(found) > 0 {
			return first(found), err
		}
	}
	found, err := list(ctx, filter{name: name})
	if err != nil {
		return nil, err
	}
	return first(slices.DeleteFunc(found, func(object T) bool { return !owned(object) })), nil
}

func first[T any](objects []T) *T {
	if len(objects) == 0 {
		return nil
	}
	return &objects[0]
}

func givenID(n *v1alpha1.OpenStackNetwork) string {
	if n == nil {
		return ""
	}
	return n.ID
}

func referenceID(reference *v1alpha1.OpenStackReference) string {
	if reference == nil {
		return ""
	}
	return reference.ID
}

// knownID prefers what the shoot owner gave to what the state says.
func knownID(given string, object *v1alpha1.OpenStackObject) string {
	if given != "" || object == nil {
		return given
	}
	return object.ID
}
