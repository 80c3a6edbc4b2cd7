// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package infrastructure looks after what a shoot needs at a bare-metal site before it can have machines. Nothing is made there: hosts,
// their networks and address pools are the operator's. The package checks that there are enough of them.
package infrastructure

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
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
	// former returns the leftovers in the inventory of the state.
	former func(context.Context) (leftovers, error)
	// served returns the names of the resources that the API serves in a version.
	served func(context.Context, schema.GroupVersion) ([]string, error)
	// isKubernetes reports whether the server is a Kubernetes API.
	isKubernetes func(context.Context) (bool, error)
}

func (i *infrastructure) flow(ctx context.Context, s *site.Site, connection v1alpha1.MetalConnection, cleaning string,
	persist platform.Persist) (*flow, error) {
	o := owner.Owner{Shoot: s.Shoot, Site: s.Name}
	session, hosts, err := i.open.Open(ctx, i.sessions, inventory.Request{
		Options: inventory.Options{Owner: o}, Connection: connection, Credentials: s.Credentials})
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

		isKubernetes: session.IsKubernetes,
		former: func(ctx context.Context) (leftovers, error) {
			f, err := i.flow(ctx, s, formerly(connection, s), cleaning, nil)
			if err != nil {
				return leftovers{}, err
			}
			return f.left(ctx)
		},
	}, nil
}

// Reconcile implements platform.Infrastructure.
func (i *infrastructure) Reconcile(ctx context.Context, s *site.Site, persist platform.Persist) (_ *v1alpha1.SiteStatus, err error) {
	defer platform.NameSite(s.Name, &err)
	f, err := i.forProfile(ctx, s, persist)
	if err != nil {
		return nil, err
	}
	return f.reconcile(ctx)
}

// reconcile counts the hosts, and records the connection of the site before any machine is created there. It keeps the recorded
// connection if the inventory does not answer or is a different one, because existing machines need it.
func (f *flow) reconcile(ctx context.Context) (*v1alpha1.SiteStatus, error) {
	id, err := kubernetes.Identity(ctx, f.api, f.namespace)
	if err != nil {
		return nil, err
	}
	if err := f.checkPlace(ctx, id); err != nil {
		return nil, err
	}
	hosts, err := f.countAll(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.Record(ctx, func(state *v1alpha1.MetalState) {
		state.Connection, state.Cleaning, state.NamespaceUID = client.ConnectionOf(f.site.Profile), f.cleaning, id
		state.AddressClaims = state.AddressClaims || ipamPool(f.site) != nil
	}); err != nil {
		return nil, err
	}
	f.publish(hosts)
	return &v1alpha1.SiteStatus{Name: f.site.Name, Metal: &v1alpha1.MetalStatus{Hosts: hosts, NamespaceUID: id}}, nil
}

// checkPlace rejects an inventory that differs from that of the state, unless the shoot has nothing there.
func (f *flow) checkPlace(ctx context.Context, id string) error {
	former, present := f.State().Connection, client.ConnectionOf(f.site.Profile)
	if former.Namespace == "" || former.Namespace == present.Namespace && former.Inventory == present.Inventory {
		return kubernetes.CheckIdentity(f.namespace, f.State().NamespaceUID, id)
	}
	left, err := f.former(ctx)
	if err != nil || len(left.machines()) == 0 {
		return err
	}
	return platform.NewError(platform.ClassConfiguration,
		"metal: the CloudProfile has inventory %s in namespace %q, but the shoot has machines in inventory %s in namespace %q; "+
			"nothing is touched until the CloudProfile has that inventory again",
		present.Inventory, present.Namespace, former.Inventory, former.Namespace)
}

// formerly returns the connection with inventory and namespace of the state: the address of an inventory may change, but not these.
func formerly(connection v1alpha1.MetalConnection, s *site.Site) v1alpha1.MetalConnection {
	if s.State != nil && s.State.Metal != nil && s.State.Metal.Connection.Namespace != "" {
		connection.Namespace, connection.Inventory = s.State.Metal.Connection.Namespace, s.State.Metal.Connection.Inventory
	}
	return connection
}

// forProfile returns a flow with the connection of the CloudProfile.
func (i *infrastructure) forProfile(ctx context.Context, s *site.Site, persist platform.Persist) (*flow, error) {
	if s.Profile == nil || s.Profile.Metal == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the CloudProfile no longer has a bare-metal site of this name")
	}
	return i.flow(ctx, s, client.ConnectionOf(s.Profile), s.Profile.Metal.Cleaning, persist)
}

// forExisting returns a flow for existing objects, nil if there cannot be any. It prefers the CloudProfile's connection, which may have a
// new address or certificate authority, and uses that of the state if the CloudProfile no longer has the site. The inventory must be that
// of the state.
func (i *infrastructure) forExisting(ctx context.Context, s *site.Site, persist platform.Persist) (*flow, error) {
	var (
		f   *flow
		err error
	)
	switch {
	case s.Profile != nil && s.Profile.Metal != nil:
		f, err = i.flow(ctx, s, formerly(client.ConnectionOf(s.Profile), s), s.Profile.Metal.Cleaning, persist)
	case s.State != nil && s.State.Metal != nil:
		f, err = i.flow(ctx, s, s.State.Metal.Connection, s.State.Metal.Cleaning, persist)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", platform.ErrNoAccess, err)
	}
	if known := f.State().NamespaceUID; known != "" {
		id, err := kubernetes.Identity(ctx, f.api, f.namespace)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", platform.ErrNoAccess, err)
		}
		if err := kubernetes.CheckIdentity(f.namespace, known, id); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// recorder keeps the state of the site.
type recorder = platform.Recorder[v1alpha1.MetalState, *v1alpha1.MetalState]

func newRecorder(s *site.Site, connection v1alpha1.MetalConnection, cleaning string, persist platform.Persist) *recorder {
	return platform.NewRecorder[v1alpha1.MetalState](s, &v1alpha1.MetalState{Connection: connection, Cleaning: cleaning},
		func(state *v1alpha1.SiteState) **v1alpha1.MetalState { return &state.Metal }, persist)
}
