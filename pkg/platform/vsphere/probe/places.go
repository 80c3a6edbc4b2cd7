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
	// placeAge is for how long a name is known to stand for an object, or for none.
	placeAge = time.Hour
	// lookUps is how many names are looked up at most before one question: a slow vCenter must not be taken for a silent one.
	lookUps = 4
)

// zone are the objects of a zone that have a capacity.
type zone struct {
	name   string
	places []types.ManagedObjectReference
}

// directory remembers the objects with inventory paths.
type directory struct {
	mutex   sync.Mutex
	entries map[string]entry
}

type entry struct {
	// reference is nil if there is no object that the credentials see.
	reference *types.ManagedObjectReference
	at        time.Time
}

type directoryKey struct{}

func directoryOf(session *client.Session) *directory {
	return session.Value(directoryKey{}, func() any { return &directory{entries: map[string]entry{}} }).(*directory)
}

// forget lets all names be looked up again.
func (d *directory) forget() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	clear(d.entries)
}

// placesOf returns the places of the zones of the site, as far as they are known by now.
func placesOf(ctx context.Context, session *client.Session, profile *v1alpha1.CloudProfileSite) ([]zone, error) {
	if profile == nil {
		return nil, nil
	}
	var (
		zones []zone
		left  = lookUps
	)
	for _, z := range profile.Zones {
		if z.VSphere == nil {
			continue
		}
		named, found := inventory.Zone{Site: profile.VSphere, Zone: z.VSphere}, zone{name: z.Name}
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

// find returns the object of the kind with the path, nil if the credentials see none. It looks it up if any are left to look up.
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
