// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
)

// stepTimeout is how long most steps may take, on a machine that runs other tests, too.
const stepTimeout = 10 * time.Minute

// figure is something that was measured.
type figure struct {
	name  string
	value float64
}

// taken is how long a step took.
type taken struct {
	name string
	time time.Duration
}

// timeline prints the steps while they run and a table of them in the end.
type timeline struct {
	start time.Time
	steps []taken
	since time.Time
	// figures are what was measured, in the order of the steps.
	figures []figure
}

// begin starts the clock.
func (t *timeline) begin() {
	t.start, t.since = time.Now(), time.Now()
}

// add is the end of something that began with the end of what was before.
func (t *timeline) add(name string) {
	t.steps = append(t.steps, taken{name: name, time: time.Since(t.since)})
	t.since = time.Now()
}

// step is a spec that is timed.
func (t *timeline) step(name string, run func(SpecContext)) {
	t.stepWithin(stepTimeout, name, run)
}

// stepWithin is a step that may take longer than others.
func (t *timeline) stepWithin(timeout time.Duration, name string, run func(SpecContext)) {
	It(name, func(ctx SpecContext) {
		t.since = time.Now()
		t.print("==> " + name)
		run(ctx)
		t.print(fmt.Sprintf("    done in %.1f s", time.Since(t.since).Seconds()))
		t.add(name)
	}, NodeTimeout(timeout))
}

// tell prints how far a step is.
func (t *timeline) tell(message string) {
	t.print(fmt.Sprintf("    %4.0f s  %s", time.Since(t.since).Seconds(), message))
}

// figure reports a figure: at once, in the table of the end, and in the report of the spec.
func (t *timeline) figure(name string, value float64) {
	t.figures = append(t.figures, figure{name: name, value: value})
	t.tell(fmt.Sprintf("%s: %.0f", name, value))
	AddReportEntry(name, value)
}

// print writes at once what a reporter of specs would only write in the end.
func (t *timeline) print(line string) {
	fmt.Fprintf(os.Stdout, "%s %s\n", time.Now().Format(time.TimeOnly), line)
}

// table prints how long the steps took.
func (t *timeline) table() {
	width := len("in total")
	for _, s := range t.steps {
		width = max(width, len(s.name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-*s  %8s\n", width, "STEP", "TIME")
	for _, s := range append(t.steps, taken{name: "in total", time: time.Since(t.start)}) {
		fmt.Fprintf(&b, "%-*s  %6.1f s\n", width, s.name, s.time.Seconds())
	}
	for _, f := range t.figures {
		fmt.Fprintf(&b, "%-*s  %6.0f\n", width, f.name, f.value)
	}
	fmt.Fprintln(os.Stdout, b.String())
}

// failure prints why a spec failed.
func (t *timeline) failure() {
	if report := CurrentSpecReport(); report.Failed() {
		t.tell("FAILED: " + report.FailureMessage())
	}
}

// Write prints what commands write.
func (t *timeline) Write(p []byte) (int, error) {
	return os.Stdout.Write(p)
}
