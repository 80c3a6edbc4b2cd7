// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command testtotals reads what `go test -json` prints, shows a line for each package and the output of those that failed,
// and sums up single specs: a test function that runs a Ginkgo suite counts as the specs of the suite. It fails if a test
// failed, a package that was expected has no end or took longer than it may, or nothing was tested; with -strict also if a spec was skipped
// that is not in the list of those that may be.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	var options options
	flag.StringVar(&options.out, "o", "/dev/stdout", "file that the line of totals is written to")
	flag.StringVar(&options.skips, "skips", "", "file with the specs that may be skipped: lines of a package, a number and a reason")
	flag.StringVar(&options.suites, "suites", "", "file with the time that suites may take: lines of a folder, a tier and minutes")
	flag.StringVar(&options.reports, "reports", "", "folder with reports of suites, which have the times of their specs")
	flag.StringVar(&options.times, "times", "", "file that the times of packages and specs are written to")
	flag.BoolVar(&options.strict, "strict", false, "let specs fail that are skipped and may not be")
	flag.Parse()

	totals, err := options.run(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if totals.Failed > 0 || totals.Passed == 0 {
		os.Exit(1)
	}
}

type options struct {
	out, skips, suites, reports, times string
	strict                             bool
}

func (o *options) run(packages []string) (Totals, error) {
	expected := Expectation{Packages: packages, Strict: o.strict}
	var err error
	if expected.Skips, err = read(o.skips, ReadSkips); err != nil {
		return Totals{}, err
	}
	if expected.Limits, err = read(o.suites, ReadLimits); err != nil {
		return Totals{}, err
	}
	totals, took, err := Sum(os.Stdin, os.Stdout, expected)
	if err != nil {
		return totals, err
	}
	specs, err := SpecTimes(o.reports)
	if err != nil {
		return totals, err
	}
	showLongest(os.Stdout, "packages", took, 10)
	showLongest(os.Stdout, "specs", specs, 20)
	if err := o.writeTimes(append(took, specs...)); err != nil {
		return totals, err
	}
	return totals, write(o.out, totals)
}

// read reads a file; the result is nil without one.
func read[T any](path string, with func(io.Reader) (T, error)) (T, error) {
	var none T
	if path == "" {
		return none, nil
	}
	file, err := os.Open(path) // #nosec G304 -- a file of the project
	if err != nil {
		return none, err
	}
	defer file.Close()
	result, err := with(file)
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, err)
	}
	return result, nil
}

func (o *options) writeTimes(took []Took) error {
	if o.times == "" {
		return nil
	}
	return os.WriteFile(o.times, []byte(Table(took)), 0o600)
}

func write(path string, totals Totals) error {
	if path == "/dev/stdout" {
		_, err := fmt.Println(totals)
		return err
	}
	return os.WriteFile(path, []byte(totals.String()+"\n"), 0o600)
}
