// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"maps"
	"os"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/go-logr/logr"
	"github.com/miekg/dns"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/lab"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
)

var _ = Describe("Gardener", Ordered, func() {
	var (
		steps    = &timeline{}
		l        *lab.Lab
		first    = []string{lab.Cloud, lab.VC, lab.Racks}
		machines map[string]string
	)

	BeforeAll(func(ctx SpecContext) {
		requirements()
		log.SetLogger(logr.Discard())
		steps.begin()
		dir, err := landscape.CacheDir("garden")
		Expect(err).NotTo(HaveOccurred())
		unlock, err := lock(dir)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(unlock)
		own, err := landscape.BuildOwn(ctx, dir+"-binaries", steps, "./cmd/...") // where they stay: what has not changed is not linked again
		Expect(err).NotTo(HaveOccurred())
		steps.add("Build our executables")
		l, err = lab.Start(ctx, lab.Options{Dir: dir, Own: own, Progress: steps, Log: GinkgoLogr})
		DeferCleanup(func(ctx SpecContext) {
			steps.table()
			if os.Getenv("KEEP") != "" && l.Garden != nil {
				lookAround(ctx, steps, l)
			}
			Expect(l.Stop(ctx)).To(Succeed())
		}, NodeTimeout(24*time.Hour))
		Expect(err).NotTo(HaveOccurred())
		steps.add("Sites: OpenStack, vCenter, inventory of bare metal")
	}, NodeTimeout(30*time.Minute))

	JustAfterEach(func() {
		if report := CurrentSpecReport(); report.Failed() {
			steps.tell("FAILED: " + report.FailureMessage())
		}
	})

	steps.step("Virtual garden", func(ctx SpecContext) {
		Expect(l.StartVirtual(ctx)).To(Succeed())
		Expect(l.Register(ctx)).To(Succeed())
		Expect(l.CreateProfile(ctx)).To(Succeed())
	})

	steps.step("Seed with our extension", func(ctx SpecContext) {
		Expect(l.StartSeed(ctx)).To(Succeed())
		Expect(l.WaitSeed(ctx, steps.tell)).To(Succeed())
	})

	steps.step("Admission from its charts, which refuses sites that overlap", func(ctx SpecContext) {
		if !l.HasAdmission() {
			Skip("there is no executable of the admission component")
		}
		Expect(l.InstallAdmission(ctx)).To(Succeed())
		object, err := l.Shoot(first...)
		Expect(err).NotTo(HaveOccurred())
		Expect(lab.Overlap(object)).To(Succeed())
		Eventually(l.Client.Create).WithArguments(ctx, object, client.DryRunAll).Should(MatchError(And(
			ContainSubstring("denied the request"), ContainSubstring("spec.provider.infrastructureConfig.sites"),
		)))
	})

	steps.step("Create the shoot on OpenStack, vSphere and bare metal", func(ctx SpecContext) {
		object, err := l.Shoot(first...)
		Expect(err).NotTo(HaveOccurred())
		Expect(l.Client.Create(ctx, object)).To(Succeed())
		Expect(l.WaitCreated(ctx, steps.tell)).To(Succeed())
	})

	steps.step("Its nodes are initialised by the cloud controllers of their sites", func(ctx SpecContext) {
		Expect(l.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 1, lab.VC: 1, lab.Racks: 1})).To(Succeed())
		var err error
		machines, err = l.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(machines).To(HaveLen(3))
		for _, domain := range []string{"internal", "shoots"} {
			answer, err := nameserver.Ask(ctx, l.DNS.Address, "api."+lab.ShootName+"."+garden.Project+"."+domain+"."+garden.Domain, dns.TypeA)
			Expect(err).NotTo(HaveOccurred())
			Expect(answer.Values).To(HaveLen(1))
		}
	})

	steps.step("Scale the pool to two machines on each site", func(ctx SpecContext) {
		since := time.Now()
		Expect(l.ChangeShoot(ctx, func(s *gardencorev1beta1.Shoot) error {
			pool := lab.PoolOf(s)
			pool.Minimum, pool.Maximum = 6, 8
			return nil
		})).To(Succeed())
		Expect(l.WaitShoot(ctx, since, steps.tell)).To(Succeed())
		Expect(l.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 2, lab.VC: 2, lab.Racks: 2})).To(Succeed())
	})

	steps.step("Add a site, while no machine is replaced", func(ctx SpecContext) {
		before, err := l.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(slices.Collect(maps.Keys(before))).To(ContainElements(slices.Collect(maps.Keys(machines))))
		since := time.Now()
		Expect(l.ChangeShoot(ctx, func(s *gardencorev1beta1.Shoot) error {
			return lab.SetSites(s, append(slices.Clone(first), lab.Hall)...)
		})).To(Succeed())
		Expect(l.WaitShoot(ctx, since, steps.tell)).To(Succeed())
		Expect(l.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 2, lab.VC: 2, lab.Racks: 2, lab.Hall: 1})).To(Succeed())
		machines, err = l.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(slices.Collect(maps.Keys(machines))).To(ContainElements(slices.Collect(maps.Keys(before))))
	})

	steps.step("Rotate the credentials of bare metal, whose former ones end", func(ctx SpecContext) {
		Expect(l.RotateInventory(ctx)).To(Succeed())
		since := time.Now()
		Expect(l.AskShoot(ctx, v1beta1constants.GardenerOperationReconcile)).To(Succeed())
		Expect(l.WaitShoot(ctx, since, steps.tell)).To(Succeed())
		Expect(l.Inventory.DeleteAccount(ctx)).To(Succeed())
		secret := &corev1.Secret{}
		Expect(l.SeedClient.Get(ctx, client.ObjectKey{Namespace: lab.TechnicalID, Name: v1beta1constants.SecretNameCloudProvider}, secret)).To(Succeed())
		Expect(secret.Data).To(And(HaveKey("racks.clientKey"), HaveKey("hall.clientKey"), Not(HaveKey("racks.token"))))
		Expect(l.Machines(ctx)).To(Equal(machines))
	})

	steps.step("Migrate and restore infrastructure, control plane and records", func(ctx SpecContext) {
		Expect(garden.Unknown(ctx, l.ShootClient(lab.TechnicalID))).To(BeEmpty())
		Expect(l.Forbidden()).To(BeEmpty()) // later, permissions may end before the processes that have them
		before, err := l.Left(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, object := range lab.Migrated() {
			Expect(l.Operate(ctx, object, v1beta1constants.GardenerOperationMigrate, gardencorev1beta1.LastOperationTypeMigrate, steps.tell)).To(Succeed())
		}
		for _, object := range slices.Backward(lab.Migrated()) {
			Expect(l.Operate(ctx, object, v1beta1constants.GardenerOperationRestore, gardencorev1beta1.LastOperationTypeRestore, steps.tell)).To(Succeed())
		}
		Expect(l.Left(ctx)).To(ConsistOf(before))
	})

	steps.step("Hibernate", func(ctx SpecContext) {
		since := time.Now()
		Expect(l.ChangeShoot(ctx, func(s *gardencorev1beta1.Shoot) error {
			s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
			return nil
		})).To(Succeed())
		Expect(l.WaitShoot(ctx, since, steps.tell)).To(Succeed())
		Expect(l.Machines(ctx)).To(BeEmpty())
	})

	steps.step("Wake up", func(ctx SpecContext) {
		since := time.Now()
		Expect(l.ChangeShoot(ctx, func(s *gardencorev1beta1.Shoot) error {
			s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(false)}
			return nil
		})).To(Succeed())
		Expect(l.WaitShoot(ctx, since, steps.tell)).To(Succeed())
		Expect(l.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 1, lab.VC: 1, lab.Racks: 1, lab.Hall: 1})).To(Succeed())
	})

	steps.step("Delete the shoot: nothing is left in the garden, the seed and on any site", func(ctx SpecContext) {
		Expect(l.DeleteShoot(ctx, steps.tell)).To(Succeed())
		Expect(client.IgnoreNotFound(l.SeedClient.Get(ctx, client.ObjectKey{Name: lab.TechnicalID}, &corev1.Namespace{}))).To(Succeed())
		Expect(l.Left(ctx)).To(BeEmpty())
	})

	steps.step("All that our extension and the admission component may do was needed", func(ctx SpecContext) {
		Expect(l.Unused(ctx)).To(BeEmpty())
	})
})
