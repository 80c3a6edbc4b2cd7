// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package suite runs suites of specs.
package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// reportsVariable is the folder that reports of suites are written to, in Ginkgo's JSON, so that the times of their specs can be told.
const reportsVariable = "HYBRID_REPORTS"

// timeout is above what any suite may take, see test/suites.txt, and below the limit of hack/test.sh.
const timeout = 80 * time.Minute

// mergeVariable is set where hack/test.sh runs what a merge needs, not for `make nightly` and not for packages that are named.
const mergeVariable = "HYBRID_FOR_MERGE"

// ForMerge reports whether suites run for a merge, which does not need all of their specs.
func ForMerge() bool {
	return os.Getenv(mergeVariable) != ""
}

// Nightly is Ginkgo's Describe for specs that take too long for each merge.
func Nightly(text string, args ...any) bool {
	return !ForMerge() && ginkgo.Describe(text, append(args, ginkgo.Offset(1))...)
}

// NightlyIt is Ginkgo's It for a spec that takes too long for each merge.
func NightlyIt(text string, args ...any) bool {
	return !ForMerge() && ginkgo.It(text, append(args, ginkgo.Offset(1))...)
}

// NightlyEntries returns the entries of a table that take too long for each merge, or nil if the suite runs for one.
func NightlyEntries(entries ...ginkgo.TableEntry) []ginkgo.TableEntry {
	if ForMerge() {
		return nil
	}
	return entries
}

// Run runs the specs of a package.
func Run(t *testing.T, name string) {
	t.Helper()
	gomega.RegisterFailHandler(ginkgo.Fail)
	config, reporter := ginkgo.GinkgoConfiguration()
	config.Timeout = timeout
	if dir := os.Getenv(reportsVariable); dir != "" {
		reporter.JSONReport = filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".json")
	}
	ginkgo.RunSpecs(t, name, config, reporter)
}
