// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package probe reads the free capacity in the zones of a site.
package probe

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type probe struct {
	sessions *client.Sessions
}

// New returns the Probe part of the vSphere platform.
func New(sessions *client.Sessions) platform.Probe {
	return &probe{sessions: sessions}
}

// Probe implements platform.Probe. One request reads the resource pools and datastores of all zones. Their names are looked up once an
// hour, a few per probe. Objects that are missing or not visible are reported by the Infrastructure.
func (p *probe) Probe(ctx context.Context, s *site.Site, _ []string) (found platform.Observation, err error) {
	defer platform.NameSite(s.Name, &err)
	session, err := p.sessions.Get(ctx, s.Name, connectionOf(s), s.Credentials)
	if err != nil {
		return found, err
	}
	zones, err := placesOf(ctx, session, s.Profile)
	if err != nil {
		return found, err
	}
	if !slices.ContainsFunc(zones, func(z zone) bool { return len(z.places) > 0 }) {
		_, err := methods.GetCurrentTime(ctx, session.VIM()) // a cheap request that requires a session
		return found, client.Classify(err)
	}
	found.Capacities, err = capacitiesOf(ctx, session, zones)
	return found, err
}

func connectionOf(s *site.Site) v1alpha1.VSphereConnection {
	if s.Profile == nil {
		return s.State.VSphere.Connection
	}
	return client.ConnectionOf(s.Profile, "")
}

const (
	// placeAge is how long the lookup of a name is cached.
	placeAge = time.Hour
	// lookups is the maximum number of lookups of one probe, which must not time out at a slow vCenter.
	lookups = 4
)

// zone contains the objects of a zone that have a capacity.
type zone struct {
	name   string
	places []types.ManagedObjectReference
}

// directory caches objects by inventory path.
type directory struct{ sync.Map }

type entry struct {
	// reference is nil if there is no object, or if it is not visible to the credentials.
	reference *types.ManagedObjectReference
	at        time.Time
}

type directoryKey struct{}

func directoryOf(session *client.Session) *directory {
	return client.Value(session, directoryKey{}, func() *directory { return &directory{} })
}

// placesOf returns the objects of the zones of the site that are known by now.
func placesOf(ctx context.Context, session *client.Session, profile *v1alpha1.CloudProfileSite) ([]zone, error) {
	var (
		zones []zone
		left  = lookups
	)
	for _, named := range inventory.ZonesOf(profile) {
		found := zone{name: named.Name}
		for path, kind := range map[string]inventory.Kind{named.ResourcePool(): inventory.ResourcePool, named.Datastore(): inventory.Datastore} {
			if path == "" {
				continue
			}
			place, err := directoryOf(session).find(ctx, session, kind, path, &left)
			if err != nil {
				return nil, err
			}
			if place != nil {
				found.places = append(found.places, *place)
			}
		}
		zones = append(zones, found)
	}
	return zones, nil
}

// find returns the object of the kind with the path, or nil if none is visible to the credentials. It does at most the left number of
// lookups.
func (d *directory) find(ctx context.Context, session *client.Session, kind inventory.Kind, path string,
	left *int) (*types.ManagedObjectReference, error) {
	value, ok := d.Load(path)
	known, _ := value.(entry)
	if ok && time.Since(known.at) < placeAge || *left == 0 {
		return known.reference, nil
	}
	*left--
	reference, err := inventory.Lookup(ctx, session.VIM(), kind, path)
	switch platform.ClassOf(err) {
	case platform.ClassConfiguration, platform.ClassForbidden, platform.ClassNotFound:
	default:
		if err != nil {
			return nil, err
		}
	}
	d.Store(path, entry{reference: reference, at: time.Now()})
	return reference, nil
}
