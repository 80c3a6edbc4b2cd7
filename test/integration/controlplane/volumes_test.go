// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// lateness is how long a node waits for the label of its site.
const lateness = 10 * time.Second

func volumeSpecs() {
	It("should provide volumes at the site of their class, with the drivers of the charts", func(ctx SpecContext) {
		pod := podOn(ctx, "in-the-cloud", "", cloudClass)
		expectBound(ctx, pod, cinderDriver)
		Expect(nodesIn(ctx, cloudZone)).To(ContainElement(pod.Spec.NodeName))
		expectRunning(ctx, pod)
		removePod(ctx, pod)
	}, SpecTimeout(8*time.Minute))

	It("should let no pod run on a node whose site label comes late before its driver is registered", func(ctx SpecContext) {
		before := identities(ctx, cloudZone)
		for _, name := range nodesIn(ctx, cloudZone) {
			cordon(ctx, name, true)
			DeferCleanup(func(ctx SpecContext) { cordon(ctx, name, false) })
		}
		Expect(bed.SetBootDelay(5*time.Second, local.Name)).To(Succeed())
		DeferCleanup(func() { Expect(bed.SetBootDelay(0, local.Name)).To(Succeed()) })
		size := scale(ctx, cloudZone, 1)
		Eventually(func(g Gomega) {
			now := identities(ctx, cloudZone)
			g.Expect(now).To(HaveLen(size))
			for _, id := range now {
				g.Expect(id).NotTo(BeEmpty())
			}
		}).WithContext(ctx).Should(Succeed())
		By("letting nobody label the node")
		local.Seed.Driver.Pause()
		DeferCleanup(func() { local.Seed.Driver.Resume() })
		late := newNode(ctx, cloudZone, before)
		joined := time.Now()
		Expect(late.Labels).NotTo(HaveKey(v1alpha1.LabelSite))
		plain, withVolume := podOn(ctx, "plain", late.Name, ""), podOn(ctx, "with-volume", "", cloudClass)
		Consistently(func(g Gomega) {
			for _, pod := range []*corev1.Pod{plain, withVolume} {
				g.Expect(c.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
				g.Expect(pod.Spec.NodeName).To(BeEmpty(), pod.Name)
			}
			g.Expect(node(ctx, late.Name).Spec.Taints).To(ContainElement(uninitialized()))
		}).WithContext(ctx).WithTimeout(lateness - time.Since(joined)).WithPolling(200 * time.Millisecond).Should(Succeed())

		By("labelling it")
		local.Seed.Driver.Resume()
		expectBound(ctx, plain, cinderDriver)
		expectBound(ctx, withVolume, cinderDriver)
		Expect(withVolume.Spec.NodeName).To(Equal(late.Name))
		expectRunning(ctx, withVolume)
		removePod(ctx, withVolume)
		removePod(ctx, plain)
	}, SpecTimeout(10*time.Minute))
}

func cordon(ctx context.Context, name string, unschedulable bool) {
	GinkgoHelper()
	n := node(ctx, name)
	if n == nil {
		return
	}
	before := n.DeepCopy()
	n.Spec.Unschedulable = unschedulable
	Expect(c.Patch(ctx, n, client.MergeFrom(before))).To(Succeed())
}
