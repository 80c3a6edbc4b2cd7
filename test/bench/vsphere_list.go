// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// measureVSphereList lists so many machines in a new process, and in one with a warm session that has not listed yet.
func measureVSphereList(count int) measure {
	return func(ctx context.Context, b *Bed) (m Measurement, err error) {
		s, err := newVSphereSite(ctx, vcenter.Options{})
		if err != nil {
			return m, err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		start := time.Now()
		if err := s.populate(ctx, count); err != nil {
			return m, err
		}
		fmt.Fprintf(b.progress, "  %d virtual machines after %.1f s\n", count, time.Since(start).Seconds())

		peer := s.newPeer(ctx, b)
		defer peer.close()
		peer.populate(ctx, count)

		var walls [2]time.Duration
		for i, run := range []string{"new", "warm"} {
			s.restart()
			if run == "warm" {
				if _, err := s.machines.Get(ctx, s.request("none")); platform.ClassOf(err) != platform.ClassNotFound {
					return m, fmt.Errorf("machine that does not exist: %w", err)
				}
			}
			records, err := s.observe(ctx, run, func(ctx context.Context) error { return s.list(ctx, count) })
			if err != nil {
				return m, err
			}
			m.Records = append(m.Records, records...)
			walls[i] = countproxy.Span(intervals(records))
			peer.list(ctx, run, count)
		}
		m.Peer = peer.measured()
		m.Peer.Note = peer.worst()
		_, byRun := runs(m.Records)
		m.Note = fmt.Sprintf(
			"%s; %d machines in the shoot's folder; new process %d in %.1f s, warm session %d in %.1f s (%s), %.0f B per machine",
			vsphereNote, count, len(byRun["new"]), walls[0].Seconds(), len(byRun["warm"]), walls[1].Seconds(), methods(byRun["warm"]),
			megabytes(byRun["warm"])*1e6/float64(count))
		return m, nil
	}
}

// populate fills the shoot's folder with machines of the shoot.
func (s *vsphereSite) populate(ctx context.Context, count int) error {
	return s.server.Populate(ctx, control.Population{
		Folder:      s.spec.VSphere.Folder,
		Template:    s.spec.VSphere.Template,
		Prefix:      vsphereShoot + "-list-",
		Count:       count,
		ExtraConfig: owner.Owner{Shoot: vsphereShoot, Site: vsphereSiteName}.ExtraConfig(),
	})
}

func (s *vsphereSite) list(ctx context.Context, want int) error {
	found, err := s.machines.List(ctx, s.request(""))
	if err != nil {
		return err
	}
	ids := map[string]bool{}
	for _, machine := range found {
		ids[machine.ProviderID] = true
	}
	if len(ids) != want {
		return fmt.Errorf("%d machines were listed, want %d", len(ids), want)
	}
	return nil
}
