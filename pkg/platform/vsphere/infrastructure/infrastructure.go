// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package infrastructure makes what a shoot needs at a vSphere site before it can have machines: a folder in each datacenter, a
// resource pool in each zone where the operator wants one, and the tag of what belongs to the shoot. What is there already,
// such as clusters, datastores and networks, is looked up by name once, so that machines are made by ID.
package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type infrastructure struct {
	sessions *client.Sessions
	machines platform.Machines
}

// New returns the Infrastructure part of the vSphere platform.
func New(sessions *client.Sessions) platform.Infrastructure {
	return &infrastructure{sessions: sessions, machines: machines.New(sessions)}
}

// flow is one operation on one site.
type flow struct {
	*recorder
	site    *site.Site
	owner   owner.Owner
	session *client.Session
	vim     *vim25.Client
	tags    *tags.Manager
	// connection is how the site is reached. It has the UUID of the vCenter if that is known to have the shoot's objects.
	connection v1alpha1.VSphereConnection
	machines   platform.Machines
}

func (i *infrastructure) flow(ctx context.Context, s *site.Site, connection v1alpha1.VSphereConnection, persist platform.Persist) (*flow,
	error) {
	session, err := i.sessions.Get(ctx, s.Name, connection, s.Credentials)
	if err != nil {
		return nil, err
	}
	return &flow{
		recorder: newRecorder(s, connection, persist),
		site:     s,
		owner:    owner.Owner{Shoot: s.Shoot, Site: s.Name},
		session:  session,
		vim:      session.VIM(),
		tags:     session.Tags(),

		connection: connection,
		machines:   i.machines,
	}, nil
}

// Reconcile implements platform.Infrastructure.
func (i *infrastructure) Reconcile(ctx context.Context, s *site.Site, persist platform.Persist) (*v1alpha1.SiteStatus, error) {
	status, err := i.reconcile(ctx, s, persist)
	return status, platform.InSite(s.Name, err)
}

func (i *infrastructure) reconcile(ctx context.Context, s *site.Site, persist platform.Persist) (*v1alpha1.SiteStatus, error) {
	f, err := i.forProfile(ctx, s, persist)
	if err != nil {
		return nil, err
	}
	zones, err := f.findZones(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.Record(ctx, func(state *v1alpha1.VSphereState) {
		state.Connection = client.ConnectionOf(s.Profile, f.session.InstanceUUID())
		for _, z := range zones {
			if z.cluster.Type == "ClusterComputeResource" && !slices.Contains(state.ComputeClusters, z.cluster.Value) {
				state.ComputeClusters = append(state.ComputeClusters, z.cluster.Value)
			}
		}
	}); err != nil {
		return nil, err
	}
	return f.ensure(ctx, zones)
}

// forProfile returns a flow with the connection of the CloudProfile.
func (i *infrastructure) forProfile(ctx context.Context, s *site.Site, persist platform.Persist) (*flow, error) {
	if s.Profile == nil || s.Profile.VSphere == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the CloudProfile has no vSphere site of this name any more")
	}
	return i.flow(ctx, s, client.ConnectionOf(s.Profile, vCenterOf(s)), persist)
}

// ensure makes what is missing and returns where machines of each zone are.
func (f *flow) ensure(ctx context.Context, zones []zone) (*v1alpha1.SiteStatus, error) {
	if err := f.ensureTopology(ctx, zones); err != nil {
		return nil, err
	}
	tagID, err := f.ensureOwnerTag(ctx)
	if err != nil {
		return nil, err
	}
	folders, err := f.ensureFolders(ctx, zones, tagID)
	if err != nil {
		return nil, err
	}

	status := &v1alpha1.VSphereStatus{InstanceUUID: f.session.InstanceUUID(), OwnerTagID: tagID}
	for _, z := range zones {
		pool, err := f.ensureResourcePool(ctx, z, tagID)
		if err != nil {
			return nil, fmt.Errorf("zone %q: %w", z.name, err)
		}
		status.Zones = append(status.Zones, z.status(folders[z.datacenterPath], pool))
	}
	return &v1alpha1.SiteStatus{Name: f.site.Name, VSphere: status}, nil
}

// Delete implements platform.Infrastructure.
func (i *infrastructure) Delete(ctx context.Context, s *site.Site, persist platform.Persist) error {
	f, err := i.forExisting(ctx, s, persist)
	if f == nil {
		return platform.InSite(s.Name, err)
	}
	return platform.InSite(s.Name, f.delete(ctx))
}

// forExisting returns a flow for what may exist, nil if nothing was ever made.
func (i *infrastructure) forExisting(ctx context.Context, s *site.Site, persist platform.Persist) (*flow, error) {
	connection, ok := existingConnection(s)
	if !ok {
		return nil, nil
	}
	f, err := i.flow(ctx, s, connection, persist)
	if connection.InstanceUUID != "" && platform.ClassOf(err) == platform.ClassConfiguration &&
		connection.Server != s.State.VSphere.Connection.Server {
		// The CloudProfile may have given the name to another site since.
		f, err = i.flow(ctx, s, s.State.VSphere.Connection, persist)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", platform.ErrNoAccess, err)
	}
	return f, nil
}

// existingConnection prefers the CloudProfile's connection, which may have a new address or certificate authority, and uses
// that of the state when the CloudProfile dropped the site. There is none if nothing was ever made.
func existingConnection(s *site.Site) (v1alpha1.VSphereConnection, bool) {
	switch {
	case s.Profile != nil && s.Profile.VSphere != nil:
		return client.ConnectionOf(s.Profile, vCenterOf(s)), true
	case s.State != nil && s.State.VSphere != nil:
		return s.State.VSphere.Connection, true
	default:
		return v1alpha1.VSphereConnection{}, false
	}
}

// vCenterOf returns the UUID of the vCenter that has the objects of the state. It is empty if there are none, so that there may be another
// one, and if a version wrote the state that did not record it.
func vCenterOf(s *site.Site) string {
	if s.State == nil || s.State.VSphere == nil {
		return ""
	}
	state := s.State.VSphere
	if state.OwnerTag == nil && len(state.Folders)+len(state.ResourcePools) == 0 {
		return ""
	}
	return state.Connection.InstanceUUID
}

// inZones does something with all zones and joins the errors, each with the name of its zone.
func inZones(zones []v1alpha1.SiteZone, do func(*v1alpha1.SiteZone) error) error {
	var errs []error
	for i := range zones {
		if err := do(&zones[i]); err != nil {
			errs = append(errs, &platform.Error{Class: platform.ClassOf(err), Err: fmt.Errorf("zone %q: %w", zones[i].Name, err)})
		}
	}
	return errors.Join(errs...)
}
