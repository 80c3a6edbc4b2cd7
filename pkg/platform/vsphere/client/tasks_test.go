// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// taskStates answers polls with the state that it returns for the task.
type taskStates func(task string) types.TaskInfoState

// RoundTrip implements soap.RoundTripper.
func (s taskStates) RoundTrip(_ context.Context, request, response soap.HasFault) error {
	var objects []types.ObjectContent
	for _, asked := range request.(*methods.RetrievePropertiesExBody).Req.SpecSet[0].ObjectSet {
		objects = append(objects, types.ObjectContent{Obj: asked.Obj, PropSet: []types.DynamicProperty{{Name: "info",
			Val: types.TaskInfo{Task: asked.Obj, State: s(asked.Obj.Value)}}}})
	}
	response.(*methods.RetrievePropertiesExBody).Res = &types.RetrievePropertiesExResponse{Returnval: &types.RetrieveResult{Objects: objects}}
	return nil
}

func TestTasksAreNotPolledAfterTheLogout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var (
			session Session
			polls   int
		)
		session.vim = &vim25.Client{RoundTripper: &authenticated{session: &session, next: taskStates(func(string) types.TaskInfoState {
			polls++
			session.closed.Store(true)
			return types.TaskInfoStateRunning
		})}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := session.Run(ctx, func(context.Context) (*object.Task, error) {
			return object.NewTask(session.vim, types.ManagedObjectReference{Type: "Task", Value: "task"}), nil
		})
		g.Expect(err).To(MatchError(errClosed))
		g.Expect(polls).To(Equal(1))
	})
}

func TestPollsAreNotDoubledByTasksThatBeginDuringOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var (
			session Session
			polls   = map[string]int{}
			begin   = func(ctx context.Context, name string) {
				_, _ = session.Run(ctx, func(context.Context) (*object.Task, error) {
					return object.NewTask(session.vim, types.ManagedObjectReference{Type: "Task", Value: name}), nil
				})
			}
			ctx, leave = context.WithCancel(t.Context())
			left       = make(chan struct{})
		)
		session.vim = &vim25.Client{RoundTripper: taskStates(func(task string) types.TaskInfoState {
			polls[task]++
			if task == "second" {
				return types.TaskInfoStateSuccess
			}
			leave()
			<-left
			go begin(t.Context(), "second")
			synctest.Wait()
			return types.TaskInfoStateRunning
		})}
		begin(ctx, "first")
		close(left)
		later, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		<-later.Done()
		g.Expect(polls).To(Equal(map[string]int{"first": 1, "second": 1}))
	})
}
