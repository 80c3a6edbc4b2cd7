// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package playedstore is an object store in memory for unit tests of what uses stores.
package playedstore

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Store is a store, and the opener of itself.
type Store struct {
	// Buckets are the buckets by their names.
	Buckets map[string]*Bucket
	// Access is that of the last time that it was opened.
	Access backup.Access
	// Opened and Calls are how often it was opened, and asked for something else.
	Opened, Calls int
	// Warnings are those of EnsureBucket.
	Warnings []string
	// OpenErr and Err are the errors of Open, and of all that changes something. It is changed nevertheless if Partial is set.
	OpenErr, Err error
	Partial      bool

	lock sync.Mutex
}

// Bucket is a bucket.
type Bucket struct {
	// Owner is the mark.
	Owner string
	// Objects are the objects by their keys.
	Objects map[string]Object
}

// Object is an object.
type Object struct {
	Size        int64
	Written     time.Time
	LockedUntil time.Time
}

// New returns an empty store.
func New() *Store {
	return &Store{Buckets: map[string]*Bucket{}}
}

// Open implements backup.Opener.
func (s *Store) Open(ctx context.Context, access backup.Access) (backup.Store, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.Opened++
	s.Access = access
	if _, ok := ctx.Deadline(); !ok {
		return nil, platform.NewError(platform.ClassConfiguration, "there is no deadline")
	}
	return s, s.OpenErr
}

// SecretData implements backup.Opener.
func (s *Store) SecretData(access backup.Access) map[string][]byte {
	return maps.Clone(access.Credentials)
}

// EnsureBucket implements backup.Store.
func (s *Store) EnsureBucket(_ context.Context, bucket, owner string) ([]string, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.Calls++
	b := s.Buckets[bucket]
	switch {
	case s.Err != nil && !s.Partial:
		return nil, s.Err
	case b == nil:
		s.Buckets[bucket] = &Bucket{Owner: owner, Objects: map[string]Object{}}
	case b.Owner != owner:
		return nil, platform.NewError(platform.ClassConfiguration, "bucket %q belongs to %q", bucket, b.Owner)
	}
	return s.Warnings, s.Err
}

// DeleteBucket implements backup.Store.
func (s *Store) DeleteBucket(_ context.Context, bucket, owner string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.Calls++
	b := s.Buckets[bucket]
	if b == nil || b.Owner != owner {
		return nil
	}
	if err := s.delete(b, ""); err != nil {
		return err
	}
	delete(s.Buckets, bucket)
	return nil
}

// DeletePrefix implements backup.Store.
func (s *Store) DeletePrefix(_ context.Context, bucket, prefix string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.Calls++
	b := s.Buckets[bucket]
	if b == nil {
		return nil
	}
	return s.delete(b, prefix)
}

// delete deletes the objects below the prefix that are not locked. If Partial is set and there is an error, it deletes one of them.
func (s *Store) delete(b *Bucket, prefix string) error {
	if s.Err != nil && !s.Partial {
		return s.Err
	}
	locked := &backup.LockedError{}
	for key, object := range b.Objects {
		switch {
		case !strings.HasPrefix(key, prefix):
		case time.Now().Before(object.LockedUntil):
			locked.Versions++
			if object.LockedUntil.After(locked.Until) {
				locked.Until = object.LockedUntil
			}
		default:
			delete(b.Objects, key)
			if s.Err != nil {
				return s.Err
			}
		}
	}
	if locked.Versions > 0 {
		return locked
	}
	return s.Err
}

// Usage implements backup.Store.
func (s *Store) Usage(_ context.Context, bucket, prefix string) (backup.Usage, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.Calls++
	usage := backup.Usage{Complete: true}
	b := s.Buckets[bucket]
	if b == nil {
		return usage, nil
	}
	for key, object := range b.Objects {
		if strings.HasPrefix(key, prefix) {
			usage.Objects++
			usage.Bytes += object.Size
			if object.Written.After(usage.LastModified) {
				usage.LastModified = object.Written
			}
		}
	}
	return usage, nil
}
