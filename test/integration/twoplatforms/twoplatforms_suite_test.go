// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package twoplatforms_test runs one shoot on OpenStack and vSphere, and disturbs the vCenter.
package twoplatforms_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestTwoPlatforms(t *testing.T) {
	suite.Run(t, "Two Platforms Suite")
}

// orphanPeriod is the time between two looks for orphans.
const orphanPeriod = 15 * time.Second

var (
	server *vcenter.VCenter
	watch  *vcenter.Watch
	local  *shoot.Shoot
)

var _ = BeforeSuite(func(ctx SpecContext) {
	bed, err := openstack.NewBed()
	Expect(err).NotTo(HaveOccurred())
	started, err := bed.Start(ctx, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	if started {
		DeferCleanup(func(ctx SpecContext) { Expect(bed.Stop(ctx, GinkgoWriter)).To(Succeed()) }, NodeTimeout(4*time.Minute))
	}
	server, err = vcenter.Start(ctx, GinkgoT().TempDir(), vcenter.Options{Guest: time.Second})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(server.Check()).To(Succeed())
		server.Stop(ctx)
	})

	binaries, err := shoot.Build(ctx, GinkgoT().TempDir(), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	local, err = shoot.Start(ctx, shoot.Options{
		Name: "shoot--two--" + rand.String(5), Dir: GinkgoT().TempDir(), Bed: bed, VCenter: server, Binaries: binaries,
		DriverArgs: []string{"--resource-exhausted-retry=5s", "--machine-safety-orphan-vms-period=" + orphanPeriod.String()},
	})
	DeferCleanup(local.Stop)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(local.Sweep(ctx)).To(Succeed()) }, NodeTimeout(10*time.Minute))
	watch = vcenter.NewWatch(server, local.Name)
	Expect(local.CreateCluster(ctx, func(*v1alpha1.CloudProfileSite) {})).To(Succeed())
}, NodeTimeout(25*time.Minute))

var _ = ReportAfterEach(func(report SpecReport) {
	if !report.Failed() || local == nil || local.Seed == nil {
		return
	}
	for _, process := range local.Seed.Processes() {
		AddReportEntry(process.Name, process.Tail(60), ReportEntryVisibilityFailureOrVerbose)
	}
})
