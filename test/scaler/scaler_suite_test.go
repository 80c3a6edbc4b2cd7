// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestScaler(t *testing.T) {
	suite.Run(t, "Scaler Suite")
}

const namespace = "shoot--test--scaler"

var seed *landscape.Landscape

// The cluster and machine-controller-manager's controllers of machine deployments and machine sets are real. The specs play the
// machine controller, which would need sites.
var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	seed, err = landscape.New(landscape.Options{Dir: GinkgoT().TempDir(), Namespace: namespace})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(seed.Stop)
	Expect(seed.StartCluster(ctx)).To(Succeed())
	Expect(seed.MCM.Start()).To(Succeed())
}, NodeTimeout(3*time.Minute))

var _ = ReportAfterEach(func(report SpecReport) {
	if report.Failed() && seed != nil {
		AddReportEntry(seed.MCM.Name, seed.MCM.Tail(60), ReportEntryVisibilityFailureOrVerbose)
	}
})
