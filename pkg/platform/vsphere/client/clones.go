// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	cloneTask  = "VirtualMachine.clone"
	cloneEvent = "VmBeingClonedEvent"
	// cloneEventLead is how much earlier than its task the event of a clone may be.
	cloneEventLead = time.Minute
)

// Cloning returns the names of the virtual machines that are being made in a folder, by whichever process and session. A vCenter shows one
// only when its task has begun to work, and lets tasks wait.
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

// runningClones returns the clones that wait or go on, in one request. It asks for the task manager too: an answer without it is none.
func (s *Session) runningClones(ctx context.Context) ([]types.TaskInfo, error) {
	if s.vim.ServiceContent.TaskManager == nil || s.vim.ServiceContent.EventManager == nil {
		return nil, platform.NewError(platform.ClassTransient, "the vCenter does not tell its tasks and events")
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
