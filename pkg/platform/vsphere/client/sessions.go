// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
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
	intervals Intervals
	logins    singleflight.Group

	mutex    sync.Mutex
	sessions map[string]*entry
	refusals map[string]*refusal
}

type entry struct {
	session  *Session
	lastUsed time.Time
	stop     context.CancelFunc
}

// Shared returns the sessions that all parts of the process use.
var Shared = sync.OnceValue(func() *Sessions {
	return NewSessions(Intervals{Idle: idleTimeout, KeepAlive: keepAliveInterval})
})

// NewSessions returns an empty set of sessions.
func NewSessions(intervals Intervals) *Sessions {
	return &Sessions{intervals: intervals, sessions: map[string]*entry{}, refusals: map[string]*refusal{}}
}

// Get returns the session of a site. The first call for given credentials logs in; calls that come meanwhile wait for it and
// share the result. Only that credentials were refused is remembered, for a minute.
func (s *Sessions) Get(ctx context.Context, siteName string, connection v1alpha1.VSphereConnection, credentials site.Credentials) (*Session, error) {
	key, err := sessionKey(siteName, connection, credentials)
	if err != nil {
		return nil, platform.InSite(siteName, err)
	}
	if session := s.find(key); session != nil {
		return session, nil
	}

	results := s.logins.DoChan(key, func() (any, error) {
		if session := s.find(key); session != nil {
			return session, nil
		}
		// A call that gives up does not end the login that others wait for; the request timeout does.
		session, err := newSession(context.WithoutCancel(ctx), siteName, connection, credentials, s.refusal(key))
		if err != nil {
			return nil, err
		}
		s.add(key, session)
		return session, nil
	})
	select {
	case result := <-results:
		if result.Err != nil {
			return nil, platform.InSite(siteName, result.Err)
		}
		return result.Val.(*Session), nil
	case <-ctx.Done():
		return nil, platform.InSite(siteName, Classify(ctx.Err()))
	}
}

// Close logs out of all sessions.
func (s *Sessions) Close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for key, e := range s.sessions {
		delete(s.sessions, key)
		e.stop()
		e.session.logout()
	}
}

func (s *Sessions) find(key string) *Session {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	e, ok := s.sessions[key]
	if !ok {
		return nil
	}
	e.lastUsed = time.Now()
	return e.session
}

// refusal returns what is remembered of refused logins for the key, and forgets what is of no use any more.
func (s *Sessions) refusal(key string) *refusal {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for k, r := range s.refusals {
		if _, ok := s.sessions[k]; !ok && r.last() == nil {
			delete(s.refusals, k)
		}
	}
	if s.refusals[key] == nil {
		s.refusals[key] = &refusal{}
	}
	return s.refusals[key]
}

func (s *Sessions) add(key string, session *Session) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	ctx, stop := context.WithCancel(context.Background())
	s.sessions[key] = &entry{session: session, lastUsed: time.Now(), stop: stop}
	go s.keep(ctx, key, session)
}

// keep keeps the session alive until nobody has used it for long, and logs out then.
func (s *Sessions) keep(ctx context.Context, key string, session *Session) {
	ticker := time.NewTicker(s.intervals.KeepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if s.drop(key) {
			session.logout()
			return
		}
		if err := session.keepAlive(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Session could not be kept alive, its next use logs in again", "site", session.Site)
		}
	}
}

// drop removes the session with the key if nobody has used it for long, and reports whether it did.
func (s *Sessions) drop(key string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	e, ok := s.sessions[key]
	if !ok || time.Since(e.lastUsed) <= s.intervals.Idle {
		return false
	}
	delete(s.sessions, key)
	return true
}

func sessionKey(siteName string, connection v1alpha1.VSphereConnection, credentials site.Credentials) (string, error) {
	data, err := json.Marshal([]any{siteName, connection, credentials})
	if err != nil {
		return "", fmt.Errorf("connection cannot be encoded: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
