// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Drive is what is on a config drive of OpenStack, as Nova and Ironic write it.
type Drive struct {
	// MetaData is the object of meta_data.json.
	MetaData map[string]any
	// NetworkData is the object of network_data.json. There is no such file if it is nil.
	NetworkData map[string]any
	// UserData is the content of user_data.
	UserData []byte
	// File is a config drive that somebody else has written. It is copied, and the other fields are not used.
	File string
}

// Provision writes the image to the disk, and the config drive to the other one. The machine must be off.
func (m *Machine) Provision(drive Drive) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.on {
		return fmt.Errorf("provision %s: it is on", m.Name)
	}
	if err := m.remove(); err != nil {
		return err
	}
	// The kernel makes the disk when it finds none.
	return drive.write(m.drive())
}

// Wipe erases both disks, and what a hypervisor told. The machine must be off.
func (m *Machine) Wipe() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.on {
		return fmt.Errorf("wipe %s: it is on", m.Name)
	}
	return m.remove()
}

// Disk returns the file that has what the machine wrote to its disk. It is not there after Wipe.
func (m *Machine) Disk() string { return m.disk() }

func (m *Machine) remove() error {
	errs := []error{os.RemoveAll(m.hypervisor())}
	for _, path := range []string{m.disk(), m.drive()} {
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// write makes the file system, whose label is what tells a config drive.
func (d Drive) write(path string) error {
	if d.File != "" {
		content, err := os.ReadFile(d.File)
		if err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o600)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "drive")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	latest := filepath.Join(dir, "openstack", "latest")
	if err := os.MkdirAll(latest, 0o700); err != nil {
		return err
	}
	files := map[string][]byte{"user_data": d.UserData}
	for name, object := range map[string]map[string]any{"meta_data.json": d.MetaData, "network_data.json": d.NetworkData} {
		if object == nil {
			continue
		}
		if files[name], err = json.Marshal(object); err != nil {
			return err
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(latest, name), content, 0o600); err != nil {
			return err
		}
	}
	out, err := exec.Command("genisoimage", "-quiet", "-J", "-R", "-V", "config-2", "-o", path, dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make a config drive: %w: %s", err, out)
	}
	return nil
}
