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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

const (
	undisturbed = "undisturbed"
	getServer   = "GET server"
	// retryAfter is what the answers with 429 ask for.
	retryAfter = 2 * time.Second

	// stubBoot is how long servers of the stub boot.
	stubBoot = time.Second
	// reaction is how long an answer takes to the client: a request that arrives meanwhile was sent before.
	reaction = 100 * time.Millisecond
	// forgetful is longer than the driver uses an answer again for the status of a machine.
	forgetful = 6 * time.Second

	// quantityWave is how long it takes until machines that are created side by side are running, in seconds.
	quantityWave = "wave"
	// quantityDifference is how many servers there are too many or too few.
	quantityDifference = "difference"
)

// targets are the requests that meet a fault.
var targets = []countproxy.Fault{
	{Name: getServer, Service: "nova", Method: http.MethodGet, Path: `/servers(/|$)`},
	{Name: "GET ports", Service: "neutron", Method: http.MethodGet, Path: `/ports$`},
	{Name: "POST port", Service: "neutron", Method: http.MethodPost, Path: `/ports$`},
	{Name: "POST server", Service: "nova", Method: http.MethodPost, Path: `/servers$`},
}

// kinds are the kinds of faults.
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
	w := &waves{cloud: b.cloud, lab: l, progress: b.progress, size: waveSize, servers: func(ctx context.Context) (int, error) {
		servers, err := b.inspector.Servers(ctx, b.shoot+"-")
		return len(servers), err
	}}
	m, err := w.run(ctx, together())
	if err != nil {
		return m, err
	}
	_, err = l.scale(ctx, 0, waveTimeout)
	return m, err
}

// measureFaultDelay creates one machine for each fault, on the stub: how long a real OpenStack takes to boot servers on a
// developer's machine varies more than what is measured.
func measureFaultDelay(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, l, err := newStubLab(ctx, b.progress, openstackstub.Settings{BootDelay: stubBoot})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	defer l.close()
	w := &waves{cloud: s.cloud, lab: l, progress: b.progress, size: 1, servers: func(context.Context) (int, error) {
		return len(s.stub.Active(stubProject(0))), nil
	}}
	m, err = w.run(ctx, apart())
	m.Note = stubNote + "; " + m.Note
	return m, err
}

// scenario is what happens while machines are created.
type scenario struct {
	name   string
	faults []countproxy.Fault
}

// together are scenarios with one kind of fault on all targets.
func together() []scenario {
	var scenarios []scenario
	for _, kind := range kinds {
		s := scenario{name: kind.Name}
		for _, target := range targets {
			s.faults = append(s.faults, faultOn(kind, target))
		}
		scenarios = append(scenarios, s)
	}
	return scenarios
}

// apart are scenarios with one fault each.
func apart() []scenario {
	var scenarios []scenario
	for _, kind := range kinds {
		for _, target := range targets {
			scenarios = append(scenarios, scenario{name: kind.Name + " on " + target.Name, faults: []countproxy.Fault{faultOn(kind, target)}})
		}
	}
	return scenarios
}

func faultOn(kind, target countproxy.Fault) countproxy.Fault {
	kind.Name = target.Name
	kind.Service, kind.Method, kind.Path, kind.Times = target.Service, target.Method, target.Path, 1
	return kind
}

// waves create machines on a site again and again.
type waves struct {
	*cloud
	*lab

	progress io.Writer
	// size is how many machines are created side by side, total how many there are.
	size, total int
	// servers counts the servers of the shoot.
	servers func(context.Context) (int, error)
}

// run creates machines undisturbed and in all scenarios.
func (w *waves) run(ctx context.Context, scenarios []scenario) (Measurement, error) {
	// The first machine finds processes that know nothing yet.
	if _, err := w.wave(ctx, scenario{name: "first"}); err != nil {
		return Measurement{}, err
	}
	m := Measurement{}
	var walls []string
	for _, s := range append([]scenario{{name: undisturbed}}, scenarios...) {
		fmt.Fprintf(w.progress, "  create machines: %s\n", s.name)
		records, err := w.wave(ctx, s)
		if err != nil {
			return m, fmt.Errorf("%s: %w", s.name, err)
		}
		m.Records = append(m.Records, records...)
		walls = append(walls, fmt.Sprintf("%s %.1f s", s.name, samplesOf(records, quantityWave)[0]))
	}
	m.Note = fmt.Sprintf("real machine-controller-manager; machines side by side: %d; Retry-After %s; running after: %s", w.size, retryAfter,
		strings.Join(walls, ", "))
	return m, nil
}

// wave creates further machines and counts the servers.
func (w *waves) wave(ctx context.Context, s scenario) ([]Record, error) {
	if slices.ContainsFunc(s.faults, func(f countproxy.Fault) bool { return f.Name == getServer }) {
		// The driver uses what it knows of the servers for a moment, and would not ask.
		if err := sleep(ctx, forgetful); err != nil {
			return nil, err
		}
	}
	if err := w.proxy.SetFaults(s.faults...); err != nil {
		return nil, err
	}
	w.total += w.size
	start := time.Now()
	records, err := w.record(ctx, s.name, func(ctx context.Context) error {
		_, err := w.scale(ctx, w.total, waveTimeout)
		return err
	})
	if err != nil {
		return nil, err
	}
	records = append(records, sample(s.name, quantityWave, time.Since(start).Seconds()))
	for _, fault := range s.faults {
		if w.proxy.Acted(fault.Name) != 1 {
			return nil, fmt.Errorf("no %s met the fault", fault.Name)
		}
	}
	servers, err := w.servers(ctx)
	if err != nil {
		return nil, err
	}
	records = append(records, sample(s.name, quantityDifference, math.Abs(float64(servers-w.total))))
	return records, w.proxy.SetFaults()
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
		answered := r.interval().End
		for _, other := range records {
			if other.Service == r.Service && other.Time.After(answered.Add(reaction)) && other.Time.Before(answered.Add(retryAfter)) {
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
