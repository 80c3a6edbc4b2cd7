// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package infrastructure makes the network, subnet, router, security group and key pair of a shoot on an OpenStack site.
//
// A reconciliation looks at everything first, in parallel and by ID where the state knows it, and then makes only what is
// missing or different. If nothing is, the look is all that happens. What the state does not know is found by name and is
// ours if it is marked as ours.
//
// A deletion deletes what is ours, and what the shoot's Services left behind on the site. What is given is never changed, but for
// routes to the shoot's pods in the router.
package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type infrastructure struct {
	sessions *client.Sessions
}

// New returns the Infrastructure part of the OpenStack platform.
func New(sessions *client.Sessions) platform.Infrastructure {
	return &infrastructure{sessions: sessions}
}

// Reconcile implements platform.Infrastructure.
func (i *infrastructure) Reconcile(ctx context.Context, s *site.Site, persist platform.Persist) (*v1alpha1.SiteStatus, error) {
	status, err := i.reconcile(ctx, s, persist)
	return status, platform.InSite(s.Name, err)
}

func (i *infrastructure) reconcile(ctx context.Context, s *site.Site, persist platform.Persist) (*v1alpha1.SiteStatus, error) {
	if s.Profile == nil || s.Profile.OpenStack == nil {
		return nil, client.ErrNoProfile
	}
	f, err := i.flow(ctx, s, client.ConnectionOf(s.Profile), persist)
	if err != nil {
		return nil, err
	}
	if err := f.checkPlaceInUse(); err != nil {
		return nil, err
	}
	if err := observation(ctx, f); err != nil {
		return nil, err
	}
	if err := f.Record(ctx, func(state *v1alpha1.OpenStackState) {
		state.Connection = client.ConnectionOf(s.Profile)
		recordRanges(state, s.Network)
	}); err != nil {
		return nil, err
	}
	if err := f.recordProject(ctx); err != nil {
		return nil, err
	}
	if err := creation(ctx, f); err != nil {
		return nil, err
	}
	return f.status(), nil
}

// Delete implements platform.Infrastructure.
func (i *infrastructure) Delete(ctx context.Context, s *site.Site, persist platform.Persist) error {
	connection, ok := deleteConnection(s)
	if !ok {
		return nil
	}
	f, err := i.flow(ctx, s, connection, persist)
	if err != nil {
		return platform.InSite(s.Name, fmt.Errorf("%w: %w", platform.ErrNoAccess, err))
	}
	if err := f.checkPlace(); err != nil {
		return platform.InSite(s.Name, err)
	}
	return platform.InSite(s.Name, deleteAll(ctx, f))
}

// Orphans implements platform.Infrastructure.
func (i *infrastructure) Orphans(ctx context.Context, s *site.Site) ([]v1alpha1.Orphan, error) {
	connection, ok := deleteConnection(s)
	if !ok {
		return nil, nil
	}
	f, err := i.flow(ctx, s, connection, readOnly)
	if err != nil {
		return nil, platform.InSite(s.Name, err)
	}
	if err := f.checkPlace(); err != nil {
		return nil, platform.InSite(s.Name, err)
	}
	orphans, err := orphansOf(ctx, f)
	return orphans, platform.InSite(s.Name, err)
}

// Validate implements platform.Infrastructure.
func (i *infrastructure) Validate(ctx context.Context, s *site.Site, request platform.ValidationRequest) (platform.Findings, error) {
	findings, err := i.validate(ctx, s, request)
	return findings, platform.InSite(s.Name, err)
}

func (i *infrastructure) validate(ctx context.Context, s *site.Site, request platform.ValidationRequest) (platform.Findings, error) {
	if s.Profile == nil || s.Profile.OpenStack == nil {
		return platform.Findings{}, client.ErrNoProfile
	}
	f, err := i.flow(ctx, s, client.ConnectionOf(s.Profile), readOnly)
	if err != nil {
		return platform.Findings{}, err
	}
	if err := f.checkPlaceInUse(); err != nil {
		return platform.Findings{}, err
	}
	v := &validation{flow: f, path: request.Path, demands: request.Demands}
	return v.run(ctx, v.roles, v.egress, v.nodes, v.securityGroup, v.shareNetwork, v.zones, v.capacity)
}

// readOnly keeps listings and validations from changing the state.
func readOnly(context.Context, *v1alpha1.SiteState) error {
	return errors.New("the state must not change")
}

// deleteConnection prefers the CloudProfile's connection, which may have a new address or certificate authority, and uses
// that of the state when the CloudProfile dropped the site. There is none if nothing was ever made.
func deleteConnection(s *site.Site) (v1alpha1.OpenStackConnection, bool) {
	switch {
	case s.Profile != nil && s.Profile.OpenStack != nil:
		return client.ConnectionOf(s.Profile), true
	case s.State != nil && s.State.OpenStack != nil:
		return s.State.OpenStack.Connection, true
	default:
		return v1alpha1.OpenStackConnection{}, false
	}
}

