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

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// idleTimeout is how long a session is kept that nobody uses.
const idleTimeout = time.Hour

// Sessions are the sessions of a process, one for each site and credentials.
type Sessions struct {
	now    func() time.Time
	retry  retry
	logins singleflight.Group
	// gates are those of sessions that could not log in: they ask no service that asked for time when they try again.
	gates sync.Map

	mutex    sync.Mutex
	sessions map[string]*entry
}

type entry struct {
	session  *Session
	lastUsed time.Time
}

// Shared returns the sessions that all parts of the process use.
var Shared = sync.OnceValue(NewSessions)

// NewSessions returns an empty set of sessions.
func NewSessions() *Sessions {
	return &Sessions{now: time.Now, retry: retry{wait: wait, now: time.Now}, sessions: map[string]*entry{}}
}

// Get returns the session of a site. The first call for given credentials logs in; calls that come meanwhile wait for it
// and share the result. A failed login is not remembered.
func (s *Sessions) Get(ctx context.Context, siteName string, connection v1alpha1.OpenStackConnection, credentials site.Credentials) (*Session, error) {
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
		held, _ := s.gates.LoadOrStore(key, newGate(s.retry))
		// A call that gives up does not end the login that others wait for; the request timeout does.
		session, err := newSession(context.WithoutCancel(ctx), siteName, connection, credentials, s.retry, held.(*gate))
		if err != nil {
			return nil, err
		}
		s.gates.Delete(key)
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

// find returns the session with the key, nil if there is none, and lets go of those that nobody used for long.
func (s *Sessions) find(key string) *Session {
	s.mutex.Lock()
	defer s.mutex.Unlock()

	now := s.now()
	for k, e := range s.sessions {
		if k != key && now.Sub(e.lastUsed) > idleTimeout {
			delete(s.sessions, k)
			e.session.provider.HTTPClient.CloseIdleConnections()
		}
	}

	e, ok := s.sessions[key]
	if !ok {
		return nil
	}
	e.lastUsed = now
	return e.session
}

func (s *Sessions) add(key string, session *Session) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sessions[key] = &entry{session: session, lastUsed: s.now()}
}

func sessionKey(siteName string, connection v1alpha1.OpenStackConnection, credentials site.Credentials) (string, error) {
	data, err := json.Marshal([]any{siteName, connection, credentials})
	if err != nil {
		return "", fmt.Errorf("connection cannot be encoded: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
