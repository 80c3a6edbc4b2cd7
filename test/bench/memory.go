// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
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
	s, err := newStubCloud(stubShoot, openstackstub.Settings{BootDelay: time.Second})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.prepare(ctx); err != nil {
		return m, err
	}
	l, err := newLab(ctx, b.progress, s.shoot)
	if err != nil {
		return m, err
	}
	defer l.close()
	if err := l.deploy(ctx, s.cloud); err != nil {
		return m, err
	}
	l.playKubelets(s.active)
	if err := errors.Join(l.MCM.Start(), l.Driver.Start()); err != nil {
		return m, err
	}

	fmt.Fprintf(b.progress, "  create %d machines\n", memoryMachines)
	start := time.Now()
	m.Records, err = s.record(ctx, "create", func(ctx context.Context) error {
		_, err := l.scale(ctx, memoryMachines, memoryTimeout)
		return err
	})
	if err != nil {
		return m, err
	}
	m.Note = fmt.Sprintf("%s; real machine-controller-manager; %d machines were running after %.0f s", stubNote, memoryMachines, time.Since(start).Seconds())
	return m, m.addMemory(l.Driver)
}

// active is what the kubelets see.
func (s *stubCloud) active(context.Context) (map[string]kubelets.Server, error) {
	result := map[string]kubelets.Server{}
	for id, address := range s.stub.Active(stubProject(0)) {
		result[id] = kubelets.Server{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}}
	}
	return result, nil
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
