// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

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
	Elapsed    float64
}

// run is the state of a package.
type run struct {
	totals  Totals
	output  strings.Builder
	summary map[string]Totals
	parents map[string]bool
}

var suiteSummary = regexp.MustCompile(`(\d+) Passed.*?(\d+) Failed.*?(\d+) Pending.*?(\d+) Skipped`)

// Sum reads the events from in and writes to out what a person wants to see of them.
func Sum(in io.Reader, out io.Writer) (Totals, error) {
	var (
		totals  Totals
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
			r.finish(e, out)
			totals.add(r.totals)
		}
	}
	return totals, scanner.Err()
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

func (r *run) finish(e event, out io.Writer) {
	if e.Action != "fail" {
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

func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
