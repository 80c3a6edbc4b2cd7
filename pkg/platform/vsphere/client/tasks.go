// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// minPoll and maxPoll limit the time between two polls for the state of tasks.
	minPoll = 200 * time.Millisecond
	maxPoll = 2 * time.Second
)

// tasks waits for all tasks of a session: one request polls all of them.
type tasks struct {
	session *Session

	mutex   sync.Mutex
	waiting map[types.ManagedObjectReference]*waiter
	// polling is set while poll runs, so that it runs once.
	polling bool
}

type waiter struct {
	since time.Time
	done  chan struct{}
	// result and err are set before done is closed.
	result types.AnyType
	err    error
}

// Run starts a task, waits until it has ended and returns its result. Errors are classified.
func (s *Session) Run(ctx context.Context, start func(context.Context) (*object.Task, error)) (types.AnyType, error) {
	started, err := start(ctx)
	if err != nil {
		return nil, Classify(err)
	}
	reference := started.Reference()
	t := Value(s, tasksKey{}, func() *tasks {
		return &tasks{session: s, waiting: map[types.ManagedObjectReference]*waiter{}}
	})
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

// add registers a task, and starts polling unless that runs already.
func (t *tasks) add(reference types.ManagedObjectReference) *waiter {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	w := &waiter{since: time.Now(), done: make(chan struct{})}
	t.waiting[reference] = w
	if !t.polling {
		t.polling = true
		go t.poll()
	}
	return w
}

func (t *tasks) remove(reference types.ManagedObjectReference) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.waiting, reference)
}

// poll polls the tasks until there is no waiter left.
func (t *tasks) poll() {
	for {
		references, delay := t.next()
		if len(references) == 0 {
			return
		}
		timer := time.NewTimer(delay)
		<-timer.C

		if err := platform.Try(func() error { return t.pollOnce(references) }); err != nil {
			t.fail(err)
		}
	}
}

func (t *tasks) pollOnce(references []types.ManagedObjectReference) error {
	var found []mo.Task
	if err := property.DefaultCollector(t.session.vim).Retrieve(context.Background(), references, []string{"info"}, &found); err != nil {
		return Classify(err)
	}
	for i := range found {
		t.finish(&found[i].Info)
	}
	return nil
}

// next returns the tasks and the time until the next poll, which grows with the age of the youngest task. Polling ends if there are none.
func (t *tasks) next() ([]types.ManagedObjectReference, time.Duration) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var (
		references []types.ManagedObjectReference
		delay      = maxPoll
	)
	for reference, w := range t.waiting {
		references = append(references, reference)
		delay = min(delay, time.Since(w.since)*2/5)
	}
	t.polling = len(references) > 0
	return references, max(delay, minPoll)
}

// fail ends the wait for a task that does not exist, or for all tasks if polling again does not help.
func (t *tasks) fail(err error) {
	var missing *types.ManagedObjectNotFound
	_, isMissing := fault.As(err, &missing)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for reference, w := range t.waiting {
		switch {
		case isMissing && missing.Obj == reference:
			t.end(reference, w, nil, platform.NewError(platform.ClassTransient, "task %s no longer exists", reference.Value))
		case !isMissing && (platform.ClassOf(err) != platform.ClassTransient || errors.Is(err, errClosed)):
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

// taskError returns the error of a failed task. An object that was not found is one that the task needed: it says nothing about the object
// of the caller.
func taskError(info *types.TaskInfo) error {
	if info.Error == nil {
		return platform.NewError(platform.ClassTransient, "task %s failed without an error", info.Task.Value)
	}
	err := Classify(task.Error{LocalizedMethodFault: info.Error, Description: info.Description})
	if IsNotFound(err) {
		return platform.NewError(platform.ClassTransient, "task %s: %w", info.Task.Value, err)
	}
	return err
}

const (
	cloneTask  = "VirtualMachine.clone"
	cloneEvent = "VmBeingClonedEvent"
	// cloneEventLead is how long the event of a clone may precede its task.
	cloneEventLead = time.Minute
)

// Cloning returns the names of the virtual machines that are being cloned into a folder, by any process and session. They are not visible
// in the folder before their task is running, and a vCenter queues tasks.
func (s *Session) Cloning(ctx context.Context, folder string) ([]string, error) {
	tasks, err := s.runningClones(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, task := range tasks {
		begin := task.QueueTime.Add(-cloneEventLead)
		events, err := event.NewManager(s.vim).QueryEvents(ctx, types.EventFilterSpec{
			Entity:      &types.EventFilterSpecByEntity{Entity: *task.Entity, Recursion: types.EventFilterSpecRecursionOptionSelf},
			Time:        &types.EventFilterSpecByTime{BeginTime: &begin},
			EventTypeId: []string{cloneEvent},
		})
		if err != nil {
			return nil, Classify(err)
		}
		for _, e := range events {
			clone, ok := e.(*types.VmBeingClonedEvent)
			ofTask := task.EventChainId == 0 || ok && clone.ChainId == task.EventChainId
			if ok && ofTask && clone.DestFolder.Folder.Value == folder && !slices.Contains(names, clone.DestName) {
				names = append(names, clone.DestName)
			}
		}
	}
	return names, nil
}

// runningClones returns the queued and running clone tasks in one request. It includes the task manager, to tell no task from no answer.
func (s *Session) runningClones(ctx context.Context) ([]types.TaskInfo, error) {
	if s.vim.ServiceContent.TaskManager == nil || s.vim.ServiceContent.EventManager == nil {
		return nil, platform.NewError(platform.ClassTransient, "the vCenter has no task manager or no event manager")
	}
	response, err := property.DefaultCollector(s.vim).RetrieveProperties(ctx, types.RetrieveProperties{
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{
				Obj:       *s.vim.ServiceContent.TaskManager,
				SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "TaskManager", Path: "recentTask"}},
			}},
			PropSet: []types.PropertySpec{{Type: "TaskManager", PathSet: []string{"maxCollector"}},
				{Type: "Task", PathSet: []string{"info.descriptionId", "info.entity", "info.state", "info.queueTime", "info.eventChainId"}}},
		}},
	})
	if err != nil {
		return nil, Classify(err)
	}
	var found []mo.Task
	tasks := slices.DeleteFunc(response.Returnval, func(o types.ObjectContent) bool { return o.Obj.Type != "Task" })
	if err := mo.LoadObjectContent(tasks, &found); err != nil {
		return nil, Classify(err)
	}
	var running []types.TaskInfo
	for _, task := range found {
		going := task.Info.State == types.TaskInfoStateQueued || task.Info.State == types.TaskInfoStateRunning
		if going && task.Info.Entity != nil && strings.HasPrefix(task.Info.DescriptionId, cloneTask) {
			running = append(running, task.Info)
		}
	}
	return running, nil
}
