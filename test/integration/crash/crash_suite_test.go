// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package crash_test kills the extension and the driver after each of their writes to a real OpenStack.
package crash_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

func TestCrash(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Crash Suite")
}

var (
	local *shoot.Shoot
	proxy *countproxy.Proxy
)

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	local, err = shoot.Start(ctx, shoot.Options{Name: "shoot--crash--" + rand.String(5), Dir: GinkgoT().TempDir(), Progress: GinkgoWriter})
	DeferCleanup(func(ctx SpecContext) { Expect(local.Stop(ctx, GinkgoWriter)).To(Succeed()) }, NodeTimeout(2*time.Minute))
	Expect(err).NotTo(HaveOccurred())
	proxy, err = countproxy.New(openstack.Services()...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)
	Expect(local.CreateCluster(ctx, func(site *v1alpha1.CloudProfileSite) {
		site.OpenStack.AuthURL = proxy.Rewrite(site.OpenStack.AuthURL)
		site.OpenStack.ServerGroupPolicies = []string{"soft-anti-affinity"}
	})).To(Succeed())
}, NodeTimeout(25*time.Minute))

var _ = ReportAfterEach(func(report SpecReport) {
	if !report.Failed() || local == nil || local.Seed == nil {
		return
	}
	for _, process := range local.Seed.Processes() {
		AddReportEntry(process.Name, process.Tail(60), ReportEntryVisibilityFailureOrVerbose)
	}
})
