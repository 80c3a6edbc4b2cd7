// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

const (
	undisturbed = "undisturbed"
	// retryAfter is what the answers with 429 ask for.
	retryAfter = 2 * time.Second

	// stubBoot is how long servers of the stub boot.
	stubBoot = 3 * time.Second

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
	w := &waves{cloud: b.cloud, lab: l, progress: b.progress, servers: func(ctx context.Context) (int, error) {
		servers, err := b.inspector.Servers(ctx, b.shoot+"-")
		return len(servers), err
	}}
	return w.run(ctx)
}

// measureFaultDelay does the same on the stub: how long a real OpenStack takes to boot servers on a developer's machine varies
// more than what is measured.
func measureFaultDelay(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, l, err := newStubLab(ctx, b.progress, openstackstub.Settings{BootDelay: stubBoot})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	defer l.close()
	w := &waves{cloud: s.cloud, lab: l, progress: b.progress, servers: func(context.Context) (int, error) {
		return len(s.stub.Active(stubProject(0))), nil
	}}
	m, err = w.run(ctx)
	m.Note = stubNote + "; " + m.Note
	return m, err
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

// waves create machines on a site again and again.
type waves struct {
	*cloud
	*lab

	progress io.Writer
	// servers counts the servers of the shoot.
	servers func(context.Context) (int, error)
}

func (w *waves) run(ctx context.Context) (Measurement, error) {
	m := Measurement{}
	var walls []string
	for _, kind := range append([]countproxy.Fault{{Name: undisturbed}}, kinds...) {
		fmt.Fprintf(w.progress, "  create machines: %s\n", kind.Name)
		records, err := w.wave(ctx, kind)
		if err != nil {
			return m, fmt.Errorf("%s: %w", kind.Name, err)
		}
		m.Records = append(m.Records, records...)
		walls = append(walls, fmt.Sprintf("%s %.1f s", kind.Name, samplesOf(records, quantityWave)[0]))
	}
	m.Note = fmt.Sprintf("real machine-controller-manager; %d machines side by side, each fault once on each of GET server, GET ports, POST port and POST server, Retry-After %s; all running after: %s",
		waveSize, retryAfter, strings.Join(walls, ", "))
	return m, nil
}

// wave creates machines, counts their servers and deletes them.
func (w *waves) wave(ctx context.Context, kind countproxy.Fault) ([]Record, error) {
	faults := faultsOf(kind)
	if err := w.proxy.SetFaults(faults...); err != nil {
		return nil, err
	}
	start := time.Now()
	records, err := w.record(ctx, kind.Name, func(ctx context.Context) error {
		_, err := w.scale(ctx, waveSize, waveTimeout)
		return err
	})
	if err != nil {
		return nil, err
	}
	records = append(records, sample(kind.Name, quantityWave, time.Since(start).Seconds()))
	for _, fault := range faults {
		if w.proxy.Acted(fault.Name) != 1 {
			return nil, fmt.Errorf("no %s met the fault", fault.Name)
		}
	}
	servers, err := w.servers(ctx)
	if err != nil {
		return nil, err
	}
	records = append(records, sample(kind.Name, quantityDifference, math.Abs(float64(servers-waveSize))))
	if err := w.proxy.SetFaults(); err != nil {
		return nil, err
	}
	_, err = w.scale(ctx, 0, waveTimeout)
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
