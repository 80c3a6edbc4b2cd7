// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// guests plays the tools in the guests: some time after a virtual machine is on they report an address.
type guests struct {
	service *simulator.Service
	delay   time.Duration
	number  atomic.Int64
}

// Reference implements mo.Reference.
func (g *guests) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Guests", Value: "guests"}
}

// PutObject implements simulator.RegisterObject.
func (g *guests) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject implements simulator.RegisterObject.
func (g *guests) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// UpdateObject implements simulator.RegisterObject.
func (g *guests) UpdateObject(_ *simulator.Context, object mo.Reference, changes []types.PropertyChange) {
	if object.Reference().Type != "VirtualMachine" {
		return
	}
	for _, change := range changes {
		if change.Name == "runtime.powerState" && fmt.Sprint(change.Val) == string(types.VirtualMachinePowerStatePoweredOn) {
			number := g.number.Add(1)
			time.AfterFunc(g.delay, func() { g.report(object.Reference(), number) })
		}
	}
}

// report uses a context of its own, because locks belong to a context.
func (g *guests) report(reference types.ManagedObjectReference, number int64) {
	ctx := &simulator.Context{Context: context.Background(), Map: g.service.Context.Map}
	vm, ok := ctx.Map.Get(reference).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	address := fmt.Sprintf("10.200.%d.%d", number>>8&255, number&255)
	var cards []types.GuestNicInfo
	ctx.Map.WithLock(ctx, vm, func() { cards = append(cards, vm.Guest.Net...) })
	if len(cards) > 0 {
		cards[0].IpAddress = []string{address, "fe80::1"}
	}
	ctx.Map.AtomicUpdate(ctx, vm, []types.PropertyChange{
		{Name: "guest.ipAddress", Val: address},
		{Name: "guest.net", Val: cards},
		{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)},
	})
}
