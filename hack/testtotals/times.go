// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits are how long packages may take, by their folders.
type Limits map[string]time.Duration

// ReadLimits reads lines of a folder, a tier and a number of minutes. Lines that are empty or begin with # have no meaning.
func ReadLimits(in io.Reader) (Limits, error) {
	content, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	limits := Limits{}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%q is not a folder, a tier and a number of minutes", line)
		}
		minutes, err := strconv.Atoi(fields[2])
		if err != nil || minutes < 1 {
			return nil, fmt.Errorf("%q has no number of minutes", line)
		}
		limits[fields[0]] = time.Duration(minutes) * time.Minute
	}
	return limits, nil
}

// of returns the limit of a package; zero if it has none.
func (l Limits) of(name string) time.Duration {
	for folder, limit := range l {
		if strings.HasSuffix(name, "/"+folder) {
			return limit
		}
	}
	return 0
}

// Took is how long a package or a spec took.
type Took struct {
	// Name is a package's path, or a suite's name and a spec's text.
	Name string
	// Time is how long it took.
	Time time.Duration
}

// report is what is read of the report of a suite; its times are nanoseconds.
type report struct {
	SuiteDescription string
	SpecReports      []struct {
		ContainerHierarchyTexts    []string
		LeafNodeType, LeafNodeText string
		RunTime                    time.Duration
	}
}

// SpecTimes reads the reports of suites in a folder.
func SpecTimes(dir string) ([]Took, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var result []Took
	for _, file := range files {
		content, err := os.ReadFile(file) // #nosec G304 -- written by the tests
		if err != nil {
			return nil, err
		}
		var reports []report
		if err := json.Unmarshal(content, &reports); err != nil {
			continue // its suite was killed
		}
		for _, report := range reports {
			for i := range report.SpecReports {
				spec := &report.SpecReports[i]
				name := strings.TrimSpace(strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " "))
				if name == "" {
					name = spec.LeafNodeType
				}
				result = append(result, Took{Name: report.SuiteDescription + ": " + name, Time: spec.RunTime})
			}
		}
	}
	return result, nil
}

// Table returns a line for each, the longest first: seconds, a tab and the name.
func Table(took []Took) string {
	longestFirst(took)
	var b strings.Builder
	for _, t := range took {
		fmt.Fprintf(&b, "%.1f\t%s\n", t.Time.Seconds(), t.Name)
	}
	return b.String()
}

// showLongest shows a person what took longest.
func showLongest(out io.Writer, what string, took []Took, n int) {
	if len(took) == 0 {
		return
	}
	longestFirst(took)
	fmt.Fprintf(out, "Longest %s:\n", what)
	for _, t := range took[:min(n, len(took))] {
		fmt.Fprintf(out, "%8.1fs  %s\n", t.Time.Seconds(), t.Name)
	}
}

func longestFirst(took []Took) {
	slices.SortStableFunc(took, func(a, b Took) int { return cmp.Compare(b.Time, a.Time) })
}
