// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

const (
	memoryMachines = 300
	memoryTimeout  = 5 * time.Minute

	// quantityMemory is the resident memory of a process, in MiB.
	quantityMemory = "memory"
)

// measureDriverMemory reads the memory of the driver when many machines are running.
func measureDriverMemory(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, l, err := newStubLab(ctx, b.progress, openstackstub.Settings{BootDelay: time.Second})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	defer l.close()

	fmt.Fprintf(b.progress, "  create %d machines\n", memoryMachines)
	start := time.Now()
	m.Records, err = s.record(ctx, "create", func(ctx context.Context) error {
		_, err := l.scale(ctx, memoryMachines, memoryTimeout)
		return err
	})
	if err != nil {
		return m, err
	}
	m.Note = fmt.Sprintf("%s; real machine-controller-manager; %d machines were running after %.0f s", stubNote, memoryMachines,
		time.Since(start).Seconds())
	return m, m.addMemory(l.Driver)
}

// addMemory adds what a process has in memory now.
func (m *Measurement) addMemory(process *landscape.Process) error {
	used, err := memoryOf(process.PID())
	if err != nil {
		return err
	}
	m.Records = append(m.Records, sample(process.Name, quantityMemory, used.resident))
	m.Note += fmt.Sprintf("; %s has %.0f MiB resident, %.0f MiB proportional", process.Name, used.resident, used.proportional)
	return nil
}
