// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// phaseTimeout is how long a phase may take, with the recovery from a kill.
const phaseTimeout = 90 * time.Second

// kill is the end of a process right after one of its writes, whose answer it does not get. The zero value is none.
type kill struct {
	process *landscape.Process
	write   int
}

// phase is a part of a life cycle.
type phase struct {
	name string
	// do asks for something and returns when it is done.
	do func(context.Context) error

	// result is what is in OpenStack after the phase, and kills are all that are possible in it, both from a run without any.
	result []string
	kills  []kill
}

// matrix runs a life cycle without a kill, and then as often as it takes to end each process once after each of its writes in
// each phase. There is one kill in a phase.
func matrix(ctx context.Context, phases ...*phase) {
	table := &strings.Builder{}
	defer func() { AddReportEntry("crash matrix", table.String(), ReportEntryVisibilityAlways) }()

	cycles := 0
	for _, p := range phases {
		writes := p.run(ctx, kill{}, table)
		for _, process := range []*landscape.Process{local.Seed.Extension, local.Seed.Driver} {
			for k := 1; k <= len(by(process, writes)); k++ {
				p.kills = append(p.kills, kill{process: process, write: k})
			}
		}
		p.result = inventory(ctx)
		cycles = max(cycles, len(p.kills))
	}
	for cycle := range cycles {
		for _, p := range phases {
			if cycle >= len(p.kills) {
				p.run(ctx, kill{}, table)
			} else {
				p.run(ctx, p.kills[cycle], table)
			}
			Expect(inventory(ctx)).To(Equal(p.result), table.String())
		}
	}
	for _, p := range phases {
		Expect(p.kills).NotTo(BeEmpty(), "nothing is written in phase %s", p.name)
	}
}

// run runs the phase and returns the writes.
func (p *phase) run(ctx context.Context, k kill, table *strings.Builder) []countproxy.Request {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()

	label := fmt.Sprintf("%s %d", p.name, time.Now().UnixNano())
	proxy.SetLabel(label)
	restarted := make(chan error, 1)
	if k.process != nil {
		By(fmt.Sprintf("%s: killing %s after write %d", p.name, k.process.Name, k.write))
		Expect(proxy.SetFaults(countproxy.Fault{
			Name: "kill", Client: k.process.Name, Kind: countproxy.KindWrite, Skip: k.write - 1, Times: 1,
			Action: countproxy.ActionCall, After: true,
			Call: func(countproxy.Request) {
				k.process.Kill()
				restarted <- k.process.Start()
			},
		})).To(Succeed())
	}
	start := time.Now()
	err := p.do(ctx)
	took := time.Since(start).Round(100 * time.Millisecond)
	requests := proxy.Requests(label)
	Expect(proxy.SetFaults()).To(Succeed())

	var writes []countproxy.Request
	for _, request := range requests {
		if request.Kind == countproxy.KindWrite {
			writes = append(writes, request)
		}
	}
	if k.process == nil {
		fmt.Fprintf(table, "%-22s %-45s writes: extension %d, driver %d; %s\n", p.name, "undisturbed",
			len(by(local.Seed.Extension, writes)), len(by(local.Seed.Driver, writes)), took)
		Expect(err).NotTo(HaveOccurred(), table.String())
		return writes
	}

	last := slices.IndexFunc(writes, func(r countproxy.Request) bool { return r.Fault == "kill" })
	Expect(last).To(BeNumerically(">=", 0), "%s has not written %d times in phase %s\n%s", k.process.Name, k.write, p.name, table)
	Expect(restarted).To(Receive(BeNil()))
	fmt.Fprintf(table, "%-22s %-45s %2d  %s %s: %d; %s\n", p.name, k.process.Name, k.write,
		writes[last].Service, writes[last].Pattern, writes[last].ServiceStatus, took)
	Expect(err).NotTo(HaveOccurred(), table.String())
	return writes
}

// by returns the requests of a process.
func by(process *landscape.Process, requests []countproxy.Request) []countproxy.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r countproxy.Request) bool { return r.Client != process.Name })
}

// random are the parts of names and marks that are different each time: IDs, and what MachineSets and Machines have at the end.
var random = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|-[0-9a-z]{5}-[0-9a-z]{5}\b`)

// inventory is all that belongs to the shoot in OpenStack, with names and marks.
func inventory(ctx context.Context) []string {
	GinkgoHelper()
	objects, err := local.Objects(ctx)
	Expect(err).NotTo(HaveOccurred())
	var result []string
	for _, o := range objects {
		line := fmt.Sprintf("%s: %s %s %s", o.Project, o.Kind, o.Name, strings.Join(slices.Sorted(slices.Values(o.Marks)), ", "))
		result = append(result, random.ReplaceAllString(line, "*"))
	}
	slices.Sort(result)
	return result
}
