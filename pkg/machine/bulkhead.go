// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// bulkhead prevents a site that does not respond from occupying all workers of machine-controller-manager, which serve the other sites,
// too. A site that responds may have any number of calls.
type bulkhead struct {
	limits Timeouts

	mutex sync.Mutex
	sites map[string]*siteCalls
}

// siteCalls are the running calls to a site, and the results of the former ones.
type siteCalls struct {
	name    string
	running int
	// busySince is the start of the first of the running calls.
	busySince time.Time
	// answeredAt is the end of the last call that showed that the site responds.
	answeredAt time.Time
	// failingSince is when calls began to fail: the start of the first of them, or its end if the site responded meanwhile. It is zero if the
	// last call with a response succeeded. failedAt is when the last call failed.
	failingSince, failedAt time.Time
}

// lastAnswer includes answers to requests of running calls, which may consist of many requests.
func (s *siteCalls) lastAnswer() time.Time {
	if last := platform.LastAnswer(s.name); last.After(s.answeredAt) {
		return last
	}
	return s.answeredAt
}

// stalledIn returns how long the site may still not respond until it has stalled.
func (s *siteCalls) stalledIn(limit time.Duration) time.Duration {
	since := s.busySince
	if last := s.lastAnswer(); last.After(since) {
		since = last
	}
	return limit - time.Since(since)
}

// failuresForgotten is the time without a failure after which former failures do not count. machine-controller-manager tries a creation
// again after at most 10 minutes.
const failuresForgotten = 15 * time.Minute

// failingFor returns how long no call to the site has succeeded although there were calls. Responses alone do not count: those of an API
// behind a proxy or in maintenance are of no use. Neither do successes without a response, which came from a cache.
func (b *bulkhead) failingFor(site string) time.Duration {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if s := b.sites[site]; s != nil && !s.failingSince.IsZero() {
		return time.Since(s.failingSince)
	}
	return 0
}

// guardedCall is a running call.
type guardedCall struct {
	bulkhead *bulkhead
	site     *siteCalls
	start    time.Time
	timer    *time.Timer
	cancel   context.CancelFunc
	// released is true when the call no longer counts as running, and canceled is the reason if it was canceled.
	released bool
	canceled error
}

// begin registers a call to the site, or returns an error if the site has stalled and too many calls wait for it already. The context is
// canceled if that happens later.
func (b *bulkhead) begin(ctx context.Context, site string) (context.Context, *guardedCall, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	s := b.sites[site]
	if s == nil {
		s = &siteCalls{name: site}
		b.sites[site] = s
	}
	now := time.Now()
	if s.running == 0 {
		s.busySince = now
	}
	if s.running >= b.limits.StalledCalls && s.stalledIn(b.limits.Stalled) <= 0 {
		return nil, nil, b.errStalled(s)
	}

	s.running++
	ctx, cancel := context.WithCancel(ctx)
	c := &guardedCall{bulkhead: b, site: s, start: now, cancel: cancel}
	c.timer = time.AfterFunc(b.limits.Stalled, c.cancelIfSaturated)
	return ctx, c, nil
}

// cancelIfSaturated cancels the call if the site has stalled and too many calls wait for it. Otherwise it checks again later.
func (c *guardedCall) cancelIfSaturated() {
	b := c.bulkhead
	b.mutex.Lock()
	defer b.mutex.Unlock()
	left := c.site.stalledIn(b.limits.Stalled)
	switch {
	case c.released:
	case left > 0:
		c.timer.Reset(left)
	case c.site.running <= b.limits.StalledCalls:
		c.timer.Reset(b.limits.Stalled)
	default:
		c.canceled = b.errStalled(c.site)
		c.release()
	}
}

// end records the result of the call. It returns err, or the reason if the call was canceled.
func (c *guardedCall) end(err error) error {
	c.bulkhead.mutex.Lock()
	defer c.bulkhead.mutex.Unlock()
	c.timer.Stop()
	responded, now := platform.LastAnswer(c.site.name).After(c.start), time.Now()
	switch {
	case err == nil || platform.ClassOf(err) != platform.ClassTransient || platform.IsProgress(err):
		c.site.answeredAt = now
		if responded {
			c.site.failingSince = time.Time{}
		}
	default:
		if c.site.failingSince.IsZero() || now.Sub(c.site.failedAt) > failuresForgotten {
			c.site.failingSince = c.start
			if responded {
				c.site.failingSince = now
			}
		}
		c.site.failedAt = now
	}
	c.release()
	if err != nil && c.canceled != nil {
		return c.canceled
	}
	return err
}

func (c *guardedCall) release() {
	if !c.released {
		c.released = true
		c.site.running--
	}
	c.cancel()
}

func (b *bulkhead) errStalled(s *siteCalls) error {
	return platform.NewError(platform.ClassTransient, "the site has not responded to %d calls for %s", s.running, b.limits.Stalled)
}
