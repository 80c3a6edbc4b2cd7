// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"regexp"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Options say for whom an inventory hands out hosts.
type Options struct {
	// Owner is the shoot and the site.
	Owner owner.Owner
	// Watched serves reads from watches, for a process that reads often. Otherwise each read is a request.
	Watched bool
}

// Opener returns the inventory of the kind behind the session. The error's class is platform.ClassConfiguration.
type Opener func(session *kubernetes.Session, kind v1alpha1.MetalInventory, options Options) (Inventory, error)

// Request names the inventory of a site.
type Request struct {
	// Options are passed to the inventory. Its owner names the site.
	Options
	// Connection is how the inventory is reached.
	Connection v1alpha1.MetalConnection
	// Credentials are those of the site.
	Credentials site.Credentials
	// NamespaceUID is the identity that the inventory's namespace must have, empty if it is not known.
	NamespaceUID string
}

// Open returns the session and the inventory of the request, after it has checked the inventory's identity.
func (open Opener) Open(ctx context.Context, sessions *client.Sessions, r Request) (*kubernetes.Session, Inventory, error) {
	session, err := sessions.Get(ctx, r.Owner.Site, r.Connection, r.Credentials)
	if err != nil {
		return nil, nil, err
	}
	if err := session.CheckIdentity(ctx, r.NamespaceUID); err != nil {
		return nil, nil, err
	}
	opened, err := open(session, r.Connection.Inventory, r.Options)
	return session, opened, err
}

// Access is what inventories in a Kubernetes API have in common. They embed it.
type Access struct {
	Options
	// Session is the session at the API.
	Session *kubernetes.Session
	// Reservations are those of the session.
	Reservations *Reservations
}

// NewAccess returns the access through the session.
func NewAccess(session *kubernetes.Session, options Options) Access {
	return Access{
		Options:      options,
		Session:      session,
		Reservations: session.Value(reservationsKey{}, func() any { return NewReservations() }).(*Reservations),
	}
}

// Client returns a client each of whose reads is a request.
func (a *Access) Client() ctrlclient.Client {
	return a.Session.Client()
}

// Reader returns a reader of objects of the kinds: watches that have synced, or else a client.
func (a *Access) Reader(ctx context.Context, key any, options cache.Options, kinds ...ctrlclient.Object) ctrlclient.Reader {
	if !a.Watched {
		return a.Client()
	}
	return a.Session.Reader(ctx, key, options, kinds...)
}

const (
	// labelFormat matches a part of a name.
	labelFormat = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	// NameFormat matches the name of a host, a claim or a machine.
	NameFormat = labelFormat + `(\.` + labelFormat + `)*`
)

// HasForm reports whether the provider ID consists of the prefix and what the format matches.
func HasForm(providerID, prefix, format string) bool {
	return regexp.MustCompile("^" + regexp.QuoteMeta(prefix) + format + "$").MatchString(providerID)
}

// watchLag is for how long a watch may not show that a host was claimed.
const watchLag = 30 * time.Second

// Reservations are the hosts that this process is claiming, so that its own claims do not compete.
type Reservations struct {
	mutex sync.Mutex
	// claiming are the hosts that are being claimed.
	claiming map[string]struct{}
	// claimed says when hosts were claimed whose claim a watch may not show yet.
	claimed map[string]time.Time
}

type reservationsKey struct{}

// NewReservations returns an empty set of reservations.
func NewReservations() *Reservations {
	return &Reservations{claiming: map[string]struct{}{}, claimed: map[string]time.Time{}}
}

// Reserve reserves the host unless it is reserved, or was claimed recently. A recent claim does not matter if the host is known to be
// free.
func (r *Reservations) Reserve(host string, isFree bool) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if _, ok := r.claiming[host]; ok {
		return false
	}
	if at, ok := r.claimed[host]; ok && !isFree && time.Since(at) < watchLag {
		return false
	}
	delete(r.claimed, host)
	r.claiming[host] = struct{}{}
	return true
}

// Release ends the reservation of the host, and is a no-op without one.
func (r *Reservations) Release(host string, claimed bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.claiming, host)
	if claimed {
		r.claimed[host] = time.Now()
	}
}
