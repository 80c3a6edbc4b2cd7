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

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// idleTimeout is how long a session is kept that nobody uses.
const idleTimeout = time.Hour

// Sessions are the sessions of a process, one for each site and credentials.
type Sessions struct {
	now func() time.Time

	mutex    sync.Mutex
	sessions map[string]*entry
}

type entry struct {
	login    chan struct{}
	session  *Session
	lastUsed time.Time
}

// Shared returns the sessions that all parts of the process use.
var Shared = sync.OnceValue(NewSessions)

// NewSessions returns an empty set of sessions.
func NewSessions() *Sessions {
	return &Sessions{now: time.Now, sessions: map[string]*entry{}}
}

// Get returns the session of a site. The first call for given credentials logs in; calls that come meanwhile wait for it
// and share the result. A failed login is not remembered.
func (s *Sessions) Get(ctx context.Context, siteName string, connection v1alpha1.OpenStackConnection, credentials site.Credentials) (*Session, error) {
	key, err := sessionKey(siteName, connection, credentials)
	if err != nil {
		return nil, platform.InSite(siteName, err)
	}

	e := s.entry(key)
	select {
	case e.login <- struct{}{}:
		defer func() { <-e.login }()
	case <-ctx.Done():
		return nil, platform.InSite(siteName, Classify(ctx.Err()))
	}

	if e.session != nil {
		return e.session, nil
	}
	session, err := newSession(ctx, siteName, connection, credentials)
	if err != nil {
		return nil, platform.InSite(siteName, err)
	}
	e.session = session
	return session, nil
}

func (s *Sessions) entry(key string) *entry {
	s.mutex.Lock()
	defer s.mutex.Unlock()

	now := s.now()
	for k, e := range s.sessions {
		if k != key && now.Sub(e.lastUsed) > idleTimeout {
			delete(s.sessions, k)
			go e.close()
		}
	}

	e, ok := s.sessions[key]
	if !ok {
		e = &entry{login: make(chan struct{}, 1)}
		s.sessions[key] = e
	}
	e.lastUsed = now
	return e
}

func (e *entry) close() {
	e.login <- struct{}{}
	defer func() { <-e.login }()
	if e.session != nil {
		e.session.provider.HTTPClient.CloseIdleConnections()
	}
}

func sessionKey(siteName string, connection v1alpha1.OpenStackConnection, credentials site.Credentials) (string, error) {
	data, err := json.Marshal([]any{siteName, connection, credentials})
	if err != nil {
		return "", fmt.Errorf("connection cannot be encoded: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
