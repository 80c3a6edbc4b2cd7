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

// lists asks sites for their machines. machine-controller-manager lists the machines of all classes one after the other: each class
// of a site that hangs would be waited for, and the classes of other sites with it.
type lists struct {
	mutex sync.Mutex
	sites map[string]*siteList
}

// siteList is what is remembered of a site.
type siteList struct {
	// running is true while the site is asked, also when nobody waits any more.
	running bool
	// slow is true if the last list took longer than others are waited for.
	slow bool
	// failedAt and err are about the last list, if it failed.
	failedAt time.Time
	err      error
}

// get returns the machines of a site. It waits for a short time only, unless the site is known to answer later, and not at all
// while the site is still asked, or if it could not be listed within the last while.
func (l *lists) get(ctx context.Context, site string, t Timeouts, list func(context.Context) ([]platform.Machine, error)) ([]platform.Machine, error) {
	wait, err := l.begin(site, t)
	if err != nil {
		return nil, err
	}
	type answer struct {
		machines []platform.Machine
		err      error
	}
	answers := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.List)
	go func() {
		defer cancel()
		start := time.Now()
		machines, err := list(ctx)
		l.end(site, time.Since(start) > t.ListWait, err)
		answers <- answer{machines, err}
	}()

	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.machines, a.err
	case <-timer.C:
		return nil, platform.NewError(platform.ClassTransient, "site %q has not listed its machines within %s", site, wait)
	}
}

// begin notes that the site is asked from now on, and returns for how long it is waited for.
func (l *lists) begin(site string, t Timeouts) (time.Duration, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.sites == nil {
		l.sites = map[string]*siteList{}
	}
	s := l.sites[site]
	if s == nil {
		s = &siteList{}
		l.sites[site] = s
	}
	switch {
	case s.running:
		return 0, platform.NewError(platform.ClassTransient, "site %q is still asked for its machines", site)
	case s.err != nil && time.Since(s.failedAt) < t.ListAgain:
		return 0, s.err
	}
	s.running = true
	if s.slow {
		return t.List, nil
	}
	return t.ListWait, nil
}

// end notes how a list ended.
func (l *lists) end(site string, late bool, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	*l.sites[site] = siteList{slow: late && err == nil, failedAt: time.Now(), err: err}
}
