// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command testtotals reads what `go test -json` prints, shows a line for each package and the output of those that failed,
// and sums up single specs: a test function that runs a Ginkgo suite counts as the specs of the suite. It fails if a test
// failed or nothing was tested.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "/dev/stdout", "file that the line of totals is written to")
	flag.Parse()

	totals, err := Sum(os.Stdin, os.Stdout)
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

func write(path string, totals Totals) error {
	if path == "/dev/stdout" {
		_, err := fmt.Println(totals)
		return err
	}
	return os.WriteFile(path, []byte(totals.String()+"\n"), 0o600)
}
