// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

var _ = Describe("An object of the inventory that somebody copied", func() {
	// copyTo copies what a manifest of the object has to an object of another name.
	copyTo := func(ctx SpecContext, object *unstructured.Unstructured, name string) {
		GinkgoHelper()
		Expect(landscape.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		made := &unstructured.Unstructured{Object: map[string]any{"spec": object.Object["spec"]}}
		made.SetGroupVersionKind(object.GroupVersionKind())
		made.SetNamespace(object.GetNamespace())
		made.SetName(name)
		made.SetLabels(maps.Clone(object.GetLabels()))
		made.SetAnnotations(object.GetAnnotations())
		Expect(landscape.Client.Create(ctx, made)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { _ = landscape.Client.Delete(ctx, made) })
	}

	It("is released as the host that it is, and not as that which runs the machine", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 2)
		driver := newDriver()
		Expect(driver.Create(ctx, t.request("a"))).Error().NotTo(HaveOccurred())
		name := t.hostOf(ctx, "a")
		other := hosts[0]
		if other == name {
			other = hosts[1]
		}
		Eventually(ctx, bareMetalHost(ctx, name), soon).Should(HaveField("State", "provisioned"))
		By("copying what makes it the machine")
		original := rawHost(name)
		Expect(landscape.Client.Get(ctx, client.ObjectKeyFromObject(original), original)).To(Succeed())
		twin := rawHost(other)
		Expect(landscape.Client.Get(ctx, client.ObjectKeyFromObject(twin), twin)).To(Succeed())
		twin.SetLabels(original.GetLabels())
		for _, key := range []string{"consumerRef", "image", "userData", "metaData", "online"} {
			value, _, err := unstructured.NestedFieldCopy(original.Object, "spec", key)
			Expect(err).NotTo(HaveOccurred())
			Expect(unstructured.SetNestedField(twin.Object, value, "spec", key)).To(Succeed())
		}
		Expect(landscape.Client.Update(ctx, twin)).To(Succeed())
		Eventually(ctx, func() ([]platform.Machine, error) { return driver.List(ctx, t.request("")) }, soon).Should(HaveLen(2))

		before := readHost(ctx, name)["spec"]
		Expect(platform.ClassOf(driver.Delete(ctx, t.request("a")))).To(Equal(platform.ClassConflict))
		Eventually(ctx, func() error { return newDriver().Delete(ctx, withID(t.request("a"), other)) }, soon).Should(Succeed())
		Expect(readHost(ctx, name)["spec"]).To(Equal(before))
		Expect(secretOf(ctx, t.machine("a")).Data).To(HaveKey("userData"))
		Eventually(ctx, bareMetalHost(ctx, other), soon).Should(HaveField("Consumer", ""))

		t.remove(ctx, driver, "a")
		Expect(client.IgnoreNotFound(landscape.Client.Get(ctx, client.ObjectKeyFromObject(original), original))).To(Succeed())
		Expect(bareMetalHost(ctx, name)(Default)).To(HaveField("Consumer", ""))
	})

	It("is deleted as the claim that it is, and not as that of the machine", func(ctx SpecContext) {
		r := newRoom(ctx, v1alpha1.MetalInventoryIronCore, 2)
		o := newOwner()
		machine := o.Shoot + "-a"
		i := newIronCore(ctx, o)
		Expect(i.Claim(ctx, claimOf(machine, r.rack))).Error().NotTo(HaveOccurred())
		claim := &unstructured.Unstructured{}
		claim.SetAPIVersion("metal.ironcore.dev/v1alpha1")
		claim.SetKind("ServerClaim")
		claim.SetNamespace(metal.Namespace)
		claim.SetName(machine)
		copyTo(ctx, claim, machine+"-copy")
		before := serverClaim(ctx, machine)

		Eventually(ctx, func() (bool, error) {
			return newIronCore(ctx, o).Release(ctx, machine, "ironcore-metal://hosts/"+machine+"-copy", v1alpha1.MetalCleaningDisabled)
		}, soon).Should(BeTrue())
		Expect(serverClaim(ctx, machine)).To(And(HaveField("UID", before.UID), HaveField("DeletionTimestamp", BeNil())))
		Expect(secretOf(ctx, machine).Data).To(HaveKey("ignition"))
		release(ctx, i, machine)
	})
})
