// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machines creates, finds and deletes the servers of an OpenStack site.
package machines

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

const cinderDriver = "cinder.csi.openstack.org"

type machines struct {
	sessions *client.Sessions
	volumes  *volumeCache
	// unanswered has the names of machines with a port request that got no response: the port may still appear.
	unanswered *sync.Map
}

// New returns the Machines part of the OpenStack platform.
func New(sessions *client.Sessions) platform.Machines {
	return &machines{sessions: sessions, volumes: &volumeCache{}, unanswered: &sync.Map{}}
}

// call is one operation on the servers of one shoot on one site.
type call struct {
	request    platform.MachineRequest
	owner      owner.Owner
	snapshot   *snapshot
	volumes    *volumeCache
	unanswered *sync.Map
	compute    *gophercloud.ServiceClient
	network    *gophercloud.ServiceClient
	// volume returns the client of the block storage API, which a site without volumes may lack.
	volume func(context.Context) (*gophercloud.ServiceClient, error)
}

func (m *machines) call(ctx context.Context, request platform.MachineRequest) (*call, error) {
	spec := request.Spec
	if spec.OpenStack == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the provider spec has no openstack block")
	}
	session, err := m.sessions.Get(ctx, spec.Site, spec.OpenStack.Connection, request.Credentials)
	if err != nil {
		return nil, err
	}
	if err := session.CheckScope(spec.OpenStack.Region, spec.OpenStack.ProjectID); err != nil {
		return nil, err
	}
	service, computeErr := session.Compute(ctx)
	network, networkErr := session.Network(ctx)
	if err := errors.Join(computeErr, networkErr); err != nil {
		return nil, err
	}
	compute := *service
	compute.Microversion = client.OwnVolumesMicroversion
	o := owner.Owner{Shoot: spec.Shoot, Site: spec.Site}
	if request.Bastion {
		o = o.OfBastions()
	}
	return &call{
		request:    request,
		owner:      o,
		snapshot:   snapshotOf(session, &compute, o),
		volumes:    m.volumes,
		unanswered: m.unanswered,
		compute:    &compute,
		network:    network,
		volume:     session.Volume,
	}, nil
}

// Get implements platform.Machines.
func (m *machines) Get(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	return platform.Perform(ctx, request, m.call, (*call).get)
}

func (c *call) get(ctx context.Context) (platform.Machine, error) {
	found, err := c.find(ctx, statusAge)
	if err == nil && found.gone() {
		err = platform.NewError(platform.ClassNotFound, "server %s is in status %s", found.ID, found.Status)
	}
	if err != nil {
		return platform.Machine{}, err
	}
	return found.machine(), c.faultOf(ctx, found)
}

// faultOf returns the error of a server that will never run. The server is read again if necessary: the fault is stored after the status,
// so the snapshot may have only the latter.
func (c *call) faultOf(ctx context.Context, s *server) error {
	if s.Status == statusError && s.Fault.Message == "" {
		var err error
		if s, err = getServer(ctx, c.compute, s.ID); err != nil {
			return err
		}
	}
	return s.err()
}

// find returns the server of the request from the shared snapshot. A server with a known ID is missing only if the API confirms it for that
// ID.
func (c *call) find(ctx context.Context, age maxAge) (*server, error) {
	view, err := c.snapshot.get(ctx, age)
	if err != nil {
		return nil, err
	}
	id := serverID(c.request.ProviderID)
	if id == "" {
		if s := view.byName(c.request.Name); s != nil {
			return s, nil
		}
		return nil, platform.NewError(platform.ClassNotFound, "server %q does not exist", c.request.Name)
	}
	if s := view.byID(id); s != nil {
		return s, nil
	}
	return c.read(ctx, id)
}

// read reads a server from the API. It is an error if the server is not ours.
func (c *call) read(ctx context.Context, id string) (*server, error) {
	s, err := getServer(ctx, c.compute, id)
	if err != nil {
		return nil, err
	}
	if s.Status == statusDeleted {
		return nil, platform.NewError(platform.ClassNotFound, "server %s is in status %s", id, s.Status)
	}
	if !c.owner.OwnsServer(s.Metadata) {
		return nil, platform.NewError(platform.ClassConflict, "server %s is not ours: its metadata does not name shoot %q and site %q", id,
			c.owner.Shoot, c.owner.Site)
	}
	return s, nil
}

// findLive bypasses the snapshot and finds the machine's server, ignoring the given ID: the server with a port of the machine, even if it
// was renamed, or else the server with its name.
func (c *call) findLive(ctx context.Context, existing []ports.Port, except string) (*server, error) {
	for i := range existing {
		id := existing[i].DeviceID
		if id == "" || id == except {
			continue
		}
		s, err := c.read(ctx, id)
		switch {
		case client.IsNotFound(err), platform.ClassOf(err) == platform.ClassConflict:
		case err != nil:
			return nil, err
		case cmp.Or(s.Metadata[owner.MetadataMachine], c.request.Name) == c.request.Name:
			return s, nil
		}
	}
	return c.findByName(ctx, except)
}

// findByName bypasses the snapshot and finds a server with the machine's name, ignoring the given ID.
func (c *call) findByName(ctx context.Context, except string) (*server, error) {
	found, _, err := listServers(ctx, c.compute, exactly(c.request.Name))
	if err != nil {
		return nil, err
	}
	next := view{}
	for i := range found {
		if s := &found[i]; s.ID != except && c.owner.OwnsServer(s.Metadata) {
			next[s.ID] = s
		}
	}
	return next.byName(c.request.Name), nil
}

// List implements platform.Machines.
func (m *machines) List(ctx context.Context, request platform.MachineRequest) ([]platform.Machine, error) {
	return platform.Perform(ctx, request, m.call, (*call).list)
}

func (c *call) list(ctx context.Context) ([]platform.Machine, error) {
	view, err := c.snapshot.get(ctx, listAge)
	if err != nil {
		return nil, err
	}
	if view, err = c.listable(ctx, view); err != nil {
		return nil, err
	}
	var result []platform.Machine
	for _, s := range view {
		result = append(result, s.machine())
	}
	return result, nil
}

// VolumeID implements platform.Machines.
func (m *machines) VolumeID(pv *corev1.PersistentVolumeSpec) (string, bool) {
	switch {
	case pv.CSI != nil && pv.CSI.Driver == cinderDriver:
		return pv.CSI.VolumeHandle, true
	case pv.Cinder != nil:
		return pv.Cinder.VolumeID, true
	default:
		return "", false
	}
}

// hostTimeout limits how long a new server is watched. Scheduling usually takes a fraction of a second.
const hostTimeout = 3 * time.Second

// Initialize implements platform.Machines. The server is scheduled after the API has accepted it. The result is read from the shared
// snapshot, so that any number of creations costs a few small lists per second.
func (m *machines) Initialize(ctx context.Context, request platform.MachineRequest) error {
	_, err := platform.Perform(ctx, request, m.call, func(c *call, ctx context.Context) (any, error) { return nil, c.awaitHost(ctx) })
	return err
}

// awaitHost returns nil when the server is scheduled, an error if scheduling failed, and nil if the outcome is still unknown after
// hostTimeout.
func (c *call) awaitHost(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	ticker := time.NewTicker(time.Duration(hostAge))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		view, err := c.snapshot.get(ctx, hostAge)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		s := view.byID(serverID(c.request.ProviderID))
		if s == nil {
			return nil
		}
		if !s.unscheduled() {
			return c.faultOf(ctx, s)
		}
	}
}
