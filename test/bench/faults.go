// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

const (
	undisturbed = "undisturbed"
	// retryAfter is what the answers with 429 ask for.
	retryAfter = 2 * time.Second

	// quantityWave is how long it takes until machines that are created side by side are running, in seconds.
	quantityWave = "wave"
	// quantityDifference is how many servers there are too many or too few.
	quantityDifference = "difference"
)

// targets are the requests that meet a fault in each wave.
var targets = []countproxy.Fault{
	{Name: "GET server", Service: "nova", Method: http.MethodGet, Path: `/servers(/|$)`},
	{Name: "GET ports", Service: "neutron", Method: http.MethodGet, Path: `/ports$`},
	{Name: "POST port", Service: "neutron", Method: http.MethodPost, Path: `/ports$`},
	{Name: "POST server", Service: "nova", Method: http.MethodPost, Path: `/servers$`},
}

// kinds are the faults, each of which all targets meet once.
var kinds = []countproxy.Fault{
	{Name: "503", Action: countproxy.ActionStatus, Status: http.StatusServiceUnavailable},
	{
		Name: "429", Action: countproxy.ActionStatus, Status: http.StatusTooManyRequests,
		Header: http.Header{"Retry-After": {strconv.Itoa(int(retryAfter.Seconds()))}},
	},
	{Name: "reset", Action: countproxy.ActionReset},
	{Name: "lost answer", Action: countproxy.ActionReset, After: true},
}

// measureFaults creates machines with machine-controller-manager and the driver while each kind of request that this takes
// meets a fault once.
func measureFaults(ctx context.Context, b *Bed) (Measurement, error) {
	l, err := b.machineLab(ctx)
	if err != nil {
		return Measurement{}, err
	}
	m := Measurement{Note: fmt.Sprintf("real machine-controller-manager; %d machines side by side for each of 503, 429 with Retry-After %s, reset and lost answer, once on each of GET server, GET ports, POST port and POST server",
		waveSize, retryAfter)}
	for _, kind := range append([]countproxy.Fault{{Name: undisturbed}}, kinds...) {
		fmt.Fprintf(b.progress, "  create machines: %s\n", kind.Name)
		records, err := b.wave(ctx, l, kind)
		if err != nil {
			return m, fmt.Errorf("%s: %w", kind.Name, err)
		}
		m.Records = append(m.Records, records...)
	}
	return m, nil
}

// faultsOf are the faults of one kind.
func faultsOf(kind countproxy.Fault) []countproxy.Fault {
	if kind.Action == "" {
		return nil
	}
	var faults []countproxy.Fault
	for _, target := range targets {
		fault := kind
		fault.Name = target.Name
		fault.Service, fault.Method, fault.Path, fault.Times = target.Service, target.Method, target.Path, 1
		faults = append(faults, fault)
	}
	return faults
}

// wave creates machines, counts their servers and deletes them.
func (b *Bed) wave(ctx context.Context, l *lab, kind countproxy.Fault) ([]Record, error) {
	faults := faultsOf(kind)
	if err := b.proxy.SetFaults(faults...); err != nil {
		return nil, err
	}
	start := time.Now()
	records, err := b.record(ctx, kind.Name, func(ctx context.Context) error {
		_, err := l.scale(ctx, waveSize, waveTimeout)
		return err
	})
	if err != nil {
		return nil, err
	}
	records = append(records, sample(kind.Name, quantityWave, time.Since(start).Seconds()))
	for _, fault := range faults {
		if b.proxy.Acted(fault.Name) != 1 {
			return nil, fmt.Errorf("no %s met the fault", fault.Name)
		}
	}
	servers, err := b.inspector.Servers(ctx, b.shoot+"-")
	if err != nil {
		return nil, err
	}
	records = append(records, sample(kind.Name, quantityDifference, math.Abs(float64(len(servers)-waveSize))))
	if err := b.proxy.SetFaults(); err != nil {
		return nil, err
	}
	_, err = l.scale(ctx, 0, waveTimeout)
	return records, err
}

// lostServers is the number of servers that were deleted while machines were created, or that no machine has.
func lostServers(records []Record) (float64, error) {
	differences := samplesOf(records, quantityDifference)
	if len(differences) == 0 {
		return 0, errors.New("the log has no servers")
	}
	lost := 0.0
	for _, difference := range differences {
		lost += difference
	}
	for _, record := range records {
		if record.Method == http.MethodDelete && strings.Contains(record.Path, "/servers/") {
			lost++
		}
	}
	return lost, nil
}

// earlyRequests is the number of requests to a service that had asked for a pause which was not over.
func earlyRequests(records []Record) (float64, error) {
	early, refused := 0, 0
	for _, r := range records {
		if r.Status != http.StatusTooManyRequests {
			continue
		}
		refused++
		from := r.interval().End
		for _, other := range records {
			if other.Service == r.Service && other.Time.After(from) && other.Time.Before(from.Add(retryAfter)) {
				early++
			}
		}
	}
	if refused == 0 {
		return 0, errors.New("the log has no answer with 429")
	}
	return float64(early), nil
}

// faultDelay is how much longer the slowest disturbed wave took than the undisturbed one.
func faultDelay(records []Record) (float64, error) {
	var base, slowest float64
	for _, record := range records {
		switch {
		case record.Kind != kindSample || record.Service != quantityWave:
		case record.Run == undisturbed:
			base = record.Value
		default:
			slowest = max(slowest, record.Value)
		}
	}
	if base == 0 || slowest == 0 {
		return 0, errors.New("the log has no undisturbed or no disturbed wave")
	}
	return max(0, slowest-base), nil
}
