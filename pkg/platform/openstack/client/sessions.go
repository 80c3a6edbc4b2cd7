// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/sessions"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	// idleTimeout is how long a session is kept that nobody uses.
	idleTimeout = time.Hour
	// checkInterval is how often that is looked at.
	checkInterval = 10 * time.Minute
)

// Sessions are the sessions of a process, one for each site and credentials.
type Sessions struct {
	set   *sessions.Set[endpoint, *Session]
	retry retry
	// gates are those of sessions that could not log in: they ask no service that asked for time when they try again.
	gates sync.Map
}

// endpoint is what a session is opened to.
type endpoint struct {
	v1alpha1.OpenStackConnection
	// Guard is nil if the operator named the endpoint.
	Guard *sharedtransport.Guard
}

// Shared returns the sessions that all parts of the process use.
var Shared = sync.OnceValue(NewSessions)

// NewSessions returns an empty set of sessions.
func NewSessions() *Sessions {
	return newSessions(idleTimeout, checkInterval)
}

func newSessions(idle, check time.Duration) *Sessions {
	s := &Sessions{retry: retry{wait: wait, now: time.Now}}
	s.set = sessions.New(sessions.Options[endpoint, *Session]{
		Open:  s.open,
		Close: func(session *Session) { session.provider.HTTPClient.CloseIdleConnections() },
		Idle:  idle,
		Check: check,
	})
	return s
}

// Get returns the session of a site. The first call for given credentials logs in; calls that come meanwhile wait for it
// and share the result. A failed login is not remembered.
func (s *Sessions) Get(ctx context.Context, siteName string, connection v1alpha1.OpenStackConnection,
	credentials site.Credentials) (*Session, error) {
	return s.GetGuarded(ctx, siteName, connection, credentials, nil)
}

// GetGuarded is Get for an endpoint that a tenant named. The guard opens all connections.
func (s *Sessions) GetGuarded(ctx context.Context, siteName string, connection v1alpha1.OpenStackConnection, credentials site.Credentials,
	guard *sharedtransport.Guard) (*Session, error) {
	return s.set.Get(ctx, siteName, endpoint{OpenStackConnection: connection, Guard: guard}, credentials)
}

func (s *Sessions) open(ctx context.Context, key, siteName string, to endpoint, credentials site.Credentials) (*Session, error) {
	held, _ := s.gates.LoadOrStore(key, newGate(s.retry))
	session, err := newSession(ctx, siteName, to, credentials, s.retry, held.(*gate))
	if err != nil {
		if !held.(*gate).closed() {
			s.gates.Delete(key)
		}
		return nil, err
	}
	s.gates.Delete(key)
	return session, nil
}
