// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// Machines that run at the same time need memory and processors of the machine that tests run on.
const (
	maxMachines   = 8
	maxMemory     = 1024
	defaultMemory = 768
)

// Rack has machines at one network.
type Rack struct {
	// Network is what the machines are plugged into.
	Network *Network

	dir, kernel, image string

	mutex    sync.Mutex
	machines map[string]*Machine
	dhcp     *landscape.Process
}

// Check returns an error that says what machines need and is not there.
func Check() error {
	var errs []error
	if os.Getuid() != 0 {
		errs = append(errs, errors.New("machines that boot need root"))
	}
	for _, path := range []string{kernelPath(), imagePath()} {
		if _, err := os.Stat(path); err != nil {
			errs = append(errs, fmt.Errorf("%w: hack/landscape/machines/build.sh builds it", err))
		}
	}
	for _, tool := range []string{"ip", "genisoimage"} {
		if _, err := exec.LookPath(tool); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func kernelPath() string { return filepath.Join(landscape.Root(), "hack", "bin", "machine-kernel") }
func imagePath() string  { return filepath.Join(landscape.Root(), "hack", "bin", "machine-image") }

// NewRack makes a rack without machines, with its files in a folder. Close ends what was made, also after an error.
func NewRack(dir string) (*Rack, error) {
	r := &Rack{dir: dir, machines: map[string]*Machine{}}
	if err := Check(); err != nil {
		return r, err
	}
	var err error
	// A later build replaces the links, but not what they lead to.
	if r.kernel, err = filepath.EvalSymlinks(kernelPath()); err != nil {
		return r, err
	}
	if r.image, err = filepath.EvalSymlinks(imagePath()); err != nil {
		return r, err
	}
	r.Network, err = NewNetwork()
	return r, err
}

// Install adds a machine, which has no disk and is off. Its name is one of a host: letters, digits and dashes.
func (r *Rack) Install(name string, o Options) (*Machine, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.machines[name] != nil {
		return nil, fmt.Errorf("there is a machine %q", name)
	}
	m, err := newMachine(r, name, o)
	if err != nil {
		return nil, fmt.Errorf("machine %s: %w", name, err)
	}
	r.machines[name] = m
	return m, nil
}

// Machines are those in the rack by their names.
func (r *Rack) Machines() map[string]*Machine {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return maps.Clone(r.machines)
}

// Remove cuts the power and takes the machine out of its rack, with its disk and all of its files.
func (m *Machine) Remove() error {
	m.CutPower()
	m.rack.mutex.Lock()
	defer m.rack.mutex.Unlock()
	delete(m.rack.machines, m.Name)
	return errors.Join(m.options.Network.Remove(m.tap), os.RemoveAll(m.dir))
}

// Close cuts the power of all machines and removes the network.
func (r *Rack) Close() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, m := range r.machines {
		m.CutPower()
	}
	if r.dhcp != nil {
		r.dhcp.Kill()
	}
	if r.Network == nil {
		return nil
	}
	return r.Network.Close()
}
