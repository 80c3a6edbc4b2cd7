// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package specs is what the specs of several suites share: they start parts of the landscape, which end with the suite or the spec, and
// scale pools of machines. What fails fails the spec.
package specs

import (
	"context"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// OpenStack starts OpenStack, unless it runs. It is stopped in the end if it did not run before.
func OpenStack(ctx context.Context) *openstack.Bed {
	ginkgo.GinkgoHelper()
	bed, err := openstack.NewBed()
	Expect(err).NotTo(HaveOccurred())
	started, err := bed.Start(ctx, ginkgo.GinkgoWriter)
	stopInTheEnd(bed, started)
	Expect(err).NotTo(HaveOccurred())
	return bed
}

// OpenStackWithDNS is OpenStack with Designate.
func OpenStackWithDNS(ctx context.Context) *openstack.Bed {
	ginkgo.GinkgoHelper()
	bed, err := openstack.NewBed()
	Expect(err).NotTo(HaveOccurred())
	started, err := bed.StartWithDNS(ctx, ginkgo.GinkgoWriter)
	stopInTheEnd(bed, started)
	Expect(err).NotTo(HaveOccurred())
	return bed
}

// OpenStackWithSwift is OpenStack with Swift.
func OpenStackWithSwift(ctx context.Context) *openstack.Bed {
	ginkgo.GinkgoHelper()
	bed, err := openstack.NewBed()
	Expect(err).NotTo(HaveOccurred())
	started, err := bed.StartWithSwift(ctx, ginkgo.GinkgoWriter)
	stopInTheEnd(bed, started)
	Expect(err).NotTo(HaveOccurred())
	return bed
}

// OpenStackWithShares is OpenStack with a back end of Manila.
func OpenStackWithShares(ctx context.Context) *openstack.Bed {
	ginkgo.GinkgoHelper()
	bed, err := openstack.NewBed()
	Expect(err).NotTo(HaveOccurred())
	started, err := bed.StartWithShares(ctx, ginkgo.GinkgoWriter)
	stopInTheEnd(bed, started)
	Expect(err).NotTo(HaveOccurred())
	return bed
}

func stopInTheEnd(bed *openstack.Bed, started bool) {
	if started {
		ginkgo.DeferCleanup(func(ctx ginkgo.SpecContext) {
			Expect(bed.Stop(ctx, ginkgo.GinkgoWriter)).To(Succeed())
		}, ginkgo.NodeTimeout(4*time.Minute))
	}
}

// Proxy starts a proxy in front of the services of OpenStack.
func Proxy() *countproxy.Proxy {
	ginkgo.GinkgoHelper()
	proxy, err := countproxy.New(openstack.Services()...)
	Expect(err).NotTo(HaveOccurred())
	ginkgo.DeferCleanup(proxy.Close)
	return proxy
}

// VCenter starts a simulated vCenter.
func VCenter(ctx context.Context, o vcenter.Options) *vcenter.VCenter {
	ginkgo.GinkgoHelper()
	server, err := vcenter.Start(ctx, ginkgo.GinkgoT().TempDir(), o)
	Expect(err).NotTo(HaveOccurred())
	ginkgo.DeferCleanup(func(ctx ginkgo.SpecContext) {
		Expect(server.Check()).To(Succeed())
		server.Stop(ctx)
	})
	return server
}

// Inventory starts an inventory, whose tenant has its permissions.
func Inventory(ctx context.Context, o metal.Options) *metal.Inventory {
	ginkgo.GinkgoHelper()
	o.Dir = ginkgo.GinkgoT().TempDir()
	inventory, err := metal.Start(ctx, o)
	ginkgo.DeferCleanup(inventory.Stop)
	Expect(err).NotTo(HaveOccurred())
	Expect(inventory.Grant(ctx)).To(Succeed())
	return inventory
}

// Shoot starts a shoot with our executables and creates its Cluster, whose sites are changed before. In the end what is left of it in
// OpenStack is deleted.
func Shoot(ctx context.Context, o shoot.Options, change func(*v1alpha1.CloudProfileSite)) *shoot.Shoot {
	ginkgo.GinkgoHelper()
	var err error
	if o.Binaries == (landscape.Binaries{}) {
		o.Binaries, err = shoot.Build(ctx, ginkgo.GinkgoT().TempDir(), ginkgo.GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
	}
	if o.Dir == "" {
		o.Dir = ginkgo.GinkgoT().TempDir()
	}
	s, err := shoot.Start(ctx, o)
	ginkgo.DeferCleanup(func(ctx ginkgo.SpecContext) { Expect(s.Sweep(ctx)).To(Succeed()) }, ginkgo.NodeTimeout(10*time.Minute))
	ginkgo.DeferCleanup(s.Stop)
	Expect(err).NotTo(HaveOccurred())
	Expect(s.CreateCluster(ctx, change)).To(Succeed())
	return s
}

// ShowTails shows the last lines of the processes' logs with each spec that fails. It is called when variables of a suite are
// initialized:
//
//	var _ = specs.ShowTails(func() []*landscape.Process { return local.Processes() })
func ShowTails(processes func() []*landscape.Process) bool {
	return ginkgo.ReportAfterEach(func(report ginkgo.SpecReport) {
		if !report.Failed() {
			return
		}
		for _, process := range processes() {
			ginkgo.AddReportEntry(process.Name, process.Tail(60), ginkgo.ReportEntryVisibilityFailureOrVerbose)
		}
	}, ginkgo.Offset(1))
}
