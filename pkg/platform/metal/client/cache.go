// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// logInterval is how often it is logged that a watch does not work. It is tried again more often.
const logInterval = time.Minute

type cacheKey struct{ key any }

// running is a cache that runs since it was asked for.
type running struct {
	once  sync.Once
	cache cache.Cache
	err   error
}

// Cache returns the session's cache with the key, which has the options that were given first. It runs as long as the session, and
// watches what it was asked for at least once. Asking for the first object of a kind waits until all of them are known or the context
// ends.
func (s *Session) Cache(key any, options cache.Options) (cache.Cache, error) {
	r := s.Value(cacheKey{key}, func() any { return &running{} }).(*running)
	r.once.Do(func() {
		if r.cache, r.err = s.NewCache(options); r.err == nil {
			go func() {
				if err := r.cache.Start(s.ctx); err != nil {
					klog.ErrorS(err, "Cache of the inventory does not run", "site", s.Site)
				}
			}()
		}
	})
	return r.cache, r.err
}

// NewCache returns a cache that does not run yet, and does not end with the session. Watches that break are begun again after a while.
func (s *Session) NewCache(options cache.Options) (cache.Cache, error) {
	options.HTTPClient = s.http
	options.Scheme = apiScheme
	options.Mapper = s.client.RESTMapper()
	options.DefaultWatchErrorHandler = s.watchErrorHandler()
	c, err := cache.New(s.config, options)
	return c, Classify(err)
}

// watchErrorHandler returns what logs that watches do not work: calls fail for the same reason, and return it.
func (s *Session) watchErrorHandler() toolscache.WatchErrorHandlerWithContext {
	sometimes := &rate.Sometimes{First: 1, Interval: logInterval}
	return func(_ context.Context, _ *toolscache.Reflector, err error) {
		if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return
		}
		sometimes.Do(func() { klog.ErrorS(Classify(err), "Watch of the inventory does not work", "site", s.Site) })
	}
}
