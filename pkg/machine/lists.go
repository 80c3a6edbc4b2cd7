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

// lists lists the machines of sites. machine-controller-manager lists those of all classes sequentially, so without limits each class of a
// site that hangs would delay the classes of all sites.
type lists struct {
	limits Timeouts

	mutex sync.Mutex
	// running are the sites with a list in progress, including those that no caller waits for.
	running map[string]bool
	last    map[listScope]lastList
}

// listScope is a part of a site whose machines are listed separately: if one cannot be read, the others can.
type listScope struct {
	site, part string
}

// lastList is the result of the last list of a scope.
type lastList struct {
	// slow is true if it succeeded, but took longer than ListWait.
	slow bool
	// err and failedAt are set if it failed.
	err      error
	failedAt time.Time
}

// get returns the machines of a scope. It waits for ListWait, or for List if the last list was slow. It returns an error at once while a
// list of the site is in progress, or if the last list of the scope has failed recently.
func (l *lists) get(ctx context.Context, scope listScope,
	list func(context.Context) ([]platform.Machine, error)) ([]platform.Machine, error) {
	wait, err := l.begin(scope)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.limits.List)
	answers := platform.Ask(func() ([]platform.Machine, error) {
		defer cancel()
		start := time.Now()
		machines, err := platform.Safely(func() ([]platform.Machine, error) { return list(ctx) })
		l.end(scope, lastList{slow: err == nil && time.Since(start) > l.limits.ListWait, err: err, failedAt: time.Now()})
		return machines, err
	})

	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.Value, a.Err
	case <-timer.C:
		return nil, platform.NewError(platform.ClassTransient, "site %q has not listed its machines within %s", scope.site, wait)
	}
}

// begin registers a list of the scope, and returns how long to wait for it.
func (l *lists) begin(scope listScope) (time.Duration, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	last := l.last[scope]
	switch {
	case l.running[scope.site]:
		return 0, platform.NewError(platform.ClassTransient, "a list of the machines of site %q is still in progress", scope.site)
	case last.err != nil && time.Since(last.failedAt) < l.limits.ListAgain:
		return 0, last.err
	}
	l.running[scope.site] = true
	if last.slow {
		return l.limits.List, nil
	}
	return l.limits.ListWait, nil
}

func (l *lists) end(scope listScope, result lastList) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.running[scope.site] = false
	l.last[scope] = result
}
