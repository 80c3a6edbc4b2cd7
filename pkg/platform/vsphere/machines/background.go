// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	// createWait is how long Create waits for a creation before it returns, so that a slow site does not occupy the workers that other
	// sites need. It returns the error of a creation that fails meanwhile.
	createWait = 10 * time.Second
	// initializeWait is how long Initialize waits for a creation.
	initializeWait = 20 * time.Second
	// retryInterval is the time between tries of a creation whose machine was reported as existing.
	retryInterval = 10 * time.Second
	// creationTimeout limits a creation as a whole.
	creationTimeout = 30 * time.Minute
	// deleteWait is how long Delete waits for a deletion, including the wait for a creation.
	deleteWait = 20 * time.Second
	// releaseTimeout limits the release of an address, which the driver tries again.
	releaseTimeout = 10 * time.Second
	// deletionTimeout limits a deletion as a whole. The next call starts another one.
	deletionTimeout = 10 * time.Minute
)

// operationKey identifies an operation by the name or UUID of its machine. It does not change with the credentials or the path of the
// folder.
type operationKey struct {
	owner owner.Owner
	id    string
}

// operations contains the creations or deletions of a process, one for each virtual machine. They continue after the call that started
// them, and outlive its session: a machine may be deleted with other credentials than those that it is still being created with.
type operations[T comparable] struct {
	mutex sync.Mutex
	byKey map[operationKey]T
}

func newOperations[T comparable]() *operations[T] {
	return &operations[T]{byKey: map[operationKey]T{}}
}

// find returns the operation with the key that is running or whose result is pending, or the zero value.
func (o *operations[T]) find(key operationKey) T {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.byKey[key]
}

// begin returns the operation with the key, or starts one if there is none or it is obsolete.
func (o *operations[T]) begin(key operationKey, obsolete func(T) bool, start func() T) T {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if existing, ok := o.byKey[key]; ok && !obsolete(existing) {
		return existing
	}
	o.byKey[key] = start()
	return o.byKey[key]
}

func (o *operations[T]) forget(key operationKey, ended T) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.byKey[key] == ended {
		delete(o.byKey, key)
	}
}

// deletion is the deletion of one virtual machine.
type deletion struct {
	// done is closed when the deletion has ended. err is set before.
	done chan struct{}
	err  error
}

func startDeletion(ctx context.Context, remove func(context.Context) error, ended func(*deletion)) *deletion {
	d := &deletion{done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deletionTimeout)
	go func() {
		defer cancel()
		defer close(d.done)
		defer platform.Recover(&d.err)
		defer ended(d)
		d.err = remove(ctx)
	}()
	return d
}

// creation is the creation of one virtual machine.
type creation struct {
	// session is the session that the virtual machine is created with.
	session *client.Session
	// accepted is closed when the vCenter has accepted to create the virtual machine.
	accepted chan struct{}
	accept   func()
	// mutex guards committed and finalized, so that a machine is not reported as existing after the creation has failed for good.
	mutex sync.Mutex
	// committed is set when the machine was reported as existing, so that it will not be created again: transient errors are retried here.
	committed bool
	// finalized is set when the operation is not retried.
	finalized bool
	// canceled is closed when the machine is to be deleted, so that there is no retry.
	canceled chan struct{}
	cancel   func()
	// detached is done when the call that started the creation has returned before its end.
	detached sync.Once
	// done is closed when the creation has ended. machine and err are set before.
	done    chan struct{}
	machine platform.Machine
	err     error
}

// create creates a virtual machine, and calls accept when the vCenter has accepted to do so.
type create func(ctx context.Context, accept func()) (platform.Machine, error)

func startCreation(ctx context.Context, session *client.Session, create create, succeeded func(*creation)) *creation {
	c := &creation{session: session, accepted: make(chan struct{}), canceled: make(chan struct{}), done: make(chan struct{})}
	c.accept = sync.OnceFunc(func() { close(c.accepted) })
	c.cancel = sync.OnceFunc(func() { close(c.canceled) })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), creationTimeout)
	go func() {
		defer cancel()
		c.run(ctx, create)
		close(c.done)
		if c.err == nil {
			succeeded(c)
		}
	}()
	return c
}

func (c *creation) run(ctx context.Context, create create) {
	for {
		c.machine, c.err = platform.Safely(func() (platform.Machine, error) { return create(ctx, c.accept) })
		if !c.shouldRetry() {
			return
		}
		select {
		case <-time.After(retryInterval):
		case <-c.canceled:
			return
		case <-ctx.Done():
			return
		}
	}
}

// shouldRetry decides whether a failed creation is retried.
func (c *creation) shouldRetry() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.finalized = c.err == nil || !c.committed || platform.ClassOf(c.err) != platform.ClassTransient
	return !c.finalized
}

// commit makes the creation retry transient errors, so that the machine may be reported as existing. If the creation is finalized already,
// commit waits for its end, which is near, and returns false.
func (c *creation) commit() bool {
	c.mutex.Lock()
	finalized := c.finalized
	c.committed = c.committed || !finalized
	c.mutex.Unlock()
	if finalized {
		<-c.done
	}
	return !finalized
}

// detach lets the creation continue on its own. Its error is logged.
func (c *creation) detach(site, name string) {
	c.detached.Do(func() {
		go func() {
			<-c.done
			if c.err != nil {
				klog.ErrorS(c.err, "Creation of virtual machine failed", "site", site, "machine", name)
			}
		}()
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// waitFor waits until done is closed, and reports whether that happened in time.
func waitFor(ctx context.Context, done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	case <-time.After(limit):
	}
	return isClosed(done)
}
