// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

const (
	stubShoot    = "shoot--bench--stub"
	foreignShoot = "shoot--other--stub"

	orphanClasses  = 9
	orphanServers  = 300
	foreignServers = 4700
	// orphanProcesses is how often a fresh process is measured, orphanPasses how many passes the first of them makes.
	orphanProcesses, orphanPasses = 3, 2
	// orphanPause is between two passes: longer than an answer is used again.
	orphanPause = 16 * time.Second

	// quantityCPU is processor time of the driver, in milliseconds.
	quantityCPU = "cpu"
)

// measureOrphans looks for orphans in a project with many servers, with a warm session: as the first pass of a process, that
// knows nothing yet, and as a later one.
func measureOrphans(ctx context.Context, b *Bed) (m Measurement, err error) {
	foreign := owner.Owner{Shoot: foreignShoot, Site: siteName}
	ours := owner.Owner{Shoot: stubShoot, Site: siteName}
	s, err := newStubCloud(stubShoot, openstackstub.Settings{Servers: []openstackstub.Servers{
		{Project: stubProject(0), Prefix: stubShoot + "-bench-", Count: orphanServers, Metadata: ours.Metadata()},
		{Project: stubProject(0), Prefix: foreignShoot + "-bench-", Count: foreignServers, Metadata: foreign.Metadata()},
	}})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	j, err := s.job(ctx, orphanClasses)
	if err != nil {
		return m, err
	}
	for process := range orphanProcesses {
		passes := 1
		if process == 0 {
			passes = orphanPasses
		}
		if err := s.passes(ctx, b, j, process, passes, &m); err != nil {
			return m, err
		}
	}
	m.Note = fmt.Sprintf("%s; %d classes, %d servers, %d of them ours; warm session; worst of %d first passes of a process and %d later one",
		stubNote, orphanClasses, orphanServers+foreignServers, orphanServers, orphanProcesses, orphanPasses-1)
	return m, nil
}

// passes lets a fresh process look for orphans.
func (s *stubCloud) passes(ctx context.Context, b *Bed, j job, process, passes int, m *Measurement) (err error) {
	driver, err := newSubject(ctx, j, b.progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, driver.stop()) }()
	for pass := range passes {
		if pass > 0 {
			fmt.Fprintf(b.progress, "  wait %s for the next pass\n", orphanPause)
			if err := sleep(ctx, orphanPause); err != nil {
				return err
			}
		}
		var r report
		run := fmt.Sprintf("process-%d-pass-%d", process+1, pass+1)
		records, err := s.record(ctx, run, func(context.Context) (err error) {
			r, err = driver.do(order{Do: doList})
			return err
		})
		if err != nil {
			return err
		}
		if r.Machines != orphanServers {
			return fmt.Errorf("%s found %d machines, want %d", run, r.Machines, orphanServers)
		}
		m.Records = append(append(m.Records, records...), sample(run, quantityCPU, float64(r.CPU)/float64(time.Millisecond)))
	}
	return nil
}

// job makes the site's infrastructure and describes the classes of several pools on it.
func (s *stubCloud) job(ctx context.Context, classes int) (job, error) {
	if err := s.prepare(ctx); err != nil {
		return job{}, err
	}
	spec, err := s.machineSpec(ctx, nil)
	if err != nil {
		return job{}, err
	}
	j := job{Secret: s.secret()}
	j.Classes, err = s.poolClasses(spec, classes)
	return j, err
}

func sleep(ctx context.Context, duration time.Duration) error {
	select {
	case <-time.After(duration):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
