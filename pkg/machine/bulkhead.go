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

// stalls keeps a site that does not answer from taking all workers of machine-controller-manager, which are those of the other
// sites, too. A site that answers may have as many calls as there are workers.
type stalls struct {
	mutex sync.Mutex
	sites map[string]*siteCalls
}

// siteCalls are the calls to a site that have not ended.
type siteCalls struct {
	name    string
	running int
	// begun is when the first of the calls began.
	begun time.Time
	// answered is when a call ended the last time with the site's answer.
	answered time.Time
	// silent is when the first of the calls began that have failed since then.
	silent time.Time
}

// lastAnswer returns when the site answered the last time. A call that needs many requests may take long, and its site answers for all
// that.
func (c *siteCalls) lastAnswer() time.Time {
	if last := platform.LastAnswer(c.name); last.After(c.answered) {
		return last
	}
	return c.answered
}

// left returns after how long the site has stalled if it does not answer.
func (c *siteCalls) left(limits Timeouts) time.Duration {
	since := c.begun
	if last := c.lastAnswer(); last.After(since) {
		since = last
	}
	return limits.Stalled - time.Since(since)
}

// end notes how a call ended that began at start.
func (c *siteCalls) end(start time.Time, err error) {
	switch {
	case err == nil, platform.ClassOf(err) != platform.ClassTransient, platform.IsProgress(err):
		c.answered = time.Now()
	case !c.silent.After(c.lastAnswer()):
		c.silent = start
	}
}

// silence returns for how long calls to the site have failed without any answer.
func (s *stalls) silence(site string) time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	calls := s.sites[site]
	if calls == nil {
		return 0
	}
	if !calls.silent.After(calls.lastAnswer()) {
		return 0
	}
	return time.Since(calls.silent)
}

// stalledCall is one call.
type stalledCall struct {
	stalls *stalls
	site   *siteCalls
	limits Timeouts
	cancel context.CancelCauseFunc
	start  time.Time
	timer  *time.Timer
	ended  bool
}

// begin notes a call to the site, unless too many calls wait for it already. The context ends when that is so later.
func (s *stalls) begin(ctx context.Context, site string, limits Timeouts) (context.Context, *stalledCall, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.sites == nil {
		s.sites = map[string]*siteCalls{}
	}
	calls := s.sites[site]
	if calls == nil {
		calls = &siteCalls{name: site}
		s.sites[site] = calls
	}
	now := time.Now()
	if calls.running == 0 {
		calls.begun = now
	}
	if calls.running >= limits.StalledCalls && calls.left(limits) <= 0 {
		return nil, nil, errStalled(calls, limits)
	}

	calls.running++
	ctx, cancel := context.WithCancelCause(ctx)
	c := &stalledCall{stalls: s, site: calls, limits: limits, cancel: cancel, start: now}
	c.timer = time.AfterFunc(limits.Stalled, c.shed)
	return ctx, c, nil
}

// shed gives the call up if the site has stalled and others wait for it, too.
func (c *stalledCall) shed() {
	c.stalls.mutex.Lock()
	defer c.stalls.mutex.Unlock()
	if c.ended {
		return
	}
	if left := c.site.left(c.limits); left > 0 {
		c.timer.Reset(left)
		return
	}
	if c.site.running <= c.limits.StalledCalls {
		c.timer.Reset(c.limits.Stalled)
		return
	}
	c.cancel(errStalled(c.site, c.limits))
	c.leave()
}

// end notes that the call ended with the error, and returns that error, or why the call was given up.
func (c *stalledCall) end(ctx context.Context, err error) error {
	c.stalls.mutex.Lock()
	defer c.stalls.mutex.Unlock()
	c.timer.Stop()
	c.site.end(c.start, err)
	if cause := context.Cause(ctx); c.ended && err != nil && cause != nil {
		return cause
	}
	if !c.ended {
		c.leave()
	}
	c.cancel(nil)
	return err
}

func (c *stalledCall) leave() {
	c.ended = true
	c.site.running--
}

func errStalled(calls *siteCalls, limits Timeouts) error {
	return platform.NewError(platform.ClassTransient, "the site has answered none of %d calls for %s", calls.running, limits.Stalled)
}
