// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// syncTimeout is how long to wait for the initial sync.
	syncTimeout = time.Second
	// logInterval is how often the failure of a watch is logged. It is retried more often.
	logInterval = time.Minute
)

type cacheKey struct{ key any }

// running is a cache that is started on its first use.
type running struct {
	once  sync.Once
	cache cache.Cache
	err   error
}

// Reader returns a reader of objects of the kinds: watches if they have synced, or else a client, whose requests return what is wrong with
// the API. The watches have the options of the first call with the key, and last as long as the session. Reader waits briefly for their
// sync.
func (s *Session) Reader(ctx context.Context, key any, options cache.Options, kinds ...client.Object) client.Reader {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	watches, err := s.cache(key, options)
	if err != nil {
		return s.client
	}
	for _, kind := range kinds {
		if _, err := watches.GetInformer(ctx, kind); err != nil {
			return s.client
		}
	}
	if !watches.WaitForCacheSync(ctx) {
		return s.client
	}
	return watches
}

// IsLive reports whether each read is a request, so that the result is not stale.
func IsLive(reader client.Reader) bool {
	_, behind := reader.(cache.Cache)
	return !behind
}

func (s *Session) cache(key any, options cache.Options) (cache.Cache, error) {
	r := s.Value(cacheKey{key}, func() any { return &running{} }).(*running)
	r.once.Do(func() {
		if r.cache, r.err = s.newCache(options); r.err == nil {
			go func() {
				if err := r.cache.Start(s.ctx); err != nil {
					klog.ErrorS(err, "Cache of the inventory does not run", "site", s.Site)
				}
			}()
		}
	})
	return r.cache, r.err
}

// newCache returns a cache that does not run yet. Watches that break are begun again after a while.
func (s *Session) newCache(options cache.Options) (cache.Cache, error) {
	options.HTTPClient = s.http
	options.Scheme = s.scheme
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

// Poll calls look at once and then after each interval until it reports true or the time is over, and returns what it reported last.
// A request in flight is not canceled when the time is over. Errors are classified.
func Poll(ctx context.Context, interval, duration time.Duration, look func() (bool, error)) (bool, error) {
	end, done := time.Now().Add(duration), false
	err := wait.PollUntilContextCancel(ctx, interval, true, func(context.Context) (bool, error) {
		var err error
		done, err = look()
		return done || time.Now().After(end), err
	})
	return done, Classify(err)
}
