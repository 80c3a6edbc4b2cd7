// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
)

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
