// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
)

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
type directory struct {
	mutex   sync.Mutex
	entries map[string]entry
}

type entry struct {
	// reference is nil if there is no object, or if it is not visible to the credentials.
	reference *types.ManagedObjectReference
	at        time.Time
}

type directoryKey struct{}

func directoryOf(session *client.Session) *directory {
	return client.Value(session, directoryKey{}, func() *directory { return &directory{entries: map[string]entry{}} })
}

// forget clears the cache.
func (d *directory) forget() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	clear(d.entries)
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
	d.mutex.Lock()
	known, ok := d.entries[path]
	d.mutex.Unlock()
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
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.entries[path] = entry{reference: reference, at: time.Now()}
	return reference, nil
}
