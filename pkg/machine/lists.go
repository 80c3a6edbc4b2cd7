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

// place is a part of a site whose machines are listed by themselves: one that cannot be read says nothing about the others.
type place struct {
	site, part string
}

// siteList is what is remembered of a site.
type siteList struct {
	// running is true while the site is asked, also when nobody waits any more.
	running bool
	// parts are the places of the site.
	parts map[string]placeList
}

// placeList is what is remembered of the last list of a place.
type placeList struct {
	// slow is true if it took longer than others are waited for.
	slow bool
	// failedAt and err are about a list that failed.
	failedAt time.Time
	err      error
}

// get returns the machines of a place. It waits for a short time only, unless the site is known to answer later, and not at all
// while the site is still asked, or if the place could not be listed within the last while.
func (l *lists) get(ctx context.Context, where place, t Timeouts,
	list func(context.Context) ([]platform.Machine, error)) ([]platform.Machine, error) {
	wait, err := l.begin(where, t)
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
		machines, err := platform.Safely(func() ([]platform.Machine, error) { return list(ctx) })
		l.end(where, time.Since(start) > t.ListWait, err)
		answers <- answer{machines, err}
	}()

	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.machines, a.err
	case <-timer.C:
		return nil, platform.NewError(platform.ClassTransient, "site %q has not listed its machines within %s", where.site, wait)
	}
}

// begin notes that the site is asked from now on, and returns for how long it is waited for.
func (l *lists) begin(where place, t Timeouts) (time.Duration, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.sites == nil {
		l.sites = map[string]*siteList{}
	}
	s := l.sites[where.site]
	if s == nil {
		s = &siteList{parts: map[string]placeList{}}
		l.sites[where.site] = s
	}
	last := s.parts[where.part]
	switch {
	case s.running:
		return 0, platform.NewError(platform.ClassTransient, "site %q is still asked for its machines", where.site)
	case last.err != nil && time.Since(last.failedAt) < t.ListAgain:
		return 0, last.err
	}
	s.running = true
	if last.slow {
		return t.List, nil
	}
	return t.ListWait, nil
}

// end notes how a list ended.
func (l *lists) end(where place, late bool, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	s := l.sites[where.site]
	s.running = false
	s.parts[where.part] = placeList{slow: late && err == nil, failedAt: time.Now(), err: err}
}
