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

// tierVariable is the tier that hack/test.sh runs. It is empty when somebody runs single suites.
const tierVariable = "HYBRID_TIER"

// Nightly registers specs that take too long for each merge, such as kills after each write. They are left out where hack/test.sh runs a
// tier of suites, and run with `make nightly` and when somebody names their package.
func Nightly(register func()) bool {
	if os.Getenv(tierVariable) != "" {
		return false
	}
	register()
	return true
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
