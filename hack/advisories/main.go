// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command advisories fails unless each version that the project pins is in the list of those whose advisories somebody has looked at. It
// needs no network.
package main

import (
	"fmt"
	"os"
)

const list = "hack/advisories/looked-at.txt"

func main() {
	problems, err := Check(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}
