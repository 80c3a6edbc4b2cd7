// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

const (
	countRounds = 3
	wallRounds  = 9
	// roundTripDelay is so long that requests which do not wait for each other overlap, however busy the machine is.
	roundTripDelay = 250 * time.Millisecond
)

// measureNoop reconciles some times with nothing to do and keeps the run with the most requests.
func measureNoop(ctx context.Context, b *Bed) (Measurement, error) {
	return worstNoop(ctx, b, requests)
}

// measureNoopRoundTrips delays each request and keeps the run with the most round trips: requests that are sent at the same
// time overlap then, however busy the machine is.
func measureNoopRoundTrips(ctx context.Context, b *Bed) (Measurement, error) {
	if err := b.prepare(ctx); err != nil {
		return Measurement{}, err
	}
	if err := b.proxy.SetFaults(countproxy.Fault{Name: "round trip", Action: countproxy.ActionDelay, Delay: roundTripDelay}); err != nil {
		return Measurement{}, err
	}
	m, err := worstNoop(ctx, b, roundTrips)
	if err != nil {
		return Measurement{}, err
	}
	m.Note += fmt.Sprintf("; each request delayed by %s", roundTripDelay)
	return m, b.proxy.SetFaults()
}

func worstNoop(ctx context.Context, b *Bed, count func([]Record) float64) (Measurement, error) {
	if err := b.prepare(ctx); err != nil {
		return Measurement{}, err
	}
	m := Measurement{Note: fmt.Sprintf("warm session; worst of %d, its log is kept", countRounds)}
	for round := range countRounds {
		records, err := b.observe(ctx, fmt.Sprintf("noop-%d", round+1), b.reconcile)
		if err != nil {
			return Measurement{}, err
		}
		if count(records) > count(m.Records) {
			m.Records = records
		}
	}
	return m, nil
}

// measureNoopWall alternates the reconciliation with its floor: the same reads, sent in parallel, with a warm token over
// warm connections.
func measureNoopWall(ctx context.Context, b *Bed) (Measurement, error) {
	if err := b.prepare(ctx); err != nil {
		return Measurement{}, err
	}
	reads, err := b.observe(ctx, "sample", b.reconcile)
	if err != nil {
		return Measurement{}, err
	}
	floor, err := newReplay(ctx, b, reads)
	if err != nil {
		return Measurement{}, err
	}
	defer floor.close()
	for range 2 {
		if err := floor.run(ctx); err != nil {
			return Measurement{}, err
		}
	}

	var (
		m                     Measurement
		oursWalls, floorWalls []time.Duration
	)
	for round := range wallRounds {
		start := time.Now()
		records, err := b.observe(ctx, fmt.Sprintf("%s%d", oursPrefix, round+1), b.reconcile)
		if err != nil {
			return Measurement{}, err
		}
		oursWalls = append(oursWalls, time.Since(start))
		m.Records = append(m.Records, records...)

		start = time.Now()
		records, err = b.record(ctx, fmt.Sprintf("%s%d", floorPrefix, round+1), floor.run)
		if err != nil {
			return Measurement{}, err
		}
		floorWalls = append(floorWalls, time.Since(start))
		m.Records = append(m.Records, records...)
	}
	ours, theirs := median(oursWalls), median(floorWalls)
	m.Note = fmt.Sprintf("measures what waits for something else: the same %d reads, sent at once; medians of %d; by the client's clock %d "+
		"ms : %d ms = %.2f",
		len(reads), wallRounds, ours.Milliseconds(), theirs.Milliseconds(), float64(ours)/float64(theirs))
	return m, nil
}
