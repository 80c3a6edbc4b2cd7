// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

var _ = Describe("Hosts of Metal3 that machines leave", func() {
	It("are cleaned before others get them", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 1)
		driver := newDriver()
		Expect(driver.Create(ctx, t.request("a"))).Error().NotTo(HaveOccurred())
		Eventually(ctx, bareMetalHost(ctx, hosts[0]), soon).Should(HaveField("State", "provisioned"))

		By("failing to clean")
		Expect(landscape.FailHardware(ctx, hosts[0], metal.Deprovision, "disk is gone")).To(Succeed())
		Eventually(ctx, func() error { return driver.Delete(ctx, t.request("a")) }, soon).Should(MatchError(
			MatchRegexp(`^site "racks": host "%s" cannot be cleaned, and is not released before that: .*disk is gone`, hosts[0])))
		Expect(platform.ClassOf(driver.Delete(ctx, t.request("a")))).To(Equal(platform.ClassTransient))
		Expect(t.hostOf(ctx, "a")).To(Equal(hosts[0]))
		err := errorOf(driver.Create(ctx, t.request("b")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))

		By("cleaning")
		Expect(landscape.HealHardware(ctx, hosts[0])).To(Succeed())
		t.remove(ctx, driver, "a")
		Eventually(ctx, func(g Gomega) {
			g.Expect(bareMetalHost(ctx, hosts[0])(g)).To(And(HaveField("State", "available"), HaveField("On", false), HaveField("Consumer", "")))
		}, soon).Should(Succeed())
		Expect(readHost(ctx, hosts[0])).To(HaveKeyWithValue("spec", And(
			Not(HaveKey("userData")), Not(HaveKey("metaData")), Not(HaveKey("image")), HaveKeyWithValue("automatedCleaningMode", "metadata"))))
		Expect(apierrors.IsNotFound(landscape.Client.Get(ctx, client.ObjectKey{Namespace: metal.Namespace, Name: t.machine("a")},
			&corev1.Secret{}))).To(BeTrue())
		Expect(driver.List(ctx, t.request(""))).To(BeEmpty())

		By("being another machine")
		Expect(driver.Create(ctx, t.request("b"))).To(HaveField("ProviderID", "metal3://hosts/"+hosts[0]+"/"+t.machine("b")))
		Eventually(ctx, bareMetalHost(ctx, hosts[0]), soon).Should(HaveField("State", "provisioned"))
	})

	It("can be left while they are provisioned, and by machines that have none", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 1)
		driver := newDriver()
		Expect(driver.Create(ctx, t.request("a"))).Error().NotTo(HaveOccurred())
		Eventually(ctx, bareMetalHost(ctx, hosts[0]), soon).Should(HaveField("State", "provisioning"))
		t.remove(ctx, newDriver(), "a")
		Eventually(ctx, func(g Gomega) {
			g.Expect(bareMetalHost(ctx, hosts[0])(g)).To(And(HaveField("State", "available"), HaveField("On", false), HaveField("Consumer", "")))
		}, soon).Should(Succeed())
		Expect(driver.Delete(ctx, t.request("a"))).To(Succeed())
	})

	It("are not fought for with those who maintain them", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 1)
		driver := newDriver()
		Expect(driver.Create(ctx, t.request("a"))).Error().NotTo(HaveOccurred())
		Eventually(ctx, bareMetalHost(ctx, hosts[0]), soon).Should(HaveField("State", "provisioned"))
		Expect(landscape.SetHostError(ctx, hosts[0], "a fan is broken")).To(Succeed())

		before := readHost(ctx, hosts[0])
		Expect(driver.Delete(ctx, t.request("a"))).To(MatchError(ContainSubstring(`host "%s" is in maintenance (paused)`, hosts[0])))
		Expect(readHost(ctx, hosts[0])).To(Equal(before))
		Expect(landscape.ClearHostError(ctx, hosts[0])).To(Succeed())
		t.remove(ctx, driver, "a")

		By("not claiming those that are in maintenance or faulty")
		Expect(landscape.PauseHost(ctx, hosts[0])).To(Succeed())
		Expect(newDriver().Create(ctx, t.request("b"))).Error().To(MatchError(ContainSubstring("1 in maintenance")))
		Expect(landscape.ResumeHost(ctx, hosts[0])).To(Succeed())
		Expect(driver.Create(ctx, t.request("b"))).Error().NotTo(HaveOccurred())
	})
})