func (i *infrastructure) flow(ctx context.Context, s *site.Site, connection v1alpha1.OpenStackConnection, persist platform.Persist) (*flow,
	error) {
	session, err := i.sessions.Get(ctx, s.Name, connection, s.Credentials)
	if err != nil {
		return nil, err
	}
	network, networkErr := session.Network(ctx)
	compute, computeErr := session.Compute(ctx)
	if err := errors.Join(networkErr, computeErr); err != nil {
		return nil, err
	}
	return &flow{
		recorder: newRecorder(s, connection, persist),
		session:  session,
		site:     s,
		owner:    owner.Owner{Shoot: s.Shoot, Site: s.Name},
		network:  network,
		compute:  compute,
	}, nil
}

// recordProject records the project if the state knows no objects, or if one of them is seen in the project: a state that was
// written before projects were recorded does not say where its objects are.
func (f *flow) recordProject(ctx context.Context) error {
	project, err := f.session.ProjectID()
	if err != nil {
		return err
	}
	if state := f.State(); hasObjects(state) && !f.seen.has(state, project) {
		return nil
	}
	return f.Record(ctx, func(state *v1alpha1.OpenStackState) { state.ProjectID = project })
}

// status is what the site's infrastructure came to.
func (f *flow) status() *v1alpha1.SiteStatus {
	seen := &f.seen
	status := &v1alpha1.OpenStackStatus{
		ProjectID:         f.State().ProjectID,
		Region:            f.State().Connection.Region,
		NetworkID:         seen.network.ID,
		NetworkMTU:        int32(seen.network.MTU), // #nosec G115 -- an MTU is small
		SubnetID:          seen.subnet.ID,
		RouterID:          seen.router.ID,
		FloatingNetworkID: seen.router.GatewayInfo.NetworkID,
		FloatingSubnetID:  seen.floatingSubnetID,
		SecurityGroupID:   seen.securityGroup.ID,
	}
	if seen.keyPair != nil {
		status.KeyName = seen.keyPair.Name
	}
	if seen.shareNetwork != nil {
		status.ShareNetworkID = seen.shareNetwork.ID
	}
	return &v1alpha1.SiteStatus{Name: f.site.Name, EgressCIDRs: egressCIDRs(&seen.router.GatewayInfo), OpenStack: status}
}

// observation looks at all objects of the site in parallel, in one round trip if the state knows their IDs, and then at what hangs on
// objects that the state did not know.
var observation = sequence(
	parallel(
		lookNetworks, subnetKind.look, routerKind.look, securityGroupKind.look, lookKeyPair,
		lookRouterInterface, lookFloatingSubnets, lookShareNetwork,
	),
	parallel(lookAgainForInterface, lookAgainForFloatingSubnets),
)

// creation makes what is missing or different. What does not depend on each other is made at the same time.
var creation = parallel(
	sequence(
		parallel(
			sequence(networkKind.ensure, ensureSubnet, ensureShareNetwork),
			routerKind.ensure,
		),
		ensureRouterInterface,
	),
	ensureSecurityGroup,
	ensureKeyPair,
)

// deleteAll deletes what is ours: the objects that the state knows as managed, those that are found by name and mark, and what
// Services left behind. What uses others goes first.
func deleteAll(ctx context.Context, f *flow) error {
	var machines error // A server that does not go keeps its subnet, but nothing else.
	err := parallel(
		sequence(
			parallel(deleteLoadBalancers, func(ctx context.Context, f *flow) error {
				machines = deleteMachines(ctx, f)
				return nil
			}),
			parallel(floatingIPKind.delete, deleteRoutes, shareNetworkKind.delete),
			parallel(
				sequence(deleteRouterInterfaces, parallel(routerKind.delete, sequence(subnetKind.delete, networkKind.delete))),
				securityGroupKind.delete,
				serviceSecurityGroupKind.delete,
			),
		),
		sequence(
			func(ctx context.Context, f *flow) error { return deleteKeyPairs(ctx, f) },
			func(ctx context.Context, f *flow) error { return f.forget(ctx, keyPair, formerKeyPair) },
		),
		serverGroupKind.delete,
	)(ctx, f)
	return errors.Join(machines, err)
}

// lists are those of all kinds of objects, in the order in which orphans are reported.
var lists = []func(context.Context, *flow) ([]v1alpha1.Orphan, error){
	serverKind.orphans, volumeKind.orphans, serverGroupKind.orphans, keyPairKind.orphans,
	loadBalancerKind.orphans, floatingIPKind.orphans, portKind.orphans, securityGroupKind.orphans, serviceSecurityGroupKind.orphans,
	shareNetworkKind.orphans, subnetKind.orphans, networkKind.orphans, routerKind.orphans,
}

// orphansOf lists all objects at the same time. A list that fails does not keep the others from being returned.
func orphansOf(ctx context.Context, f *flow) ([]v1alpha1.Orphan, error) {
	found := make([][]v1alpha1.Orphan, len(lists))
	errs := platform.Each(len(lists), func(i int) (err error) {
		found[i], err = lists[i](ctx, f)
		return err
	})
	return slices.Concat(found...), errors.Join(errs...)
}
