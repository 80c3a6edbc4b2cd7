// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log"
	"reflect"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// disturber applies the settings to the calls of the simulator.
type disturber struct {
	model              *simulator.Model
	username, password string

	mutex    sync.Mutex
	settings control.Settings
	faults   []int
	clones   int
}

// apply replaces the settings.
func (d *disturber) apply(settings control.Settings) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.settings = settings
	d.faults = make([]int, len(settings.Faults))
	d.clones = 0
	// The simulator reads the map without a lock: it is replaced and never changed. Without a hand-off the object can be read
	// while its task is delayed.
	delays := map[string]int{"LockHandoff": 0}
	for _, name := range []string{"CloneVm", "PowerOn", "PowerOff", "Destroy", "ReconfigVm"} {
		delays[name] = int(settings.Task.Milliseconds())
	}
	simulator.TaskDelay.MethodDelay = delays
}

func (d *disturber) current() control.Settings {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.settings
}

func (d *disturber) validLogin(login *types.Login) bool {
	password := d.password
	if settings := d.current(); settings.Password != "" {
		password = settings.Password
	}
	return login.UserName == d.username && login.Password == password
}

// fault returns the type of the fault of a call, and whether it is a fault of its task.
func (d *disturber) fault(method string) (name string, inTask bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for i, f := range d.settings.Faults {
		if f.Method != method || f.Times > 0 && d.faults[i] >= f.Times {
			continue
		}
		d.faults[i]++
		return f.Type, f.InTask
	}
	return "", false
}

// call is asked by the simulator before each call. It may change the request and who serves it.
func (d *disturber) call(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if name, inTask := d.fault(method.Name); name != "" {
		f := newFault(name)
		vm, ok := ctx.Map.Get(method.This).(*simulator.VirtualMachine)
		if !inTask || !ok {
			return nil, f
		}
		return &failing{VirtualMachine: vm, fault: f}, nil
	}
	if request, ok := method.Body.(*types.CloneVM_Task); ok {
		d.disturbClone(request)
	}
	return nil, nil
}

func (d *disturber) disturbClone(request *types.CloneVM_Task) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	c := d.settings.Clone
	if c.Times > 0 && d.clones >= c.Times {
		return
	}
	d.clones++
	if c.Off {
		request.Spec.PowerOn = false
	}
	if request.Spec.Config == nil {
		return
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, change := range request.Spec.Config.DeviceChange {
		_, isDisk := change.GetVirtualDeviceConfigSpec().Device.(*types.VirtualDisk)
		if isDisk && c.NoDisks || !isDisk && c.NoNetwork {
			continue
		}
		changes = append(changes, change)
	}
	request.Spec.Config.DeviceChange = changes
}

func newFault(name string) types.BaseMethodFault {
	t, ok := types.TypeFunc()(name)
	if !ok {
		log.Printf("there is no fault %q", name)
		return &types.SystemError{}
	}
	return reflect.New(t).Interface().(types.BaseMethodFault)
}

// failing is a virtual machine that cannot be cloned.
type failing struct {
	*simulator.VirtualMachine

	fault types.BaseMethodFault
}

// CloneVMTask implements the method CloneVM_Task.
func (f *failing) CloneVMTask(ctx *simulator.Context, _ *types.CloneVM_Task) soap.HasFault {
	task := simulator.CreateTask(f.VirtualMachine, "cloneVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		return nil, f.fault
	})
	return &methods.CloneVM_TaskBody{Res: &types.CloneVM_TaskResponse{Returnval: task.Run(ctx)}}
}
