// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/lab"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

var _ = Describe("Gardener", Ordered, func() {
	var (
		steps = &timeline{start: time.Now()}
		l     *lab.Lab
		all   = []string{lab.Cloud, lab.VC, lab.Racks, lab.Hall}
		first = all
		_     = gardencorev1beta1.SchemeGroupVersion
	)
	if s := os.Getenv("SITES"); s != "" {
		first = strings.Split(s, ",")
	}

	BeforeAll(func(ctx SpecContext) {
		if os.Getuid() != 0 {
			Skip("a garden needs root")
		}
		dir, err := landscape.CacheDir("garden")
		Expect(err).NotTo(HaveOccurred())
		ctrllog.SetLogger(logr.Discard())
		own := os.Getenv("OWN")
		if own == "" {
			own = GinkgoT().TempDir()
			_, err = shoot.Build(ctx, own, steps)
			Expect(err).NotTo(HaveOccurred())
		}
		log := funcr.New(func(prefix, args string) { steps.print("    ! " + args) }, funcr.Options{})
		l, err = lab.Start(ctx, lab.Options{Dir: dir, Own: own, Progress: steps, Log: log})
		DeferCleanup(func(ctx SpecContext) {
			steps.table()
			if os.Getenv("KEEP") != "" {
				steps.print("kept")
				<-ctx.Done()
			}
			Expect(l.Stop(ctx)).To(Succeed())
		})
		Expect(err).NotTo(HaveOccurred())
	})

	JustAfterEach(func() {
		if report := CurrentSpecReport(); report.Failed() {
			steps.print("    FAILED: " + report.FailureMessage())
		}
	})

	steps.step("Virtual garden: kube-apiserver, gardener-apiserver, controllers", func(ctx SpecContext) {
		Expect(l.StartVirtual(ctx)).To(Succeed())
		Expect(l.Register(ctx)).To(Succeed())
		Expect(l.CreateProfile(ctx)).To(Succeed())
	})

	steps.step("Seed: kube-apiserver, gardenlet, extension from its ControllerRegistration", func(ctx SpecContext) {
		Expect(l.StartSeed(ctx)).To(Succeed())
		Expect(l.WaitSeed(ctx, steps.tell)).To(Succeed())
	})

	steps.step("Create the shoot", func(ctx SpecContext) {
		object, err := l.Shoot(first...)
		Expect(err).NotTo(HaveOccurred())
		Expect(l.Client.Create(ctx, object)).To(Succeed())
		Expect(l.WaitShoot(ctx, time.Time{}, steps.tell)).To(Succeed())
	})

	steps.step("Delete the shoot", func(ctx SpecContext) {
		Expect(l.DeleteShoot(ctx, steps.tell)).To(Succeed())
		Expect(l.Left(ctx)).To(BeEmpty())
	})
})
