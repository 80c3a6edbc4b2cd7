// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

const (
	vsphereWave = 300
	// vsphereAtOnce is how many machines machine-controller-manager works on at the same time by default.
	vsphereAtOnce  = 50
	vsphereTask    = 2 * time.Second
	vsphereTimeout = 4 * time.Minute

	// quantityFloor is how long the same takes at least, in seconds.
	quantityFloor = "floor"
)

// measureVSphereWave creates many machines with machine-controller-manager and the driver, between two measurements of the floor.
func measureVSphereWave(ctx context.Context, b *Bed) (m Measurement, err error) {
	before, err := cloneFloor(ctx, vsphereWave, vsphereAtOnce, vsphereTask)
	if err != nil {
		return m, fmt.Errorf("floor: %w", err)
	}
	fmt.Fprintf(b.progress, "  floor: %.1f s\n", before.Seconds())
	wall, err := vsphereWaveOf(ctx, b, &m)
	if err != nil {
		return m, err
	}
	fmt.Fprintf(b.progress, "  %d machines were running after %.1f s\n", vsphereWave, wall.Seconds())
	after, err := cloneFloor(ctx, vsphereWave, vsphereAtOnce, vsphereTask)
	if err != nil {
		return m, fmt.Errorf("floor: %w", err)
	}
	fmt.Fprintf(b.progress, "  floor: %.1f s\n", after.Seconds())

	requests := len(requestsOf(m.Records))
	m.Records = append(m.Records, sample("ours", quantityWall, wall.Seconds()),
		sample("before", quantityFloor, before.Seconds()), sample("after", quantityFloor, after.Seconds()))
	m.Note = fmt.Sprintf("%s, tasks take %s; real machine-controller-manager, driver and kube-apiserver; %d machines running after %.1f s, with %.1f requests for each; bare clones, %d at once: %.1f s before and %.1f s after",
		vsphereNote, vsphereTask, vsphereWave, wall.Seconds(), float64(requests)/vsphereWave, vsphereAtOnce, before.Seconds(), after.Seconds()) + m.Note
	return m, nil
}

// vsphereWaveOf returns how long it takes until the machines are running. One machine is there before, so that the driver's process
// has started and is logged in.
func vsphereWaveOf(ctx context.Context, b *Bed, m *Measurement) (wall time.Duration, err error) {
	s, err := newVSphereSite(ctx, vcenter.Options{Guest: time.Millisecond})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	l, err := newLab(ctx, b.progress, vsphereShoot)
	if err != nil {
		return 0, err
	}
	defer l.close()
	class, err := newMachineClass(vsphereShoot, l.deploymentName(), s.spec)
	if err != nil {
		return 0, err
	}
	if err := l.deployClass(ctx, newSecret(vsphereShoot, s.site), class); err != nil {
		return 0, err
	}
	l.playKubelets(vcenter.NewWatch(s.server, vsphereShoot).Active)
	if err := s.server.Set(ctx, control.Settings{Task: vsphereTask}); err != nil {
		return 0, err
	}
	m.Records, err = s.record(ctx, "create", func(ctx context.Context) error {
		if err := errors.Join(l.MCM.Start(), l.Driver.Start()); err != nil {
			return err
		}
		if _, err := l.scale(ctx, 1, vsphereTimeout); err != nil {
			return err
		}
		fmt.Fprintf(b.progress, "  create %d machines\n", vsphereWave)
		start := time.Now()
		_, err := l.scale(ctx, 1+vsphereWave, vsphereTimeout)
		wall = time.Since(start)
		return err
	})
	if err != nil {
		return 0, err
	}
	return wall, m.addMemory(l.Driver)
}

// overFloor is the time divided by that of the floor, which is the mean of what was measured before and after.
func overFloor(records []Record) (float64, error) {
	walls, floors := samplesOf(records, quantityWall), samplesOf(records, quantityFloor)
	if len(walls) == 0 || len(floors) == 0 {
		return 0, fmt.Errorf("the log has %d times and %d of the floor", len(walls), len(floors))
	}
	sum := 0.0
	for _, floor := range floors {
		sum += floor
	}
	return median(walls) / (sum / float64(len(floors))), nil
}
