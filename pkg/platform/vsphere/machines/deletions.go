// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	// deleteWait is how long a call waits for a deletion, with the wait for a creation. It goes on when the call that began it returns.
	deleteWait = 20 * time.Second
	// deletionTimeout limits a deletion as a whole. The next call begins another one.
	deletionTimeout = 10 * time.Minute
)

// deletions are those of a process, one at a time for each virtual machine.
type deletions struct {
	mutex   sync.Mutex
	running map[deletionKey]*deletion
}

type deletionKey struct {
	owner owner.Owner
	uuid  string
}

// deletion is the deletion of one virtual machine.
type deletion struct {
	// done is closed when it has ended. err is set before.
	done chan struct{}
	err  error
}

func newDeletions() *deletions {
	return &deletions{running: map[deletionKey]*deletion{}}
}

// find returns the deletion with the key that goes on, or whose end nobody was told yet, nil if there is none.
func (d *deletions) find(key deletionKey) *deletion {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.running[key]
}

// begin returns the deletion with the key, or starts one. It is forgotten at its end if nobody asks for that.
func (d *deletions) begin(ctx context.Context, key deletionKey, forget bool, remove func(context.Context) error) *deletion {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if existing := d.running[key]; existing != nil {
		return existing
	}
	started := &deletion{done: make(chan struct{})}
	d.running[key] = started
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deletionTimeout)
	go func() {
		defer cancel()
		defer close(started.done)
		defer platform.Recover(&started.err)
		if forget {
			defer d.forget(key, started)
		}
		started.err = remove(ctx)
	}()
	return started
}

func (d *deletions) forget(key deletionKey, ended *deletion) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.running[key] == ended {
		delete(d.running, key)
	}
}

// wait waits for the end of the deletion, and reports whether it came in time.
func (d *deletion) wait(ctx context.Context, limit time.Duration) (ended bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-d.done:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}
