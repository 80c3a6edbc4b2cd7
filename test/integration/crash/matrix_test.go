// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// phaseTimeout is how long a phase may take, with the recovery from a kill: minutes if others load OpenStack.
const phaseTimeout = 5 * time.Minute

// phase is a part of a life cycle.
type phase struct {
	name string
	// do asks for something and returns when it is done.
	do func(context.Context, *stand) error

	// result is what is in OpenStack after the phase, and kills are all that are possible in it, both from runs without any.
	result []string
	kills  []kill
}

// kill is the end of a process right after one of its writes, whose answer it does not get. The zero value is none.
type kill struct {
	process string
	write   int
}

// matrix runs a life cycle without a kill, and then as often as it takes to end each process once after each of its writes in
// each phase, with one kill in a phase.
func matrix(ctx context.Context, phases ...*phase) {
	GinkgoHelper()
	t := &table{}
	defer func() { AddReportEntry("crash matrix", t.String(), ReportEntryVisibilityAlways) }()

	cycles := 0
	for _, p := range phases {
		Expect(p.plan(ctx, t)).To(Succeed())
		Expect(p.kills).NotTo(BeEmpty(), "nothing is written: %s", p.name)
		cycles = max(cycles, len(p.kills))
	}
	queue := make(chan int, cycles)
	for cycle := range cycles {
		queue <- cycle
	}
	close(queue)

	Expect(inAll(func(s *stand) error {
		for cycle := range queue {
			for _, p := range phases {
				if err := p.check(ctx, s, cycle, t); err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
			}
		}
		return nil
	})).To(Succeed())
}

// inAll does something in all stands at the same time.
func inAll(do func(*stand) error) error {
	var (
		group sync.WaitGroup
		errs  = make([]error, len(all))
	)
	for i, s := range all {
		group.Go(func() { errs[i] = do(s) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// plan runs the phase in all stands without a kill and finds out what its result is and which kills are possible: what takes long on a
// busy machine is written again, which other runs need not do.
func (p *phase) plan(ctx context.Context, t *table) error {
	var (
		mutex   sync.Mutex
		results [][]string
		fewest  = map[string]int{}
	)
	err := inAll(func(s *stand) error {
		writes, err := p.run(ctx, s, kill{}, t)
		if err != nil {
			return err
		}
		result, err := s.inventory(ctx)
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		results = append(results, result)
		for _, process := range []*landscape.Process{s.Seed.Extension, s.Seed.Driver} {
			made := countBy(process.Name, writes)
			if known, ok := fewest[process.Name]; !ok || made < known {
				fewest[process.Name] = made
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.result = results[0]
	for _, result := range results {
		if err := p.compare(result); err != nil {
			return err
		}
	}
	for _, process := range slices.Sorted(maps.Keys(fewest)) {
		for k := 1; k <= fewest[process]; k++ {
			p.kills = append(p.kills, kill{process: process, write: k})
		}
	}
	return nil
}

// compare returns an error unless the result is that of a run without a kill.
func (p *phase) compare(result []string) error {
	if slices.Equal(result, p.result) {
		return nil
	}
	return fmt.Errorf("%s: there is\n%s\ninstead of\n%s", p.name, strings.Join(result, "\n"), strings.Join(p.result, "\n"))
}

// check runs the phase with the kill of the cycle, if there is one, and compares the result.
func (p *phase) check(ctx context.Context, s *stand, cycle int, t *table) error {
	k := kill{}
	if cycle < len(p.kills) {
		k = p.kills[cycle]
	}
	if _, err := p.run(ctx, s, k, t); err != nil {
		return err
	}
	result, err := s.inventory(ctx)
	if err != nil {
		return err
	}
	return p.compare(result)
}

// run runs the phase and returns the writes.
func (p *phase) run(ctx context.Context, s *stand, k kill, t *table) ([]countproxy.Request, error) {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()

	label := fmt.Sprintf("%s %d", p.name, time.Now().UnixNano())
	s.proxy.SetLabel(label)
	restarted := make(chan error, 1)
	if err := s.arm(k, restarted); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := p.do(ctx, s); err != nil {
		return nil, fmt.Errorf("%s, killing %v: %w", p.name, k, err)
	}
	took := time.Since(start)
	requests := s.proxy.Requests(label)
	if err := s.proxy.SetFaults(); err != nil {
		return nil, err
	}

	writes := slices.DeleteFunc(requests, func(r countproxy.Request) bool { return r.Kind != countproxy.KindWrite })
	if k == (kill{}) {
		t.undisturbed(p, countBy(s.Seed.Extension.Name, writes), countBy(s.Seed.Driver.Name, writes), took)
		return writes, nil
	}
	last := slices.IndexFunc(writes, func(r countproxy.Request) bool { return r.Fault == faultName })
	if last < 0 {
		return nil, fmt.Errorf("%s: %s has not written %d times", p.name, k.process, k.write)
	}
	t.killed(p, k, writes[last], took)
	return writes, <-restarted
}

const faultName = "kill"

// arm lets the proxy kill a process and start it again.
func (s *stand) arm(k kill, restarted chan<- error) error {
	for _, process := range []*landscape.Process{s.Seed.Extension, s.Seed.Driver} {
		if process.Name != k.process {
			continue
		}
		return s.proxy.SetFaults(countproxy.Fault{
			Name: faultName, Client: process.Name, Kind: countproxy.KindWrite, Skip: k.write - 1, Times: 1,
			Action: countproxy.ActionCall, After: true,
			Call: func(countproxy.Request) {
				process.Kill()
				restarted <- process.Start()
			},
		})
	}
	return nil
}

// countBy returns how many requests are those of a process.
func countBy(process string, requests []countproxy.Request) int {
	count := 0
	for _, r := range requests {
		if r.Client == process {
			count++
		}
	}
	return count
}
