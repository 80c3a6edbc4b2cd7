// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package infrastructure looks after what a shoot needs at a bare-metal site before it can have machines. Nothing is made there: hosts,
// their networks and address pools are the operator's. What is looked for is that there are enough of them.
package infrastructure

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type infrastructure struct {
	sessions *client.Sessions
	open     inventory.Opener
}

// New returns the Infrastructure part of the bare-metal platform.
func New(sessions *client.Sessions, open inventory.Opener) platform.Infrastructure {
	return &infrastructure{sessions: sessions, open: open}
}

// flow is one operation on one site.
type flow struct {
	*recorder
	site      *site.Site
	owner     owner.Owner
	namespace string
	cleaning  string
	inventory inventory.Inventory
	addresses *ipam.Addresses
	api       ctrlclient.Client
	// served returns the names of the resources that the API serves in a version.
	served func(context.Context, schema.GroupVersion) ([]string, error)
}

func (i *infrastructure) flow(ctx context.Context, s *site.Site, connection v1alpha1.MetalConnection, cleaning string, persist platform.Persist) (*flow, error) {
	session, err := i.sessions.Get(ctx, s.Name, connection, s.Credentials)
	if err != nil {
		return nil, err
	}
	o := owner.Owner{Shoot: s.Shoot, Site: s.Name}
	hosts, err := i.open(session, connection.Inventory, inventory.Options{Owner: o})
	if err != nil {
		return nil, err
	}
	return &flow{
		recorder:  newRecorder(s, connection, cleaning, persist),
		site:      s,
		owner:     o,
		namespace: connection.Namespace,
		cleaning:  cleaning,
		inventory: hosts,
		addresses: ipam.New(session.Client(), connection.Namespace, o),
		api:       session.Client(),
		served:    session.Resources,
	}, nil
}

// Reconcile implements platform.Infrastructure.
func (i *infrastructure) Reconcile(ctx context.Context, s *site.Site, persist platform.Persist) (*v1alpha1.SiteStatus, error) {
	f, err := i.forProfile(ctx, s, persist)
	if err != nil {
		return nil, platform.InSite(s.Name, err)
	}
	status, err := f.reconcile(ctx)
	return status, platform.InSite(s.Name, err)
}

// reconcile records how the site is reached before any machine is made there, and counts its hosts.
func (f *flow) reconcile(ctx context.Context) (*v1alpha1.SiteStatus, error) {
	if err := f.Record(ctx, func(state *v1alpha1.MetalState) {
		state.Connection, state.Cleaning = client.ConnectionOf(f.site.Profile), f.cleaning
	}); err != nil {
		return nil, err
	}
	hosts, err := f.countAll(ctx)
	if err != nil {
		return nil, err
	}
	f.publish(hosts)
	return &v1alpha1.SiteStatus{Name: f.site.Name, Metal: &v1alpha1.MetalStatus{Hosts: hosts}}, nil
}

// forProfile returns a flow with the connection of the CloudProfile.
func (i *infrastructure) forProfile(ctx context.Context, s *site.Site, persist platform.Persist) (*flow, error) {
	if s.Profile == nil || s.Profile.Metal == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the CloudProfile has no bare-metal site of this name any more")
	}
	return i.flow(ctx, s, client.ConnectionOf(s.Profile), s.Profile.Metal.Cleaning, persist)
}

// forExisting returns a flow for what may exist, nil if nothing can. It prefers the CloudProfile's connection, which may have a new
// address or certificate authority, and uses that of the state when the CloudProfile dropped the site.
func (i *infrastructure) forExisting(ctx context.Context, s *site.Site, persist platform.Persist) (*flow, error) {
	var (
		f   *flow
		err error
	)
	switch {
	case s.Profile != nil && s.Profile.Metal != nil:
		f, err = i.forProfile(ctx, s, persist)
	case s.State != nil && s.State.Metal != nil:
		f, err = i.flow(ctx, s, s.State.Metal.Connection, s.State.Metal.Cleaning, persist)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", platform.ErrNoAccess, err)
	}
	return f, nil
}
