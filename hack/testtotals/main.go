// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command testtotals reads what `go test -json` prints, shows a line for each package and the output of those that failed,
// and sums up single specs: a test function that runs a Ginkgo suite counts as the specs of the suite. It fails if a test
// failed, a package that was expected has no end, or nothing was tested; with -strict also if a spec was skipped that is not in the
// list of those that may be.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "/dev/stdout", "file that the line of totals is written to")
	skips := flag.String("skips", "", "file with the specs that may be skipped: lines of a package, a number and a reason")
	expected := Expectation{}
	flag.BoolVar(&expected.Strict, "strict", false, "let specs fail that are skipped and may not be")
	flag.Parse()
	expected.Packages = flag.Args()

	var totals Totals
	err := readSkips(*skips, &expected)
	if err == nil {
		totals, err = Sum(os.Stdin, os.Stdout, expected)
	}
	if err == nil {
		err = write(*out, totals)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if totals.Failed > 0 || totals.Passed == 0 {
		os.Exit(1)
	}
}

func readSkips(path string, expected *Expectation) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path) // #nosec G304 -- a file of the project
	if err != nil {
		return err
	}
	defer file.Close()
	if expected.Skips, err = ReadSkips(file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func write(path string, totals Totals) error {
	if path == "/dev/stdout" {
		_, err := fmt.Println(totals)
		return err
	}
	return os.WriteFile(path, []byte(totals.String()+"\n"), 0o600)
}
