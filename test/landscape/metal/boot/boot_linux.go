// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

// look is the time between two looks at the inventory.
const look = 500 * time.Millisecond

// Hosts are the machines of all hosts of an inventory.
type Hosts struct {
	inventory *metal.Inventory
	rack      *hardware.Rack
	stop      func()

	mutex sync.Mutex
	hosts map[string]*host
	err   error
}

// host is a machine and the ID of what was provisioned last.
type host struct {
	machine *hardware.Machine
	id      string
}

// Start lets the hosts boot until Stop.
func Start(inventory *metal.Inventory, rack *hardware.Rack) *Hosts {
	ctx, cancel := context.WithCancel(context.Background())
	h := &Hosts{inventory: inventory, rack: rack, hosts: map[string]*host{}}
	var group sync.WaitGroup
	group.Go(func() { h.run(ctx) })
	h.stop = func() {
		cancel()
		group.Wait()
	}
	return h
}

// Stop leaves the machines as they are.
func (h *Hosts) Stop() {
	h.stop()
}

// Machine is the machine of a host, nil if the host is not known yet.
func (h *Hosts) Machine(name string) *hardware.Machine {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if known := h.hosts[name]; known != nil {
		return known.machine
	}
	return nil
}

// Check returns what went wrong at the last look.
func (h *Hosts) Check() error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.err
}

func (h *Hosts) run(ctx context.Context) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		err := h.sync(ctx)
		if ctx.Err() != nil {
			return
		}
		h.mutex.Lock()
		h.err = err
		h.mutex.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sync lets all machines do what their hosts shall do.
func (h *Hosts) sync(ctx context.Context) error {
	systems, err := h.inventory.Systems(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for n := range systems {
		if err := h.apply(&systems[n]); err != nil {
			errs = append(errs, fmt.Errorf("host %s: %w", systems[n].Host, err))
		}
	}
	return errors.Join(errs...)
}

// apply provisions the machine if something else was provisioned, wipes it if nothing is, and switches it on and off.
func (h *Hosts) apply(s *metal.System) error {
	at, err := h.hostOf(s)
	if err != nil {
		return err
	}
	if at.id != s.ID {
		at.machine.CutPower()
		switch {
		case s.ID != "":
			err = at.machine.Provision(hardware.Drive{MetaData: s.MetaData, NetworkData: s.NetworkData, UserData: s.UserData})
		case !s.Keep:
			err = at.machine.Wipe()
		default:
			return nil
		}
		if err != nil {
			return err
		}
		at.id = s.ID
	}
	if s.On {
		return at.machine.PowerOn()
	}
	at.machine.CutPower()
	return nil
}

// hostOf is the host, whose machine is installed when it is seen first.
func (h *Hosts) hostOf(s *metal.System) (*host, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if known := h.hosts[s.Host]; known != nil {
		return known, nil
	}
	machine, err := h.rack.Install(s.Host, hardware.Options{MAC: s.MAC})
	if err != nil {
		return nil, err
	}
	h.hosts[s.Host] = &host{machine: machine}
	return h.hosts[s.Host], nil
}
