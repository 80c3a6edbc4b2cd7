// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/sessions"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	// idleTimeout is how long a session is kept that nobody uses.
	idleTimeout = time.Hour
	// keepAliveInterval is how often an unused session is used. A vCenter ends sessions after half an hour.
	keepAliveInterval = 10 * time.Minute
	// logoutTimeout limits how long a logout is waited for.
	logoutTimeout = 10 * time.Second
)

// Intervals say when sessions are kept alive and let go of.
type Intervals struct {
	// Idle is how long a session is kept that nobody uses.
	Idle time.Duration
	// KeepAlive is how often an unused session is used so that the vCenter does not end it.
	KeepAlive time.Duration
}

// Sessions are the sessions of a process, one for each site and credentials.
type Sessions struct {
	set *sessions.Set[v1alpha1.VSphereConnection, *Session]

	mutex    sync.Mutex
	refusals map[string]*refusal
}

// Shared returns the sessions that all parts of the process use.
var Shared = sync.OnceValue(func() *Sessions {
	return NewSessions(Intervals{Idle: idleTimeout, KeepAlive: keepAliveInterval})
})

// NewSessions returns an empty set of sessions.
func NewSessions(intervals Intervals) *Sessions {
	s := &Sessions{refusals: map[string]*refusal{}}
	s.set = sessions.New(sessions.Options[v1alpha1.VSphereConnection, *Session]{
		Open: func(ctx context.Context, key, siteName string, connection v1alpha1.VSphereConnection, credentials site.Credentials) (*Session,
			error) {
			return newSession(ctx, siteName, connection, credentials, s.refusal(key))
		},
		Close:     (*Session).logout,
		KeepAlive: func(ctx context.Context, session *Session) error { return session.keepAlive(ctx) },
		Idle:      intervals.Idle,
		Check:     intervals.KeepAlive,
	})
	return s
}

// Get returns the session of a site. The first call for given credentials logs in; calls that come meanwhile wait for it and
// share the result. Only that credentials were refused is remembered, for a minute. Another vCenter than the connection's is refused.
func (s *Sessions) Get(ctx context.Context, siteName string, connection v1alpha1.VSphereConnection, credentials site.Credentials) (*Session,
	error) {
	expected := connection.InstanceUUID
	connection.InstanceUUID = ""
	session, err := s.set.Get(ctx, siteName, connection, credentials)
	if err != nil {
		return nil, err
	}
	if err := session.check(ctx, expected); err != nil {
		return nil, platform.InSite(siteName, err)
	}
	return session, nil
}

// Close logs out of all sessions.
func (s *Sessions) Close() {
	s.set.Close()
}

// refusal returns what is remembered of refused logins for the key, and forgets what is of no use any more.
func (s *Sessions) refusal(key string) *refusal {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for k, r := range s.refusals {
		if !s.set.Has(k) && r.last() == nil {
			delete(s.refusals, k)
		}
	}
	if s.refusals[key] == nil {
		s.refusals[key] = &refusal{}
	}
	return s.refusals[key]
}
