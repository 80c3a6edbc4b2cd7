// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package upgrade_test holds what a release wrote against what the code writes and finds today.
package upgrade_test

import (
	"context"
	"flag"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

// recordTo is the folder that what is written is recorded in. It is set for the code of a release, once.
var recordTo = flag.String("record", "", "the folder that what the code writes is recorded in")

func TestUpgrade(t *testing.T) {
	suite.Run(t, "Upgrade Suite")
}

const soon = 30 * time.Second

var (
	cloud  *openstackstub.Stub
	vc     *vcenter.VCenter
	racks  *metal.Inventory
	mgr    manager.Manager
	tokens map[string]string
)

var _ = BeforeSuite(func(ctx SpecContext) {
	log.SetLogger(GinkgoLogr)
	var err error
	cloud, err = openstackstub.New(openstackstub.Settings{Flavors: []string{"m1.small"}, Images: []string{"gardenlinux"}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cloud.Close)
	vc, err = vcenter.Start(ctx, GinkgoT().TempDir(), vcenter.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(vc.Stop)

	racks, err = metal.Start(ctx, metal.Options{Dir: GinkgoT().TempDir(), Metal3: true, IronCore: true})
	DeferCleanup(func() { racks.Stop() })
	Expect(err).NotTo(HaveOccurred(), "hack/landscape/build.sh builds what is missing")
	Expect(racks.Grant(ctx)).To(Succeed())
	token, err := racks.Token(ctx)
	Expect(err).NotTo(HaveOccurred())
	tokens = token.SiteCredentials()

	// The cluster of the inventory is the seed, too.
	Expect(landscape.InstallCRDs(ctx, racks.Cluster.Config)).To(Succeed())
	mgr, err = manager.New(racks.Cluster.Config, manager.Options{
		Scheme: landscape.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			options.Cache = nil
			return client.New(config, options)
		},
	})
	Expect(err).NotTo(HaveOccurred())
	running, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(ended)
		Expect(mgr.Start(running)).To(Succeed())
	}()
	DeferCleanup(func() {
		stop()
		Eventually(ended).Within(soon).Should(BeClosed())
	})
}, NodeTimeout(5*time.Minute))
