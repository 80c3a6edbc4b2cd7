// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
)

// watchAge is how old an answer of Watch may be: reading servers is expensive for Nova.
const watchAge = 3 * time.Second

const (
	statusActive  = "ACTIVE"
	statusDeleted = "DELETED"
)

// cinderDriver is the name of the CSI driver of Cinder, cinderZone the label in which its node service tells the availability zone.
const (
	cinderDriver = "cinder.csi.openstack.org"
	cinderZone   = "topology.cinder.csi.openstack.org/zone"
)

// Watch looks at the servers of several projects. All its users share one answer per project for a moment.
type Watch struct {
	mu       sync.Mutex
	projects []*watched
	prefix   string
}

type watched struct {
	client  *Client
	mu      sync.Mutex
	at      time.Time
	servers map[string]Server
	err     error

	activeAt  time.Time
	active    map[string]Server
	activeErr error
}

// NewWatch watches the servers whose names begin with prefix.
func NewWatch(prefix string, clients ...*Client) *Watch {
	w := &Watch{prefix: prefix}
	for _, c := range clients {
		w.projects = append(w.projects, &watched{client: c})
	}
	return w
}

// Servers returns the servers of all projects by ID. If a project does not answer, those of the others are returned with the
// error.
func (w *Watch) Servers(ctx context.Context) (map[string]Server, error) {
	return w.collect(ctx, (*watched).read)
}

func (w *Watch) collect(ctx context.Context, read func(*watched, context.Context, string) (map[string]Server, error)) (map[string]Server,
	error) {
	var (
		group  sync.WaitGroup
		result = map[string]Server{}
		errs   []error
	)
	for _, p := range w.projects {
		group.Go(func() {
			servers, err := read(p, ctx, w.prefix)
			w.mu.Lock()
			defer w.mu.Unlock()
			maps.Copy(result, servers)
			errs = append(errs, err)
		})
	}
	group.Wait()
	return result, errors.Join(errs...)
}

// read returns the last answer of the project, or a new one if that is too old.
func (p *watched) read(ctx context.Context, prefix string) (map[string]Server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) > watchAge {
		p.servers, p.err = p.client.Servers(ctx, prefix)
		p.at = time.Now()
	}
	return p.servers, p.err
}

// readActive returns the active servers of the project, which do not change: they are read when another set of servers is active.
func (p *watched) readActive(ctx context.Context, prefix string) (map[string]Server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.activeAt) > watchAge {
		p.activeErr = p.updateActive(ctx, prefix)
		p.activeAt = time.Now()
	}
	if p.activeErr != nil {
		return nil, p.activeErr
	}
	return p.active, nil
}

func (p *watched) updateActive(ctx context.Context, prefix string) error {
	ids, err := p.client.ActiveServers(ctx, prefix)
	if err != nil || slices.Equal(ids, slices.Sorted(maps.Keys(p.active))) {
		return err
	}
	p.active, err = p.client.Servers(ctx, prefix)
	maps.DeleteFunc(p.active, func(_ string, s Server) bool { return s.Status != statusActive })
	return err
}

// Active returns the active servers for the kubelets.
func (w *Watch) Active(ctx context.Context) (map[string]kubelets.Server, error) {
	servers, err := w.collect(ctx, (*watched).readActive)
	active := map[string]kubelets.Server{}
	for id, s := range servers {
		active[id] = kubelets.Server{Addresses: s.NodeAddresses(), SystemUUID: id, Topology: map[string]map[string]string{
			cinderDriver: {cinderZone: s.Zone},
		}}
	}
	return active, err
}
