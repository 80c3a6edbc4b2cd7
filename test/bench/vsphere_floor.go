// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// floorLook is the time between two looks at a task that should have ended.
const floorLook = 20 * time.Millisecond

// cloneFloor is how long a vCenter takes to make virtual machines, so many at the same time, for a client that does nothing else:
// it does not read anything before, and knows when a task should have ended.
func (b *Bed) cloneFloor(ctx context.Context) (wall time.Duration, err error) {
	s, err := newVSphereSite(ctx, vcenter.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.server.Set(ctx, control.Settings{Task: vsphereTask}); err != nil {
		return 0, err
	}
	s.inspector.DefaultTransport().MaxIdleConnsPerHost = driverCallers

	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(driverCallers)
	for i := range vsphereWave {
		group.Go(func() error { return s.cloneOnly(ctx, fmt.Sprintf("%s-floor-%d", vsphereShoot, i)) })
	}
	err = group.Wait()
	wall = time.Since(start)
	fmt.Fprintf(b.progress, "  %d bare clones: %.1f s\n", vsphereWave, wall.Seconds())
	return wall, err
}

// cloneOnly makes a virtual machine that runs, past the product.
func (s *vsphereSite) cloneOnly(ctx context.Context, name string) error {
	var (
		of        = s.spec.VSphere
		pool      = types.ManagedObjectReference{Type: "ResourcePool", Value: of.ResourcePool}
		datastore = types.ManagedObjectReference{Type: "Datastore", Value: of.Datastore}
		template  = object.NewVirtualMachine(s.inspector, types.ManagedObjectReference{Type: "VirtualMachine", Value: of.Template})
		folder    = object.NewFolder(s.inspector, types.ManagedObjectReference{Type: "Folder", Value: of.Folder})
	)
	clone, err := template.Clone(ctx, folder, name, types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &pool, Datastore: &datastore},
		Config:   &types.VirtualMachineConfigSpec{NumCPUs: of.CPUs, MemoryMB: of.MemoryMiB},
		PowerOn:  true,
	})
	if err != nil {
		return err
	}
	for pause := vsphereTask; ; pause = floorLook {
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		var current mo.Task
		if err := property.DefaultCollector(s.inspector).RetrieveOne(ctx, clone.Reference(), []string{"info.state", "info.error"},
			&current); err != nil {
			return err
		}
		switch current.Info.State {
		case types.TaskInfoStateSuccess:
			return nil
		case types.TaskInfoStateError:
			return task.Error{LocalizedMethodFault: current.Info.Error}
		}
	}
}
