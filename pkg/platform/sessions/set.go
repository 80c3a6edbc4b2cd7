// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package sessions holds the sessions of a process, one per site and credentials.
package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Options configure how sessions are opened, kept and closed.
type Options[C, S any] struct {
	// Open opens a session. The context is not canceled with the call that requested the session. The key identifies the session.
	Open func(ctx context.Context, key, siteName string, connection C, credentials site.Credentials) (S, error)
	// Close ends a session.
	Close func(S)
	// KeepAlive uses a session so that the site does not end it. Optional.
	KeepAlive func(context.Context, S) error
	// Idle is how long an unused session is kept.
	Idle time.Duration
	// Check is how often sessions are checked and kept alive.
	Check time.Duration
}

// Set is a set of sessions. It is safe for concurrent use.
type Set[C, S any] struct {
	options Options[C, S]
	opening platform.Shared[S]

	mutex    sync.Mutex
	sessions map[string]*entry[S]
}

type entry[S any] struct {
	session  S
	lastUsed time.Time
	stop     context.CancelFunc
}

// New returns an empty set.
func New[C, S any](options Options[C, S]) *Set[C, S] {
	return &Set[C, S]{options: options, sessions: map[string]*entry[S]{}}
}

// Get returns the session of a site. The first call for given credentials opens it; concurrent calls wait and share the result. Failures
// are not cached.
func (s *Set[C, S]) Get(ctx context.Context, siteName string, connection C, credentials site.Credentials) (S, error) {
	var none S
	if err := credentials.Check(); err != nil {
		return none, platform.InSite(siteName, &platform.Error{Class: platform.ClassConfiguration, Err: err})
	}
	key, err := keyOf(siteName, connection, credentials)
	if err != nil {
		return none, platform.InSite(siteName, err)
	}
	if session, ok := s.find(key); ok {
		return session, nil
	}

	session, err := s.opening.Do(ctx, key, func(ctx context.Context) (S, error) {
		if session, ok := s.find(key); ok {
			return session, nil
		}
		session, err := s.options.Open(ctx, key, siteName, connection, credentials)
		if err != nil {
			return none, err
		}
		s.add(key, siteName, session)
		return session, nil
	})
	return session, platform.InSite(siteName, err)
}

// Has reports whether there is a session with the key.
func (s *Set[C, S]) Has(key string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, ok := s.sessions[key]
	return ok
}

// Close closes all sessions.
func (s *Set[C, S]) Close() {
	s.mutex.Lock()
	closed := s.sessions
	s.sessions = map[string]*entry[S]{}
	s.mutex.Unlock()
	for _, e := range closed {
		e.stop()
		s.options.Close(e.session)
	}
}

func (s *Set[C, S]) find(key string) (S, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	e, ok := s.sessions[key]
	if !ok {
		var none S
		return none, false
	}
	e.lastUsed = time.Now()
	return e.session, true
}

func (s *Set[C, S]) add(key, siteName string, session S) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	ctx, stop := context.WithCancel(context.Background()) // #nosec G118 -- the entry keeps it
	s.sessions[key] = &entry[S]{session: session, lastUsed: time.Now(), stop: stop}
	go s.keep(ctx, key, siteName, session)
}

// keep keeps the session alive until it has been idle for too long, then closes it.
func (s *Set[C, S]) keep(ctx context.Context, key, siteName string, session S) {
	ticker := time.NewTicker(s.options.Check)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		dropped, err := platform.Safely(func() (bool, error) {
			if s.drop(key) {
				s.options.Close(session)
				return true, nil
			}
			if s.options.KeepAlive == nil {
				return false, nil
			}
			return false, s.options.KeepAlive(ctx, session)
		})
		if dropped {
			return
		}
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to keep session alive, its next use reopens it", "site", siteName)
		}
	}
}

// drop removes the session if it has been idle for too long, and reports whether it did.
func (s *Set[C, S]) drop(key string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	e, ok := s.sessions[key]
	if !ok || time.Since(e.lastUsed) <= s.options.Idle {
		return false
	}
	e.stop()
	delete(s.sessions, key)
	return true
}

func keyOf(siteName string, connection any, credentials site.Credentials) (string, error) {
	data, err := json.Marshal([]any{siteName, connection, credentials})
	if err != nil {
		return "", fmt.Errorf("encode connection: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
