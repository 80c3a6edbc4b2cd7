// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package client holds the authenticated sessions to OpenStack sites that all parts of the platform share, and decides the
// class of every error that an OpenStack API returns.
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
	// idleTimeout is how long an unused session is kept.
	idleTimeout = time.Hour
	// checkInterval is how often sessions are checked.
	checkInterval = 10 * time.Minute
)

// Sessions holds the sessions of a process, one per site and credentials.
type Sessions struct {
	set   *sessions.Set[endpoint, *Session]
	retry retry
	// wrap is optional.
	wrap sharedtransport.Wrap
	// gates are kept for sessions that could not log in, so that the next attempt respects the delay that a service asked for.
	gates sync.Map
}

// endpoint is the target of a session.
type endpoint struct {
	v1alpha1.OpenStackConnection
	// Guard is nil if the endpoint was configured by the operator.
	Guard *sharedtransport.Guard
}

// Shared returns the sessions that all parts of the process share.
var Shared = sync.OnceValue(NewSessions)

// NewSessions returns an empty set of sessions.
func NewSessions() *Sessions {
	return newSessions(idleTimeout, checkInterval)
}

// WrappedSessions returns an empty set of sessions whose requests are sent by what wrap returns.
func WrappedSessions(wrap sharedtransport.Wrap) *Sessions {
	s := NewSessions()
	s.wrap = wrap
	return s
}

// Close closes all sessions.
func (s *Sessions) Close() {
	s.set.Close()
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

// Get returns the session of a site. The first call for given credentials logs in; concurrent calls wait and share the result. A failed
// login is not cached.
func (s *Sessions) Get(ctx context.Context, siteName string, connection v1alpha1.OpenStackConnection,
	credentials site.Credentials) (*Session, error) {
	return s.GetGuarded(ctx, siteName, connection, credentials, nil)
}

// GetGuarded is Get for an endpoint that was configured by a tenant. The guard opens all connections.
func (s *Sessions) GetGuarded(ctx context.Context, siteName string, connection v1alpha1.OpenStackConnection, credentials site.Credentials,
	guard *sharedtransport.Guard) (*Session, error) {
	return s.set.Get(ctx, siteName, endpoint{OpenStackConnection: connection, Guard: guard}, credentials)
}

func (s *Sessions) open(ctx context.Context, key, siteName string, to endpoint, credentials site.Credentials) (*Session, error) {
	held, _ := s.gates.LoadOrStore(key, newGate(s.retry))
	session, err := newSession(ctx, siteName, to, credentials, s.retry, held.(*gate), s.wrap)
	if err != nil {
		if !held.(*gate).closed() {
			s.gates.Delete(key)
		}
		return nil, err
	}
	s.gates.Delete(key)
	return session, nil
}
