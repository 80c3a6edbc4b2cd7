// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
)

const (
	// consoleLines are those that the console log of a server has.
	consoleLines = 1000
	// releaseTimeout is how long a system may need to close a volume that is detached.
	releaseTimeout = 20 * time.Second
)

// Servers are the machines of all servers of an OpenStack.
type Servers struct {
	rack *hardware.Rack
	http *http.Server

	mutex    sync.Mutex
	machines map[string]*hardware.Machine
	// networks are those of the machines by the names of their bridges.
	networks map[string]*hardware.Network
}

// server is what a server shall be.
type server struct {
	// Memory is its memory in MiB.
	Memory int `json:"memory"`
	// Drive is the path of its config drive.
	Drive string `json:"drive"`
	// Cards are its network cards.
	Cards []card `json:"cards"`
}

type card struct {
	MAC    string `json:"mac"`
	Tap    string `json:"tap"`
	Bridge string `json:"bridge"`
}

// Start lets servers boot until Stop, when Nova's driver asks for it at a socket.
func Start(rack *hardware.Rack, socket string) (*Servers, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	s := &Servers{rack: rack, machines: map[string]*hardware.Machine{}, networks: map[string]*hardware.Network{}}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /machines/{id}", s.install)
	for pattern, f := range map[string]func(*http.Request, *hardware.Machine) (any, error){
		"GET /machines/{id}":         state,
		"GET /machines/{id}/console": console,
		"POST /machines/{id}/on":     on,
		"POST /machines/{id}/off":    off,
		"DELETE /machines/{id}":      s.remove,

		"PUT /machines/{id}/volumes/{volume}":    attach,
		"DELETE /machines/{id}/volumes/{volume}": detach,
	} {
		mux.HandleFunc(pattern, s.handler(f))
	}
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(listener) }()
	return s, nil
}

// Stop leaves the machines as they are.
func (s *Servers) Stop() error {
	errs := []error{s.http.Close()}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, network := range s.networks {
		errs = append(errs, network.Close())
	}
	return errors.Join(errs...)
}

// All are the machines by the IDs of their servers.
func (s *Servers) All() map[string]*hardware.Machine {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.machines)
}

// Machine is the machine of the server with an ID, nil if there is none.
func (s *Servers) Machine(id string) *hardware.Machine {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.machines[id]
}

// install makes the machine of a server, which is off.
func (s *Servers) install(w http.ResponseWriter, r *http.Request) {
	wanted := server{}
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(wanted.Cards) != 1 {
		http.Error(w, fmt.Sprintf("machines have one network card, not %d", len(wanted.Cards)), http.StatusBadRequest)
		return
	}
	if err := s.add(r.PathValue("id"), wanted, wanted.Cards[0]); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (s *Servers) add(id string, wanted server, card card) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.networks[card.Bridge] == nil {
		network, err := hardware.Join(card.Bridge)
		if err != nil {
			return err
		}
		s.networks[card.Bridge] = network
	}
	machine, err := s.rack.Install(id, hardware.Options{MAC: card.MAC, Memory: wanted.Memory, Network: s.networks[card.Bridge], Tap: card.Tap})
	if err != nil {
		return err
	}
	if err := machine.Provision(hardware.Drive{File: wanted.Drive}); err != nil {
		return errors.Join(err, machine.Remove())
	}
	s.machines[id] = machine
	return nil
}

// handler answers requests about a machine that is there.
func (s *Servers) handler(f func(*http.Request, *hardware.Machine) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		machine := s.Machine(r.PathValue("id"))
		if machine == nil {
			http.NotFound(w, r)
			return
		}
		answer, err := f(r, machine)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if text, ok := answer.(string); ok {
			_, _ = io.WriteString(w, text)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func state(_ *http.Request, m *hardware.Machine) (any, error) {
	return map[string]bool{"on": m.On()}, nil
}

func console(_ *http.Request, m *hardware.Machine) (any, error) {
	return m.Console(consoleLines), nil
}

func on(_ *http.Request, m *hardware.Machine) (any, error) {
	return nil, m.PowerOn()
}

// off lets the system end in its order if there is time for it, and cuts the power then.
func off(r *http.Request, m *hardware.Machine) (any, error) {
	wanted := struct {
		// Grace is the time in seconds.
		Grace int `json:"grace"`
	}{}
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		return nil, err
	}
	if wanted.Grace > 0 && m.On() {
		ctx, cancel := context.WithTimeout(r.Context(), time.Duration(wanted.Grace)*time.Second)
		defer cancel()
		// A system that does not end is what the power is cut for.
		_ = m.PressPower(ctx)
		_ = m.WaitOff(ctx)
	}
	m.CutPower()
	return nil, nil
}

func attach(r *http.Request, m *hardware.Machine) (any, error) {
	wanted := struct {
		// Path is that of the file which the volume is.
		Path string `json:"path"`
	}{}
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		return nil, err
	}
	return nil, m.Attach(r.Context(), r.PathValue("volume"), wanted.Path)
}

// detach waits until the system has closed the volume, as a hypervisor does.
func detach(r *http.Request, m *hardware.Machine) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), releaseTimeout)
	defer cancel()
	return nil, m.Detach(ctx, r.PathValue("volume"))
}

func (s *Servers) remove(r *http.Request, m *hardware.Machine) (any, error) {
	s.mutex.Lock()
	delete(s.machines, r.PathValue("id"))
	s.mutex.Unlock()
	return nil, m.Remove()
}
