// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/sessions"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	// idleTimeout is how long an unused session is kept.
	idleTimeout = time.Hour
	// keepAliveInterval is how often an unused session is kept alive. By default, a vCenter ends idle sessions after 30 minutes.
	keepAliveInterval = 10 * time.Minute
	// logoutTimeout limits a logout.
	logoutTimeout = 10 * time.Second
)

// Intervals configure when sessions are kept alive and ended.
type Intervals struct {
	// Idle is how long an unused session is kept.
	Idle time.Duration
	// KeepAlive is how often an unused session is kept alive.
	KeepAlive time.Duration
}

// Sessions are the sessions of a process, one for each site and credentials.
type Sessions struct {
	set *sessions.Set[v1alpha1.VSphereConnection, *Session]

	mutex    sync.Mutex
	refusals map[string]*refusal
}

// Shared returns the sessions that all parts of the process share.
var Shared = sync.OnceValue(func() *Sessions {
	return NewSessions(Intervals{Idle: idleTimeout, KeepAlive: keepAliveInterval})
})

// NewSessions returns an empty set of sessions.
func NewSessions(intervals Intervals) *Sessions {
	return newSessions(intervals, nil, nil)
}

// Wrap returns what sends the requests of a session instead of the round trippers, which send them to the vCenter.
type Wrap func(site string, vim soap.RoundTripper, rest http.RoundTripper) (soap.RoundTripper, http.RoundTripper)

// WrappedSessions returns an empty set of sessions whose requests to vCenters are sent by what wrap returns, and those to the APIs of
// address pools by what wrapIPAM returns.
func WrappedSessions(wrap Wrap, wrapIPAM transport.Wrap) *Sessions {
	return newSessions(Intervals{Idle: idleTimeout, KeepAlive: keepAliveInterval}, wrap, wrapIPAM)
}

func newSessions(intervals Intervals, wrap Wrap, wrapIPAM transport.Wrap) *Sessions {
	s := &Sessions{refusals: map[string]*refusal{}}
	s.set = sessions.New(sessions.Options[v1alpha1.VSphereConnection, *Session]{
		Open: func(ctx context.Context, key, siteName string, connection v1alpha1.VSphereConnection, credentials site.Credentials) (*Session,
			error) {
			return newSession(ctx, siteName, connection, credentials, s.refusal(key), wrap, wrapIPAM)
		},
		Close:     (*Session).logout,
		KeepAlive: func(ctx context.Context, session *Session) error { return session.keepAlive(ctx) },
		Idle:      intervals.Idle,
		Check:     intervals.KeepAlive,
	})
	return s
}

// Get returns the session of a site. The first call for given credentials logs in; concurrent calls share the result. Rejected credentials
// are not tried again for a minute. It is an error if the vCenter is not the one of the connection.
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

// refusal returns the refusal of the key, and drops those that are obsolete.
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

// refusedFor is how long rejected credentials are not tried again. The default policy of a vCenter locks an account for five minutes after
// five failed logins within three minutes.
const refusedFor = time.Minute

// refusal remembers the last rejected login.
type refusal struct {
	mutex sync.Mutex
	err   error
	at    time.Time
}

// last returns the error of a login that was rejected recently.
func (r *refusal) last() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.err != nil && time.Since(r.at) < refusedFor {
		return r.err
	}
	return nil
}

// remember stores err if the credentials were rejected, and returns it.
func (r *refusal) remember(err error) error {
	if err != nil && platform.ClassOf(err) == platform.ClassUnauthenticated {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.err, r.at = err, time.Now()
	}
	return err
}
