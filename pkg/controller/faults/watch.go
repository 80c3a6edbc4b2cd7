// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// watch is the watch of the faults on one site of a Worker. It begins again when it breaks, and when the site is reached in
// another way.
type watch struct {
	log    logr.Logger
	part   platform.Faults
	timing timing
	tell   func(siteName string, appeared, gone []platform.Fault)

	mutex sync.Mutex
	site  *site.Site
	// again ends the current attempt; nil before the first one.
	again context.CancelFunc
	state state
}

// state is what is known about a site.
type state struct {
	// faults are the last that the site told.
	faults []platform.Fault
	// watched is true while the site tells of changes.
	watched bool
	// since is when watched became what it is.
	since time.Time
	// err says why the site is not watched, nil if it has not answered yet.
	err error
}

// answered reports whether the site told its faults or could not be watched.
func (s state) answered() bool {
	return s.watched || s.err != nil
}

// run watches until ctx ends.
func (w *watch) run(ctx context.Context) {
	backoff := w.timing.backoff()
	for ctx.Err() == nil {
		attempt, end, s := w.begin(ctx)
		started := time.Now()
		err := platform.Try(func() error {
			return w.part.Watch(attempt, s, func(faults []platform.Fault) {
				if attempt.Err() == nil {
					w.changed(faults)
				}
			})
		})
		if attempt.Err() != nil || time.Since(started) > w.timing.maxDelay {
			backoff = w.timing.backoff()
		}
		if attempt.Err() == nil {
			w.broke(err)
			pause(attempt, max(backoff.Step(), retryAfter(err)))
		}
		end()
	}
}

// begin returns the context of a new attempt, which ends when the site is reached in another way, and the site.
func (w *watch) begin(ctx context.Context) (context.Context, context.CancelFunc, *site.Site) {
	attempt, end := context.WithCancel(ctx)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.again = end
	return attempt, end, w.site
}

// update begins again if the site is reached in another way.
func (w *watch) update(s *site.Site) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	same := equality.Semantic.DeepEqual(w.site.Profile, s.Profile) && equality.Semantic.DeepEqual(w.site.Credentials, s.Credentials)
	w.site = s
	if !same && w.again != nil {
		w.again()
	}
}

func (w *watch) changed(faults []platform.Fault) {
	w.mutex.Lock()
	name := w.site.Name
	appeared, gone := compare(w.state.faults, faults)
	w.state.faults = slices.Clone(faults)
	if !w.state.watched {
		w.log.Info("The site is watched for faults of its machines", "site", name)
		w.state.watched, w.state.since, w.state.err = true, time.Now(), nil
	}
	w.mutex.Unlock()
	w.tell(name, appeared, gone)
}

// broke keeps the faults: what is wrong with a machine does not end because nobody looks.
func (w *watch) broke(err error) {
	if err == nil {
		err = platform.NewError(platform.ClassTransient, "the watch ended")
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.state.answered() || w.state.watched || platform.ClassOf(w.state.err) != platform.ClassOf(err) {
		w.log.Error(err, "The site cannot be watched for faults of its machines", "site", w.site.Name, "class", platform.ClassOf(err))
	}
	if w.state.watched {
		w.state.watched, w.state.since = false, time.Now()
	}
	w.state.err = err
}

func (w *watch) now() state {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.state
}

// compare returns the faults that are new, with what is new about those of a machine, and the old ones of machines that have
// none any more.
func compare(before, after []platform.Fault) (appeared, gone []platform.Fault) {
	for _, fault := range after {
		if !slices.Contains(before, fault) {
			appeared = append(appeared, fault)
		}
	}
	for _, fault := range before {
		if !slices.ContainsFunc(after, func(f platform.Fault) bool { return f.Machine == fault.Machine && f.Host == fault.Host }) {
			gone = append(gone, fault)
		}
	}
	return appeared, gone
}

// timing says how long watches wait.
type timing struct {
	// minDelay and maxDelay limit the time until a watch that broke begins again.
	minDelay, maxDelay time.Duration
	// firstAnswer is how long an overview waits for sites that have not answered yet.
	firstAnswer time.Duration
	// grace is how long a site may not be watched before an overview says so.
	grace time.Duration
}

func defaultTiming() timing {
	return timing{minDelay: time.Second, maxDelay: time.Minute, firstAnswer: 10 * time.Second, grace: time.Minute}
}

// backoff differs between watches, so that they do not all come back to a site at the same time.
func (t timing) backoff() *wait.Backoff {
	return &wait.Backoff{Duration: t.minDelay, Factor: 2, Jitter: 0.5, Steps: 30, Cap: t.maxDelay}
}

func retryAfter(err error) time.Duration {
	var classified *platform.Error
	if errors.As(err, &classified) {
		return classified.RetryAfter
	}
	return 0
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
