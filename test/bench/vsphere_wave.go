// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

const (
	// vsphereWave is how many machines are created.
	vsphereWave = driverMachines
	// vsphereTask is how long each task takes.
	vsphereTask = 2 * time.Second

	// quantityFloor is how long the same takes at least, in seconds.
	quantityFloor = "floor"
)

// measureVSphereWave creates many machines with the driver alone, between two measurements of the floor.
func measureVSphereWave(ctx context.Context, b *Bed) (m Measurement, err error) {
	before, err := b.cloneFloor(ctx)
	if err != nil {
		return m, err
	}
	wall, records, err := b.vsphereWave(ctx)
	if err != nil {
		return m, err
	}
	after, err := b.cloneFloor(ctx)
	if err != nil {
		return m, err
	}
	m.Records = append(records, sample("ours", quantityWall, wall.Seconds()),
		sample("before", quantityFloor, before.Seconds()), sample("after", quantityFloor, after.Seconds()))
	m.Note = fmt.Sprintf("%s, tasks take %s; the driver's calls for a new machine, %d machines by %d callers at once: %.1f s, with %.1f "+
		"requests for each; bare clones: %.1f s before and %.1f s after",
		vsphereNote, vsphereTask, vsphereWave, driverCallers, wall.Seconds(), requests(records)/vsphereWave, before.Seconds(), after.Seconds())
	return m, nil
}

// vsphereWave returns how long the driver takes until all machines are on, and its requests.
func (b *Bed) vsphereWave(ctx context.Context) (wall time.Duration, records []Record, err error) {
	s, err := newVSphereSite(ctx, vcenter.Options{})
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	class, err := newMachineClass(vsphereShoot, vsphereShoot, s.spec)
	if err != nil {
		return 0, nil, err
	}
	driver, err := newSubject(ctx, job{Classes: []*machinev1alpha1.MachineClass{class}, Secret: newSecret(vsphereShoot, s.site)}, b.progress)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, driver.stop()) }()
	if err := s.server.Set(ctx, control.Settings{Task: vsphereTask}); err != nil {
		return 0, nil, err
	}
	records, err = s.record(ctx, "create", func(context.Context) error {
		start := time.Now()
		_, err := driver.do(order{Do: doCreate})
		wall = time.Since(start)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	fmt.Fprintf(b.progress, "  %d machines: %.1f s\n", vsphereWave, wall.Seconds())

	found, err := vcenter.NewWatch(s.server, vsphereShoot).Machines(ctx)
	if err != nil {
		return 0, nil, err
	}
	on := 0
	for _, machine := range found {
		if machine.On {
			on++
		}
	}
	if on != vsphereWave {
		return 0, nil, fmt.Errorf("%d machines are on, want %d", on, vsphereWave)
	}
	return wall, records, nil
}

// overFloor is the time divided by that of the floor, which is the mean of what was measured before and after.
func overFloor(records []Record) (float64, error) {
	walls, floors := samplesOf(records, quantityWall), samplesOf(records, quantityFloor)
	if len(walls) == 0 || len(floors) == 0 {
		return 0, fmt.Errorf("the log has %d times and %d of the floor", len(walls), len(floors))
	}
	return median(walls) / mean(floors), nil
}
