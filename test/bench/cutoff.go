// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	landscapeshoot "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/partitions"
)

const (
	// cutOffGrace is the time after which kube-controller-manager of Gardener finds a node unknown.
	cutOffGrace = 40 * time.Second
	// cutOffHealth is shorter than the 10 minutes of Gardener, and longer than it takes to find that a site is cut off.
	cutOffHealth = time.Minute

	// quantityLost is the number of machines that were lost.
	quantityLost = "lost"
	// quantityQuarantined is the time from the cut to the quarantine, in seconds.
	quantityQuarantined = "quarantined"
	// quantityNextSite is the time from the request for a machine at a site that is down until it runs at the next one, in seconds.
	quantityNextSite = "next site"

	cutOffNote = "real machine-controller-manager, driver, extension and node lifecycle controller; simulated vCenter; real inventory"
)

// cutOffTiming are the times of the partitions.
func cutOffTiming() partitions.Timing {
	return partitions.Timing{Grace: cutOffGrace, Health: cutOffHealth}
}

// withPartitions does something in a lab without shoots.
func withPartitions(ctx context.Context, b *Bed, do func(*partitions.Lab) error) (err error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o750); err != nil {
		return err
	}
	binaries, err := landscapeshoot.Build(ctx, own, b.progress)
	if err != nil {
		return err
	}
	lab, err := partitions.Start(ctx, partitions.Options{Dir: dir, Binaries: binaries, Progress: b.progress, Grace: cutOffGrace})
	defer func() { err = errors.Join(err, lab.Stop()) }()
	if err != nil {
		return err
	}
	return do(lab)
}

// measureCutOff cuts a site of two shoots off at the same time: one has the default quarantine, the other one none.
func measureCutOff(ctx context.Context, b *Bed) (m Measurement, err error) {
	row := partitions.Row{ID: "ours", Machines: map[string]int{partitions.SiteVSphere: 4}, Site: partitions.SiteVSphere,
		Share: v1alpha1.DefaultQuarantineShare, Back: partitions.BackNever, Expect: partitions.ExpectKept}
	without := row
	without.ID, without.Share, without.Expect = "without", 0, partitions.ExpectMCM
	return m, withPartitions(ctx, b, func(lab *partitions.Lab) error {
		outcomes, err := lab.Run(ctx, cutOffTiming(), row, without)
		if err != nil {
			return err
		}
		ours, peer := outcomes[row.ID], outcomes[without.ID]
		if ours.Quarantined == 0 {
			return errors.New("there was no quarantine")
		}
		m.Records = []Record{sample(row.ID, quantityLost, float64(len(ours.Gone))),
			sample(row.ID, quantityQuarantined, ours.Quarantined.Seconds())}
		m.Peer = &PeerRun{Of: peerMCM, Rounds: 1, Records: []Record{sample(without.ID, quantityLost, float64(len(peer.Gone)))},
			Note: fmt.Sprintf("the same driver without quarantine: the first machine after %.0f s, %d requests that end machines",
				peer.Replaced.Seconds(), peer.Before.Requests)}
		m.Note = fmt.Sprintf("%s; 4 machines of one pool; nodes are unknown after %s, health timeout %s", cutOffNote, cutOffGrace, cutOffHealth)
		return nil
	})
}

const (
	// scaledUp is how many machines the undisturbed site gets.
	scaledUp       = 3
	scaleUpTimeout = 5 * time.Minute
)

// measureCutOffOthers scales a site up, alone and while another site is cut off, and then asks the site that is down for a machine.
func measureCutOffOthers(ctx context.Context, b *Bed) (m Measurement, err error) {
	return m, withPartitions(ctx, b, func(lab *partitions.Lab) error {
		row := partitions.Row{ID: "others", Share: v1alpha1.DefaultQuarantineShare,
			Machines: map[string]int{partitions.SiteVSphere: 1, partitions.SiteMetal3: 2}}
		s, err := lab.NewShoot(ctx, row.ShootOptions(cutOffTiming()))
		if err != nil {
			return err
		}
		// The first machines find processes that know nothing yet.
		for _, run := range []string{"first", alonePrefix + "1", alonePrefix + "2", togetherPrefix + "1", togetherPrefix + "2"} {
			if run == togetherPrefix+"1" {
				if err := s.Cut(partitions.SiteMetal3); err != nil {
					return err
				}
				if err := s.AwaitQuarantine(ctx, partitions.SiteMetal3, 2*cutOffGrace); err != nil {
					return err
				}
			}
			took, err := s.ScaleTo(ctx, partitions.SiteVSphere, 1+scaledUp, scaleUpTimeout)
			if err != nil {
				return err
			}
			fmt.Fprintf(b.progress, "  %s: %.1f s\n", run, took.Seconds())
			m.Records = append(m.Records, sample(run, quantityWall, took.Seconds()))
			if _, err := s.ScaleTo(ctx, partitions.SiteVSphere, 1, scaleUpTimeout); err != nil {
				return err
			}
		}
		m.Note = fmt.Sprintf("%s; %d machines of vSphere while the site of 2 hosts is cut off", cutOffNote, scaledUp)
		return nil
	})
}

// measureNextSite asks a site whose API is down for a machine, and the next site as soon as that says that it has no room, as the
// cluster-autoscaler does.
func measureNextSite(ctx context.Context, b *Bed) (m Measurement, err error) {
	return m, withPartitions(ctx, b, func(lab *partitions.Lab) error {
		row := partitions.Row{ID: "next", Machines: map[string]int{partitions.SiteVSphere: 1, partitions.SiteMetal3: 1}}
		s, err := lab.NewShoot(ctx, row.ShootOptions(cutOffTiming()))
		if err != nil {
			return err
		}
		if err := s.TakeDown(partitions.SiteMetal3); err != nil {
			return err
		}
		refused, err := s.AwaitExhausted(ctx, partitions.SiteMetal3, scaleUpTimeout)
		if err != nil {
			return err
		}
		took, err := s.ScaleTo(ctx, partitions.SiteVSphere, 2, scaleUpTimeout)
		if err != nil {
			return err
		}
		m.Records = []Record{sample(row.ID, quantityNextSite, (refused + took).Seconds())}
		m.Note = fmt.Sprintf("%s; the inventory is down, its nodes are not; it says that it has no room after %.0f s, the machine of vSphere "+
			"runs %.0f s later", cutOffNote, refused.Seconds(), took.Seconds())
		return nil
	})
}
