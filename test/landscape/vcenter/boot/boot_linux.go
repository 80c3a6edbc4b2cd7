// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

const (
	// look is the time between two looks at the vCenter.
	look = 500 * time.Millisecond
	// heartbeat is after how long tools that are not heard of do not run. They report every 5 seconds.
	heartbeat = 30 * time.Second

	// System is the guest operating system of what can boot. It is that of the image that machines have.
	System = string(types.VirtualMachineGuestOsIdentifierDebian12_64Guest)

	vendor, product = "VMware, Inc.", "VMware7,1"
)

// Guests are the machines of all virtual machines of a vCenter.
type Guests struct {
	server *vcenter.VCenter
	watch  *vcenter.Watch
	racks  map[string]*hardware.Rack
	stop   func()

	mutex  sync.Mutex
	guests map[string]*guest
	err    error
}

// guest is a virtual machine.
type guest struct {
	name string
	// machine is nil if it cannot boot.
	machine *hardware.Machine
	// booted is when it was powered on, zero if it is off.
	booted time.Time
	// refused says why it did not boot.
	refused error
}

// Start lets the virtual machines boot until Stop. Racks are the machines' racks by the paths of the port groups that they are in.
func Start(ctx context.Context, server *vcenter.VCenter, racks map[string]*hardware.Rack) (*Guests, error) {
	g := &Guests{server: server, watch: vcenter.NewWatch(server, ""), racks: map[string]*hardware.Rack{}, guests: map[string]*guest{}}
	for path, rack := range racks {
		group, err := server.PortGroup(ctx, path)
		if err != nil {
			return nil, err
		}
		g.racks[group] = rack
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { g.run(ctx) })
	g.stop = func() {
		cancel()
		group.Wait()
	}
	return g, nil
}

// Stop leaves the machines as they are.
func (g *Guests) Stop() {
	g.stop()
}

// Machine is the machine of a virtual machine, nil if there is none.
func (g *Guests) Machine(name string) *hardware.Machine {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for _, known := range g.guests {
		if known.name == name {
			return known.machine
		}
	}
	return nil
}

// Check returns what went wrong at the last look, and why virtual machines did not boot.
func (g *Guests) Check() error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	errs := []error{g.err}
	for _, id := range slices.Sorted(maps.Keys(g.guests)) {
		if known := g.guests[id]; known.refused != nil {
			errs = append(errs, fmt.Errorf("virtual machine %s: %w", known.name, known.refused))
		}
	}
	return errors.Join(errs...)
}

func (g *Guests) run(ctx context.Context) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		err := g.sync(ctx)
		if ctx.Err() != nil {
			return
		}
		g.mutex.Lock()
		g.err = err
		g.mutex.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sync lets all machines do what the vCenter says, and tells it what they do.
func (g *Guests) sync(ctx context.Context) error {
	all, err := g.watch.Hardware(ctx)
	if err != nil {
		return err
	}
	var (
		errs    []error
		reports []control.Guest
		there   = map[string]bool{}
	)
	for _, vm := range all {
		there[vm.ID] = true
		report, err := g.apply(&vm)
		if err != nil {
			errs = append(errs, fmt.Errorf("virtual machine %s: %w", vm.Name, err))
		}
		reports = append(reports, report)
	}
	errs = append(errs, g.forget(there))
	wishes, err := g.server.Report(ctx, reports)
	for _, id := range wishes.ShutDown {
		if known := g.known(id); known != nil && known.machine != nil {
			errs = append(errs, known.machine.PressPower(ctx))
		}
	}
	return errors.Join(append(errs, err)...)
}

// apply switches the machine of a virtual machine on and off, and returns what the vCenter is told.
func (g *Guests) apply(vm *vcenter.Hardware) (control.Guest, error) {
	at := g.guestOf(vm)
	report := control.Guest{ID: vm.ID, Booted: vm.Booted}
	if !at.booted.Equal(vm.Booted) {
		if at.machine != nil {
			at.machine.CutPower()
		}
		var refused error
		if !vm.Booted.IsZero() {
			refused = g.boot(at, vm)
		}
		g.mutex.Lock()
		if at.booted = vm.Booted; !at.booted.IsZero() {
			at.refused = refused
		}
		g.mutex.Unlock()
	}
	if vm.Booted.IsZero() {
		return report, nil
	}
	report.Off = at.refused != nil || !at.machine.On()
	if report.Off {
		return report, nil
	}
	told, err := at.machine.Report()
	if err != nil || time.Since(told.Time) > heartbeat {
		return report, err
	}
	report.Tools, report.HostName = true, told.HostName
	for _, of := range told.Interfaces {
		card := control.Card{MAC: of.MAC}
		for _, address := range of.Addresses {
			if !address.Address.IsLoopback() {
				card.Addresses = append(card.Addresses, address.Address.String())
			}
		}
		if len(card.Addresses) > 0 {
			report.Cards = append(report.Cards, card)
		}
	}
	return report, nil
}

// boot switches the machine on, which is installed the first time.
func (g *Guests) boot(at *guest, vm *vcenter.Hardware) error {
	if vm.System != System {
		return fmt.Errorf("there is no image of %q, only one of %q", vm.System, System)
	}
	if len(vm.Cards) != 1 {
		return fmt.Errorf("it has %d network cards, and machines have one", len(vm.Cards))
	}
	rack := g.racks[vm.Cards[0].Network]
	if rack == nil {
		return fmt.Errorf("no machines are in the network %q", vm.Cards[0].Network)
	}
	if at.machine == nil {
		machine, err := rack.Install(vm.ID, hardware.Options{MAC: strings.ToLower(vm.Cards[0].MAC)})
		if err != nil {
			return err
		}
		g.mutex.Lock()
		at.machine = machine
		g.mutex.Unlock()
	}
	if err := at.machine.Tell(hardware.Firmware{Vendor: vendor, Product: product, UUID: vm.UUID}, vm.Info); err != nil {
		return err
	}
	return at.machine.PowerOn()
}

// forget removes the machines, with their disks, of virtual machines that are gone.
func (g *Guests) forget(there map[string]bool) error {
	g.mutex.Lock()
	gone := map[string]*guest{}
	for id, known := range g.guests {
		if !there[id] {
			gone[id] = known
			delete(g.guests, id)
		}
	}
	g.mutex.Unlock()
	var errs []error
	for _, known := range gone {
		if known.machine != nil {
			errs = append(errs, known.machine.Remove())
		}
	}
	return errors.Join(errs...)
}

func (g *Guests) known(id string) *guest {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.guests[id]
}

func (g *Guests) guestOf(vm *vcenter.Hardware) *guest {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.guests[vm.ID] == nil {
		g.guests[vm.ID] = &guest{}
	}
	g.guests[vm.ID].name = vm.Name
	return g.guests[vm.ID]
}
