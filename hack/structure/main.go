// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command structure shows how the packages of its arguments, which are those of `go list`, are built inside, without their tests.
//
// For each type with methods it prints the number of methods and of the files that they are in, the largest first.
//
// An arrow leads from file A to file B if A uses a constant, variable, type, function or method that is declared in B; any number of
// uses make one arrow, and fields of structs none. Files are put in an order in which arrows lead down: a file from which more files
// can be reached comes first. Files that can be reached from each other, directly or through others, have no such order. Among
// them a file is moved to where the fewest arrows run back up, until no move helps. Arrows that then lead to a file further up are
// back arrows. The floor of a file is the length of the longest path to it over all other arrows. A package without circles between
// its files has no back arrows; the order found for others is not always the best one.
//
// With -max-methods and -max-back it fails if a type or a package has more.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	maxMethods := flag.Int("max-methods", -1, "methods that a type may have; -1 is any number")
	maxBack := flag.Int("max-back", -1, "back arrows that a package may have; -1 is any number")
	flag.Parse()

	packages, err := Load(".", flag.Args()...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	exceeded := false
	for _, p := range packages {
		s := p.Structure()
		fmt.Print(s)
		for _, message := range s.Exceeds(*maxMethods, *maxBack) {
			exceeded = true
			fmt.Fprintf(os.Stderr, "%s: %s\n", s.Package, message)
		}
	}
	if exceeded {
		os.Exit(1)
	}
}
