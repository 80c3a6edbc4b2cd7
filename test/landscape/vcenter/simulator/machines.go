// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// otherCard is the device of network interfaces that are not cards of the virtual machine.
const otherCard = -1

// machines lets the vCenter know of machines that boot. The simulator's own guests shut down at once. It is an object of a type that the
// vCenter does not have another one of, because the simulator knows no others.
type machines struct {
	mo.GuestAliasManager

	model *simulator.Model

	mutex  sync.Mutex
	wishes control.Wishes
}

func newMachines(model *simulator.Model) *machines {
	m := &machines{model: model}
	m.Self = types.ManagedObjectReference{Type: "GuestAliasManager", Value: "machines"}
	return m
}

// PutObject implements simulator.RegisterObject.
func (m *machines) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject implements simulator.RegisterObject.
func (m *machines) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// UpdateObject implements simulator.RegisterObject: nothing is known of a guest whose power was switched. The simulator keeps what it knew.
func (m *machines) UpdateObject(_ *simulator.Context, object mo.Reference, changes []types.PropertyChange) {
	vm, ok := object.(*mo.VirtualMachine)
	if !ok || !slices.ContainsFunc(changes, func(c types.PropertyChange) bool { return c.Name == "runtime.powerState" }) {
		return
	}
	vm.Guest.ToolsRunningStatus = string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)
	vm.Guest.HostName, vm.Guest.IpAddress, vm.Guest.Net = "", "", nil
}

func (m *machines) serve(w http.ResponseWriter, r *http.Request) {
	var guests []control.Guest
	if err := json.NewDecoder(r.Body).Decode(&guests); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, guest := range guests {
		m.update(guest)
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	_ = json.NewEncoder(w).Encode(m.wishes)
	m.wishes = control.Wishes{}
}

// update lets the virtual machine have what is known of its guest, unless it was powered on or off meanwhile.
func (m *machines) update(guest control.Guest) {
	ctx := &simulator.Context{Context: context.Background(), Map: m.model.Map()}
	vm, ok := ctx.Map.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: guest.ID}).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	ctx.Map.WithLock(ctx, vm, func() {
		if !ptr.Deref(vm.Summary.Runtime.BootTime, time.Time{}).Equal(guest.Booted) {
			return
		}
		if changes := changesOf(vm, guest); len(changes) > 0 {
			ctx.Update(vm, changes)
		}
	})
}

func changesOf(vm *simulator.VirtualMachine, guest control.Guest) []types.PropertyChange {
	var (
		changes []types.PropertyChange
		cards   []types.GuestNicInfo
		address string
		status  = types.VirtualMachineToolsRunningStatusGuestToolsNotRunning
	)
	if guest.Tools {
		status = types.VirtualMachineToolsRunningStatusGuestToolsRunning
	}
	for _, card := range guest.Cards {
		info := types.GuestNicInfo{MacAddress: card.MAC, IpAddress: card.Addresses, Connected: true, DeviceConfigId: otherCard}
		for _, own := range vm.Config.Hardware.Device {
			if own, ok := own.(types.BaseVirtualEthernetCard); ok && strings.EqualFold(own.GetVirtualEthernetCard().MacAddress, card.MAC) {
				info.DeviceConfigId = own.GetVirtualEthernetCard().Key
				address = card.Addresses[0]
			}
		}
		cards = append(cards, info)
	}
	set := func(name string, before, after any) {
		if !reflect.DeepEqual(before, after) {
			changes = append(changes, types.PropertyChange{Name: name, Val: after})
		}
	}
	set("guest.toolsRunningStatus", vm.Guest.ToolsRunningStatus, string(status))
	set("guest.hostName", vm.Guest.HostName, guest.HostName)
	set("guest.ipAddress", vm.Guest.IpAddress, address)
	set("guest.net", vm.Guest.Net, cards)
	if guest.Off {
		set("runtime.powerState", "", types.VirtualMachinePowerStatePoweredOff)
		set("summary.runtime.powerState", "", types.VirtualMachinePowerStatePoweredOff)
		changes = append(changes, types.PropertyChange{Name: "summary.runtime.bootTime"})
	}
	return changes
}

// redirect lets this serve calls that the simulator itself would play.
func (m *machines) redirect(method *simulator.Method) {
	if _, ok := method.Body.(*types.ShutdownGuest); ok && m != nil {
		method.This = m.Self
	}
}

// ShutdownGuest is the method of the virtual machines of the vCenter.
func (m *machines) ShutdownGuest(ctx *simulator.Context, request *types.ShutdownGuest) soap.HasFault {
	body := &methods.ShutdownGuestBody{}
	vm, ok := ctx.Map.Get(request.This).(*simulator.VirtualMachine)
	if !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: request.This})
		return body
	}
	ctx.Map.WithLock(ctx, vm, func() {
		switch {
		case vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn:
			body.Fault_ = simulator.Fault("", &types.InvalidPowerState{
				RequestedState: types.VirtualMachinePowerStatePoweredOn, ExistingState: vm.Runtime.PowerState})
		case vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning):
			body.Fault_ = simulator.Fault("", &types.ToolsUnavailable{})
		default:
			body.Res = &types.ShutdownGuestResponse{}
		}
	})
	if body.Res != nil {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		m.wishes.ShutDown = append(m.wishes.ShutDown, vm.Self.Value)
	}
	return body
}
