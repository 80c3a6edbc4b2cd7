// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package infrastructure creates what a shoot needs on a vSphere site before it can have machines: a folder in each datacenter, a resource
// pool in each zone if configured, and a tag for the shoot's objects. It resolves the names of existing objects, such as clusters,
// datastores and networks, to IDs.
package infrastructure

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// recorder persists the state of the site.
type recorder = platform.Recorder[v1alpha1.VSphereState, *v1alpha1.VSphereState]

func newRecorder(s *site.Site, connection v1alpha1.VSphereConnection, persist platform.Persist) *recorder {
	return platform.NewRecorder[v1alpha1.VSphereState](s, &v1alpha1.VSphereState{Connection: connection},
		func(state *v1alpha1.SiteState) **v1alpha1.VSphereState { return &state.VSphere }, persist)
}

// flow is one operation on one site.
type flow struct {
	*recorder
	site    *site.Site
	owner   owner.Owner
	session *client.Session
	vim     *vim25.Client
	tags    *tags.Manager
	// connection has the UUID of the vCenter if that is known to have the shoot's objects.
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
func (i *infrastructure) Reconcile(ctx context.Context, s *site.Site, persist platform.Persist) (_ *v1alpha1.SiteStatus, err error) {
	defer platform.NameSite(s.Name, &err)
	f, err := i.forProfile(ctx, s, persist)
	if err != nil {
		return nil, err
	}
	if err := f.checkIPAM(ctx); err != nil {
		return nil, err
	}
	zones, err := f.findZones(ctx, field.NewPath("infrastructureConfig", "sites").Key(s.Name).Child("vsphere"))
	if err != nil {
		return nil, err
	}
	if err := f.Record(ctx, func(state *v1alpha1.VSphereState) {
		state.Connection = client.ConnectionOf(s.Profile, f.session.InstanceUUID())
		state.Connection.IPAM = client.IPAMOf(s)
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
		return nil, platform.NewError(platform.ClassConfiguration, "the CloudProfile no longer has a vSphere site of this name")
	}
	return i.flow(ctx, s, client.ConnectionWithIPAM(s, vCenterOf(s)), persist)
}

// ensure creates what is missing and returns the IDs for the machines of each zone.
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
func (i *infrastructure) Delete(ctx context.Context, s *site.Site, persist platform.Persist) (err error) {
	defer platform.NameSite(s.Name, &err)
	f, err := i.forExisting(ctx, s, persist)
	if f == nil {
		return err
	}
	return f.delete(ctx)
}

// forExisting returns a flow for what may exist, or nil if nothing was ever created.
func (i *infrastructure) forExisting(ctx context.Context, s *site.Site, persist platform.Persist) (*flow, error) {
	connection, ok := existingConnection(s)
	if !ok {
		return nil, nil
	}
	f, err := i.flow(ctx, s, connection, persist)
	if connection.InstanceUUID != "" && platform.ClassOf(err) == platform.ClassConfiguration &&
		connection.Server != s.State.VSphere.Connection.Server {
		// The CloudProfile may use the name for another site now.
		f, err = i.flow(ctx, s, s.State.VSphere.Connection, persist)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", platform.ErrNoAccess, err)
	}
	return f, nil
}

// existingConnection returns the connection of the CloudProfile, which may have a new address or certificate authority, or that of the
// state if the CloudProfile no longer contains the site. It returns false if nothing was ever created.
func existingConnection(s *site.Site) (v1alpha1.VSphereConnection, bool) {
	switch {
	case s.Profile != nil && s.Profile.VSphere != nil:
		return client.ConnectionWithIPAM(s, vCenterOf(s)), true
	case s.State != nil && s.State.VSphere != nil:
		return s.State.VSphere.Connection, true
	default:
		return v1alpha1.VSphereConnection{}, false
	}
}

// vCenterOf returns the UUID of the vCenter that has the objects of the state. It is empty if there are no objects, so that the vCenter may
// be replaced, or if an older version wrote the state.
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

// kinds are the kinds of orphans by type.
var kinds = map[string]string{
	"VirtualMachine": "virtual machine",
	"Folder":         "folder",
	"ResourcePool":   "resource pool",
}

// Orphans implements platform.Infrastructure.
func (i *infrastructure) Orphans(ctx context.Context, s *site.Site) (orphans []v1alpha1.Orphan, err error) {
	defer platform.NameSite(s.Name, &err)
	f, err := i.forExisting(ctx, s, nil)
	if f == nil {
		return nil, err
	}
	owned, err := f.owned(ctx)
	if err != nil {
		return nil, err
	}
	add := func(kind, id, name string) {
		orphans = append(orphans, v1alpha1.Orphan{Site: f.site.Name, Kind: kind, ID: id, Name: name})
	}
	for _, o := range slices.Concat(owned.machines, owned.folders, owned.pools) {
		add(kinds[o.reference.Type], o.reference.Value, o.name)
	}
	rules, err := f.rules(ctx)
	if err != nil {
		return orphans, err
	}
	for _, rule := range rules {
		add("anti-affinity rule", strconv.Itoa(int(rule.key)), rule.name)
	}
	if owned.tagID != "" {
		add("tag", owned.tagID, f.owner.Name())
	}
	machines, err := f.claims(ctx)
	for _, machine := range machines {
		add("address claim", f.connection.IPAM.Namespace+"/"+machine, machine)
	}
	return orphans, err
}
