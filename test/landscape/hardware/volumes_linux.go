// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	// firstVolume is the number of the first disk that is a volume, and maxVolumes is how many more the kernel can have.
	firstVolume = 2
	maxVolumes  = 14
	// maxSerial is the length of the serial number of a disk of virtio.
	maxSerial = 20

	// saysOpen is the kernel's reply if the system has not closed a disk.
	saysOpen        = "Device is currently open"
	releaseInterval = 200 * time.Millisecond
)

// volume is a file that is a disk of a machine.
type volume struct{ id, path string }

// device is what the kernel is told. The file is not taken for what was written on top of another one.
func (v volume) device(number int) string {
	return fmt.Sprintf("ubd%dd=%s,,%s", number, v.path, v.id[:min(len(v.id), maxSerial)])
}

// Attach makes a file another disk of the machine, until Detach. A system finds it at /dev/disk/by-id/virtio-<first 20 characters of the
// ID>, also after the machine was off.
func (m *Machine) Attach(ctx context.Context, id, path string) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if strings.ContainsAny(id+path, ",: ") {
		return fmt.Errorf("attach %s to %s: %q has characters that separate what the kernel is told", id, m.Name, path)
	}
	free := -1
	for i, v := range m.volumes {
		switch {
		case v.id == id:
			return fmt.Errorf("attach %s to %s: it is attached", id, m.Name)
		case v.id == "" && free < 0:
			free = i
		}
	}
	if free < 0 {
		return fmt.Errorf("attach %s to %s: a machine has at most %d volumes", id, m.Name, maxVolumes)
	}
	v := volume{id: id, path: path}
	if m.on {
		if err := m.control(ctx, "config "+v.device(firstVolume+free)); err != nil {
			return err
		}
	}
	m.volumes[free] = v
	return nil
}

// Detach takes a volume away from the machine, as soon as the system in it has closed it. It does nothing if it is not attached.
func (m *Machine) Detach(ctx context.Context, id string) error {
	for {
		err := m.detach(ctx, id)
		if err == nil || !strings.Contains(err.Error(), saysOpen) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(releaseInterval):
		}
	}
}

func (m *Machine) detach(ctx context.Context, id string) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for i, v := range m.volumes {
		if v.id != id {
			continue
		}
		if m.on {
			if err := m.control(ctx, fmt.Sprintf("remove ubd%d", firstVolume+i)); err != nil {
				return err
			}
		}
		m.volumes[i] = volume{}
	}
	return nil
}
