// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machines_test lets machines boot that our driver and machine-controller-manager create on hosts of Metal3 and IronCore, in a
// vCenter, and in OpenStack: they run their user data, their kubelets join, and our cloud-controller-manager initializes their nodes.
package machines_test

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/isolation"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestMain(m *testing.M) {
	os.Exit(isolation.Run(m))
}

func TestMachines(t *testing.T) {
	suite.Run(t, "Machines Suite")
}

var lab *machineLab

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	lab, err = startLab(ctx, GinkgoT().TempDir(), GinkgoWriter)
	DeferCleanup(func() { Expect(lab.stop()).To(Succeed()) })
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(15*time.Minute))

var _ = specs.ShowTails(func() []*landscape.Process { return lab.processes() })
