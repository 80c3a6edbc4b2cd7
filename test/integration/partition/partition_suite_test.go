// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package partition_test cuts sites of shoots off, and shows what machine-controller-manager and the driver do with their machines.
package partition_test

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/partitions"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestPartition(t *testing.T) {
	suite.Run(t, "Partition Suite")
}

const (
	// tableVariable is the file that the table of all rows is written to.
	tableVariable = "PARTITIONS_TABLE"
	// rowsVariable is a regular expression for the IDs of the rows that run. Default: all of them.
	rowsVariable = "PARTITIONS_ROWS"
)

var (
	binaries landscape.Binaries
	timing   = partitions.ShortTiming()
	// lab is the one of the rows that run, outcomes are those of all rows so far, in the order of their end.
	lab      *partitions.Lab
	outcomes []partitions.Outcome
)

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	binaries, err = shoot.Build(ctx, GinkgoT().TempDir(), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(10*time.Minute))

var _ = AfterSuite(func() {
	if path := os.Getenv(tableVariable); path != "" {
		Expect(os.WriteFile(path, []byte(partitions.Page(timing, outcomes)), 0o600)).To(Succeed())
	}
})

var _ = specs.ShowTails(func() []*landscape.Process { return lab.Processes() })
