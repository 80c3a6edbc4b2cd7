// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	landscapeshoot "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
)

const (
	// quantityTold is how long it took until a fault of a site stood in its condition, in seconds.
	quantityTold = "told"
	// quantityWell is how long it took until the end of the fault stood there, in seconds.
	quantityWell = "well"
)

// measureSiteFaults lets sites of all platforms fail and get well, one after the other.
func measureSiteFaults(ctx context.Context, b *Bed) (m Measurement, err error) {
	if b.cloud == nil {
		if err := b.start(ctx); err != nil {
			return m, err
		}
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binaries, err := landscapeshoot.Build(ctx, dir, b.progress)
	if err != nil {
		return m, err
	}
	lab, err := sitefaults.Start(ctx, sitefaults.Options{Dir: dir, Bed: b.openstack, Binaries: binaries, Progress: b.progress})
	defer func() { err = errors.Join(err, lab.Stop(ctx)) }()
	if err != nil {
		return m, err
	}

	var notes []string
	for _, fault := range lab.Faults() {
		if err := fault.Begin(ctx); err != nil {
			return m, err
		}
		told, err := awaitSites(ctx, lab, fault.Sites, fault.Reason)
		if err != nil {
			return m, err
		}
		if err := fault.End(ctx); err != nil {
			return m, err
		}
		well, err := awaitSites(ctx, lab, fault.Sites, fault.Well())
		if err != nil {
			return m, err
		}
		fmt.Fprintf(b.progress, "  %s: told after %.1f s, well after %.1f s\n", fault.Name, told.Seconds(), well.Seconds())
		m.Records = append(m.Records, sample(fault.Name, quantityTold, told.Seconds()), sample(fault.Name, quantityWell, well.Seconds()))
		notes = append(notes, fmt.Sprintf("%s %.1f s, %.1f s", fault.Name, told.Seconds(), well.Seconds()))
	}
	m.Note = "real Keystone and Nova, simulated vCenter, real inventory API; until a fault is told, until its end is told: " +
		strings.Join(notes, "; ")
	return m, nil
}

// awaitSites waits until the conditions of all sites have the reason, and returns how long that took.
func awaitSites(ctx context.Context, lab *sitefaults.Lab, sites []string, reason string) (time.Duration, error) {
	start := time.Now()
	for _, site := range sites {
		if _, err := lab.Await(ctx, site, reason); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}
