// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/lab"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/registry"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = suite.Nightly("Pages for operators with gardener-operator, followed by the letter", Ordered, func() {
	var (
		steps  = &timeline{}
		g      *garden.Garden
		l      *lab.Lab
		o      *operator
		images *registry.Registry
	)

	BeforeAll(func(ctx SpecContext) {
		requirements("gardener-operator")
		steps.begin()
		var (
			release, dir string
			err          error
		)
		release, dir, images = preparePages()
		g, err = garden.New(garden.Options{
			Dir: filepath.Join(dir, "garden"), Foreign: true, SeedType: garden.ProviderType, Registry: images, Authorities: images.Authority,
			Log: GinkgoLogr,
		})
		Expect(err).NotTo(HaveOccurred())
		l = &lab.Lab{Garden: g}
		DeferCleanup(func(ctx SpecContext) {
			steps.table()
			if os.Getenv("KEEP") != "" {
				lookAround(ctx, steps, l)
			}
			g.Stop()
		}, NodeTimeout(24*time.Hour))
		Expect(images.Push(ctx, filepath.Join(release, "oci"), registryPrefix)).To(Succeed())
		o = newOperator(l, steps, release)
		steps.add("A registry with the release")
	}, NodeTimeout(10*time.Minute))

	JustAfterEach(steps.failure)

	steps.step("A Gardener with gardener-operator, without our extension", func(ctx SpecContext) {
		Expect(g.StartVirtual(ctx)).To(Succeed())
		Expect(g.RegisterPlayed(ctx)).To(Succeed())
		Expect(g.StartOperator(ctx)).To(Succeed())
		expectNothing(ctx, l)
	})

	steps.step("Install", func(ctx SpecContext) {
		o.follow(ctx, "operations/deployment.md", "Install", "With gardener-operator", "First CloudProfile")
		o.follow(ctx, "usage/first-shoot.md", "1. Create credentials")
	})

	steps.step("The webhooks reject a CloudProfile", func(ctx SpecContext) {
		Expect(o.run(ctx, "! sed 's/authURL:/authUrl:/' cloudprofile.yaml | kubectl apply --dry-run=server -f - 2>&1")).To(And(
			ContainSubstring("denied the request"), ContainSubstring("authUrl")))
	})

	steps.step("A seed that needs the extension", func(ctx SpecContext) {
		Expect(g.Second.Start(ctx)).To(Succeed())
		Expect(l.WaitSeed(ctx, g.Second.Name, steps.tell)).To(Succeed())
	})

	steps.step("Verify", func(ctx SpecContext) {
		o.follow(ctx, "operations/deployment.md", "Verify")
		o.expectPulled(images, "gardener-extension-provider-hybrid", "gardener-extension-admission-hybrid")
	})

	steps.step("Uninstall", func(ctx SpecContext) {
		Expect(o.run(ctx, "kubectl delete seed "+g.Second.Name+" --timeout=8m")).To(ContainSubstring("deleted"))
		o.follow(ctx, "operations/uninstall.md", "1. Shoots", "2. Seeds and domains", "3. Credentials and CloudProfiles",
			"With gardener-operator", "5. Check")
	})

	steps.step("Nothing of ours is left in the garden and in its runtime cluster", func(ctx SpecContext) {
		expectNothing(ctx, l)
		Expect(g.Check()).To(Succeed())
	})
})
