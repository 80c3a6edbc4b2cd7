// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"

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
		return nil, errNoProfile
	}
	f, err := i.flow(ctx, s, client.ConnectionOf(s.Profile), persist)
	if err != nil {
		return nil, err
	}
	if err := f.checkPlaceInUse(); err != nil {
		return nil, err
	}
	seen, err := f.look(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.Record(ctx, func(state *v1alpha1.OpenStackState) {
		state.Connection = client.ConnectionOf(s.Profile)
		recordRanges(state, s.Network)
	}); err != nil {
		return nil, err
	}
	if err := f.recordProject(ctx, seen); err != nil {
		return nil, err
	}
	if err := f.ensure(ctx, seen); err != nil {
		return nil, err
	}
	return f.status(seen), nil
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
	return platform.InSite(s.Name, f.delete(ctx))
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

// flow is one reconciliation or deletion of one site.
type flow struct {
	*recorder
	session *client.Session
	site    *site.Site
	owner   owner.Owner
	network *gophercloud.ServiceClient
	compute *gophercloud.ServiceClient
}

func (i *infrastructure) flow(ctx context.Context, s *site.Site, connection v1alpha1.OpenStackConnection, persist platform.Persist) (*flow, error) {
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

// config is the site's OpenStack block in the InfrastructureConfig, empty if there is none.
func (f *flow) config() v1alpha1.OpenStackInfrastructure {
	if f.site.Config == nil || f.site.Config.OpenStack == nil {
		return v1alpha1.OpenStackInfrastructure{}
	}
	return *f.site.Config.OpenStack
}
