// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"sync"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// shortestLook and longestLook limit how long it takes until tasks are looked at again.
	shortestLook = 200 * time.Millisecond
	longestLook  = 2 * time.Second
)

// tasks waits for all tasks of a session together: however many there are, one request looks at all of them.
type tasks struct {
	session *Session

	mutex   sync.Mutex
	waiting map[types.ManagedObjectReference]*waiter
}

type waiter struct {
	since time.Time
	done  chan struct{}
	// result and err are set before done is closed.
	result types.AnyType
	err    error
}

// Wait returns the result of a task when it has ended. Errors are classified.
func (s *Session) Wait(ctx context.Context, reference types.ManagedObjectReference) (types.AnyType, error) {
	t := s.Value(tasksKey{}, func() any {
		return &tasks{session: s, waiting: map[types.ManagedObjectReference]*waiter{}}
	}).(*tasks)
	w := t.add(reference)
	select {
	case <-w.done:
		return w.result, w.err
	case <-ctx.Done():
		t.remove(reference)
		return nil, Classify(ctx.Err())
	}
}

type tasksKey struct{}

// add begins to look at tasks with the first of them.
func (t *tasks) add(reference types.ManagedObjectReference) *waiter {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	w := &waiter{since: time.Now(), done: make(chan struct{})}
	t.waiting[reference] = w
	if len(t.waiting) == 1 {
		go t.look()
	}
	return w
}

func (t *tasks) remove(reference types.ManagedObjectReference) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.waiting, reference)
}

// look looks at the tasks until nobody waits any more.
func (t *tasks) look() {
	for {
		references, delay := t.next()
		if len(references) == 0 {
			return
		}
		timer := time.NewTimer(delay)
		<-timer.C

		if err := platform.Try(func() error { return t.lookOnce(references) }); err != nil {
			t.fail(err)
		}
	}
}

func (t *tasks) lookOnce(references []types.ManagedObjectReference) error {
	var found []mo.Task
	if err := property.DefaultCollector(t.session.vim).Retrieve(context.Background(), references, []string{"info"}, &found); err != nil {
		return Classify(err)
	}
	for i := range found {
		t.finish(&found[i].Info)
	}
	return nil
}

// next returns the tasks and for how long to wait before looking at them: the longer the youngest of them takes the longer.
func (t *tasks) next() ([]types.ManagedObjectReference, time.Duration) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var (
		references []types.ManagedObjectReference
		delay      = longestLook
	)
	for reference, w := range t.waiting {
		references = append(references, reference)
		delay = min(delay, time.Since(w.since)*2/5)
	}
	return references, max(delay, shortestLook)
}

// fail ends the wait for the task that does not exist, or for all if looking again does not help.
func (t *tasks) fail(err error) {
	var missing *types.ManagedObjectNotFound
	_, isMissing := fault.As(err, &missing)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for reference, w := range t.waiting {
		switch {
		case isMissing && missing.Obj == reference:
			t.end(reference, w, nil, platform.NewError(platform.ClassTransient, "the vCenter forgot the task %s", reference.Value))
		case !isMissing && platform.ClassOf(err) != platform.ClassTransient:
			t.end(reference, w, nil, err)
		}
	}
}

func (t *tasks) finish(info *types.TaskInfo) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	w, ok := t.waiting[info.Task]
	if !ok {
		return
	}
	switch info.State {
	case types.TaskInfoStateSuccess:
		t.end(info.Task, w, info.Result, nil)
	case types.TaskInfoStateError:
		t.end(info.Task, w, nil, taskError(info))
	}
}

func (t *tasks) end(reference types.ManagedObjectReference, w *waiter, result types.AnyType, err error) {
	delete(t.waiting, reference)
	w.result, w.err = result, err
	close(w.done)
}

// taskError is the error of a task that failed. An object that is not found is one that the task needed, and says nothing about
// what the caller wants to reach.
func taskError(info *types.TaskInfo) error {
	if info.Error == nil {
		return platform.NewError(platform.ClassTransient, "task %s failed without a reason", info.Task.Value)
	}
	err := Classify(task.Error{LocalizedMethodFault: info.Error, Description: info.Description})
	if IsNotFound(err) {
		return platform.NewError(platform.ClassTransient, "task %s: %w", info.Task.Value, err)
	}
	return err
}
