// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package sitehealth_test lets sites of all platforms fail and get well, and looks at what the extension tells about them.
package sitehealth_test

import (
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestSiteHealth(t *testing.T) {
	suite.Run(t, "Site Health Suite")
}

// probeInterval is how often sites are asked, so that nothing takes long. The figures show what the default is good for.
const probeInterval = 5 * time.Second

var (
	lab *sitefaults.Lab
	// hybridctl is the path of the command.
	hybridctl string
)

var _ = BeforeSuite(func(ctx SpecContext) {
	bed := specs.OpenStack(ctx)
	binaries, err := shoot.Build(ctx, GinkgoT().TempDir(), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	hybridctl = filepath.Join(filepath.Dir(binaries.Extension), "hybridctl")
	lab, err = sitefaults.Start(ctx,
		sitefaults.Options{Dir: GinkgoT().TempDir(), Bed: bed, Binaries: binaries, Progress: GinkgoWriter, ProbeInterval: probeInterval})
	DeferCleanup(func(ctx SpecContext) { Expect(lab.Stop(ctx)).To(Succeed()) }, NodeTimeout(2*time.Minute))
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(25*time.Minute))

var _ = specs.ShowTails(func() []*landscape.Process {
	if lab == nil {
		return nil
	}
	return lab.Shoot.Processes()
})
