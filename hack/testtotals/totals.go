// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Expectation is what the tests have to do for their totals to be true.
type Expectation struct {
	// Packages are those that have to end, whether or not there is a word of them.
	Packages []string
	// Strict lets each skipped spec fail that is not in Skips.
	Strict bool
	// Skips has for a package how many of its specs may be skipped, at most, and why.
	Skips map[string]Exception
	// Limits are how long packages may take. One that takes longer fails.
	Limits Limits
}

// Exception is a number of specs of a package that may be skipped.
type Exception struct {
	Number int
	Reason string
}

// ReadSkips reads lines of a package, a number and a reason. Lines that are empty or begin with # have no meaning.
func ReadSkips(in io.Reader) (map[string]Exception, error) {
	skips := map[string]Exception{}
	for scanner := bufio.NewScanner(in); ; {
		if !scanner.Scan() {
			return skips, scanner.Err()
		}
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%q is not a package, a number and a reason", line)
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q has no number of specs", line)
		}
		skips[fields[0]] = Exception{Number: n, Reason: strings.Join(fields[2:], " ")}
	}
}

// Totals are numbers of specs.
type Totals struct {
	// Passed, Failed and Skipped are the specs with that result; pending ones are skipped.
	Passed, Failed, Skipped int
}

// String returns the totals as one line.
func (t Totals) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.Passed, t.Failed, t.Skipped)
}

func (t *Totals) add(other Totals) {
	t.Passed += other.Passed
	t.Failed += other.Failed
	t.Skipped += other.Skipped
}

// event is a line of `go test -json`.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	// Elapsed is in seconds.
	Elapsed float64
}

func (e *event) took() time.Duration {
	return time.Duration(e.Elapsed * float64(time.Second))
}

// run is the state of a package.
type run struct {
	totals  Totals
	output  strings.Builder
	summary map[string]Totals
	parents map[string]bool
	ended   bool
}

// skipReason is what Ginkgo and the testing package print of a skip.
var skipReason = regexp.MustCompile(`^\s*(\[SKIPPED\] .*|\S+\.go:\d+: .*)$`)

var suiteSummary = regexp.MustCompile(`(\d+) Passed.*?(\d+) Failed.*?(\d+) Pending.*?(\d+) Skipped`)

// Sum reads the events from in and writes to out what a person wants to see of them. A package that began, or was expected, and has no end
// counts as a failure: its process, or `go test` itself, was killed. It also returns how long packages took that have tests.
func Sum(in io.Reader, out io.Writer, expected Expectation) (Totals, []Took, error) {
	var (
		totals  Totals
		times   []Took
		runs    = map[string]*run{}
		builds  = map[string]*strings.Builder{}
		scanner = bufio.NewScanner(in)
	)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var e event
		if json.Unmarshal(scanner.Bytes(), &e) != nil {
			fmt.Fprintln(out, scanner.Text())
			continue
		}
		switch e.Action {
		case "build-output":
			if builds[e.ImportPath] == nil {
				builds[e.ImportPath] = &strings.Builder{}
			}
			builds[e.ImportPath].WriteString(e.Output)
			continue
		case "build-fail":
			if builds[e.ImportPath] != nil {
				fmt.Fprint(out, builds[e.ImportPath])
			}
			continue
		}
		if runs[e.Package] == nil {
			runs[e.Package] = &run{summary: map[string]Totals{}, parents: map[string]bool{}}
		}
		r := runs[e.Package]
		r.handle(e)
		if e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
			r.finish(e, out, expected)
			totals.add(r.totals)
			if r.totals != (Totals{}) {
				times = append(times, Took{Name: e.Package, Time: e.took()})
			}
		}
	}
	for _, name := range expected.Packages {
		if runs[name] == nil {
			runs[name] = &run{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		if r := runs[name]; name != "" && !r.ended {
			r.totals.Failed++
			fmt.Fprint(out, r.output.String())
			fmt.Fprintf(out, "FAIL  %s did not end: %s\n", name, r.totals)
			totals.add(r.totals)
		}
	}
	return totals, times, scanner.Err()
}

func (r *run) handle(e event) {
	if e.Action == "output" {
		r.output.WriteString(e.Output)
		if match := suiteSummary.FindStringSubmatch(e.Output); match != nil && e.Test != "" {
			r.summary[e.Test] = Totals{Passed: number(match[1]), Failed: number(match[2]), Skipped: number(match[3]) + number(match[4])}
		}
		return
	}
	if e.Test == "" {
		return
	}
	if parent := e.Test[:max(0, strings.LastIndex(e.Test, "/"))]; parent != "" {
		r.parents[parent] = true
	}
	failed := e.Action == "fail"
	if suite, ok := r.summary[e.Test]; ok && (failed || e.Action == "pass") {
		if failed && suite.Failed == 0 {
			suite.Failed = 1
		}
		r.totals.add(suite)
		return
	}
	switch {
	case failed && (!r.parents[e.Test] || r.totals.Failed == 0):
		r.totals.Failed++
	case r.parents[e.Test]:
	case e.Action == "pass":
		r.totals.Passed++
	case e.Action == "skip":
		r.totals.Skipped++
	}
}

func (r *run) finish(e event, out io.Writer, expected Expectation) {
	r.ended = true
	notes := r.skips(e.Package, expected)
	if limit := expected.Limits.of(e.Package); limit > 0 && e.took() > limit {
		r.totals.Failed++
		notes += fmt.Sprintf("      %s took longer than %s, see test/suites.txt\n", e.Package, limit)
	}
	defer fmt.Fprint(out, notes)
	if e.Action != "fail" && r.totals.Failed == 0 {
		if r.totals != (Totals{}) {
			fmt.Fprintf(out, "ok    %s (%.1fs): %s\n", e.Package, e.Elapsed, r.totals)
		}
		return
	}
	if r.totals.Failed == 0 {
		r.totals.Failed = 1
	}
	fmt.Fprint(out, r.output.String())
	fmt.Fprintf(out, "FAIL  %s (%.1fs): %s\n", e.Package, e.Elapsed, r.totals)
}

// skips returns what to say of the specs that were skipped, and counts those as failed that may not be.
func (r *run) skips(name string, expected Expectation) string {
	if r.totals.Skipped == 0 {
		return ""
	}
	allowed := expected.Skips[name]
	said := strings.Builder{}
	if excess := r.totals.Skipped - allowed.Number; excess > 0 && expected.Strict {
		r.totals.Skipped -= excess
		r.totals.Failed += excess
		fmt.Fprintf(&said, "      %d skipped specs of %s are not in the list of those that may be\n", excess, name)
	}
	if allowed.Reason != "" {
		fmt.Fprintf(&said, "      skipped: %s\n", allowed.Reason)
	}
	var reasons []string
	for line := range strings.Lines(r.output.String()) {
		if match := skipReason.FindStringSubmatch(strings.TrimRight(line, "\n")); match != nil && !slices.Contains(reasons, match[1]) {
			reasons = append(reasons, match[1])
			fmt.Fprintf(&said, "      %s\n", match[1])
		}
	}
	return said.String()
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
