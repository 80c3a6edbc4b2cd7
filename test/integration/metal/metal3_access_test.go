// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("The access to Metal3's hosts", Serial, func() {
	It("says that it was revoked, and works again when it is not", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 1)
		driver := newDriver()
		Expect(driver.List(ctx, t.request(""))).To(BeEmpty())
		Expect(landscape.Revoke(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(landscape.Grant(ctx)).To(Succeed()) })
		Expect(platform.ClassOf(errorOf(driver.Create(ctx, t.request("a"))))).To(Equal(platform.ClassForbidden))
		Expect(platform.ClassOf(errorOf(newDriver().Get(ctx, t.request("a"))))).To(Equal(platform.ClassForbidden))
		Expect(landscape.Grant(ctx)).To(Succeed())
		Eventually(ctx, func() error { return errorOf(driver.Create(ctx, t.request("a"))) }, soon).Should(Succeed())
		Expect(t.hostOf(ctx, "a")).To(Equal(hosts[0]))

		By("refusing the token")
		t.credentials = map[string]string{"token": "nobody"}
		Expect(platform.ClassOf(errorOf(driver.Get(ctx, t.request("a"))))).To(Equal(platform.ClassUnauthenticated))

		By("using a certificate")
		certificate, err := landscape.Certificate()
		Expect(err).NotTo(HaveOccurred())
		t.credentials = certificate.SiteCredentials()
		Expect(driver.Get(ctx, withID(t.request("a"), hosts[0]))).Error().NotTo(HaveOccurred())
	})

	It("comes back with the API", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 2)
		driver := newDriver()
		Expect(driver.Create(ctx, t.request("a"))).Error().NotTo(HaveOccurred())
		landscape.Cluster.APIServer.Pause()
		DeferCleanup(landscape.Cluster.APIServer.Resume)
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		err := errorOf(driver.Create(short, t.request("b")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		landscape.Cluster.APIServer.Resume()
		Eventually(ctx, func() error { return errorOf(driver.Create(ctx, t.request("b"))) }, time.Minute).Should(Succeed())
		Eventually(ctx, func() []string { return landscape.Journal.HostsOf(t.shoot + "/" + t.machine("b")) }, soon).Should(HaveLen(1))
		Expect([]string{t.hostOf(ctx, "a"), t.hostOf(ctx, "b")}).To(ConsistOf(hosts))
	}, SpecTimeout(4*time.Minute))

	It("keeps fields that it does not know", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 1)
		scheme := runtime.NewScheme()
		Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
		access, err := client.New(landscape.Cluster.Config, client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		crd := &apiextensionsv1.CustomResourceDefinition{}
		Expect(access.Get(ctx, client.ObjectKey{Name: "baremetalhosts.metal3.io"}, crd)).To(Succeed())
		original := crd.DeepCopy()
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		spec.Properties["future"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec
		Expect(access.Patch(ctx, crd, client.MergeFrom(original))).To(Succeed())

		Eventually(ctx, func() map[string]any {
			patchHost(ctx, hosts[0], `{"spec":{"future":"kept"}}`)
			return readHost(ctx, hosts[0])
		}, soon).Should(HaveKeyWithValue("spec", HaveKeyWithValue("future", "kept")))
		driver := newDriver()
		Expect(driver.Create(ctx, t.request("a"))).Error().NotTo(HaveOccurred())
		Expect(readHost(ctx, hosts[0])).To(HaveKeyWithValue("spec", And(HaveKeyWithValue("future", "kept"), HaveKey("image"))))
		t.remove(ctx, driver, "a")
		Expect(readHost(ctx, hosts[0])).To(HaveKeyWithValue("spec", And(HaveKeyWithValue("future", "kept"), Not(HaveKey("image")))))
	})
})
