// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("Volumes", Ordered, func() {
	DescribeTable("of a site are created, attached, detached, resized, restored from snapshots and deleted there",
		func(ctx SpecContext, name, foreign string) {
			site, other := clouds[name], clouds[foreign]
			c := site.claim(ctx)
			pv := c.bound(ctx, within)
			id := pv.Spec.CSI.VolumeHandle

			By("being in the project and the zone of the class")
			Expect(other.ours(ctx)).NotTo(HaveKey(id))
			Expect(site.ours(ctx)).To(HaveKeyWithValue(id, And(HaveField("AvailabilityZone", volumeZone), HaveField("Size", 1))))
			Expect(pv.Spec.NodeAffinity.Required.NodeSelectorTerms).To(ConsistOf(HaveField("MatchExpressions", ConsistOf(
				isIn(v1alpha1.LabelSite, name), isIn(zoneKey, availabilityZone)))))

			By("being attached to the node of the site")
			Eventually(c.attached).WithContext(ctx).WithArguments(ctx).Within(within).ProbeEvery(quickly).Should(ConsistOf(site.nodeName()))
			Expect(site.ours(ctx)[id].Attachments).To(ConsistOf(HaveField("ServerID", site.server)))
			Expect(shoot.Get(ctx, client.ObjectKeyFromObject(c.pod), c.pod)).To(Succeed())
			Expect(c.pod.Spec.NodeName).To(Equal(site.nodeName()))

			By("being detached with the pod")
			c.deletePod(ctx)
			Eventually(c.attached).WithContext(ctx).WithArguments(ctx).Within(within).ProbeEvery(quickly).Should(BeEmpty())
			Eventually(func() string { return site.ours(ctx)[id].Status }).WithContext(ctx).Within(within).ProbeEvery(quickly).
				Should(Equal("available"))

			By("growing")
			old := c.pvc.DeepCopy()
			c.pvc.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
			Expect(shoot.Patch(ctx, c.pvc, client.MergeFrom(old))).To(Succeed())
			Eventually(func() string { pv = c.volume(ctx); return pv.Spec.Capacity.Storage().String() }).
				WithContext(ctx).Within(within).ProbeEvery(quickly).Should(Equal("2Gi"))
			Expect(site.ours(ctx)[id].Size).To(Equal(2))

			By("giving a snapshot and being restored from it")
			snapshot := c.snapshot(ctx)
			Expect(site.snapshots(ctx, id)).To(HaveLen(1))
			restored := site.claim(ctx, func(pvc *corev1.PersistentVolumeClaim) {
				pvc.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot",
					Name: snapshot.GetName()}
				pvc.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
			})
			copied := restored.bound(ctx, within)
			Expect(site.ours(ctx)).To(HaveKeyWithValue(copied.Spec.CSI.VolumeHandle, HaveField("SnapshotID", site.snapshots(ctx, id)[0])))

			By("being copied")
			duplicate := site.claim(ctx, func(pvc *corev1.PersistentVolumeClaim) {
				pvc.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: c.pvc.Name}
				pvc.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
			})
			another := duplicate.bound(ctx, within)
			Expect(site.ours(ctx)).To(HaveKeyWithValue(another.Spec.CSI.VolumeHandle, HaveField("SourceVolID", id)))

			By("going when they are deleted")
			duplicate.delete(ctx)
			restored.delete(ctx)
			Expect(shoot.Delete(ctx, snapshot)).To(Succeed())
			Eventually(site.snapshots).WithContext(ctx).WithArguments(ctx, id).Within(within).ProbeEvery(quickly).Should(BeEmpty())
			c.delete(ctx)
			Expect(site.ours(ctx)).NotTo(HaveKey(id))
		},
		Entry("one site", cloudSite, anotherSite, SpecTimeout(12*time.Minute)),
		Entry("another site", anotherSite, cloudSite, SpecTimeout(12*time.Minute)),
	)

	It("need all permissions of the charts and no other", func(ctx SpecContext) {
		for _, account := range []string{driverAccount, snapshotAccount} {
			Expect(landscape.Unused(ctx, shoot, auditLog, user(account))).To(BeEmpty())
		}
	})
})

// isIn matches a requirement on nodes to have one value of a label.
func isIn(key, value string) types.GomegaMatcher {
	return And(HaveField("Key", key), HaveField("Operator", corev1.NodeSelectorOpIn), HaveField("Values", ConsistOf(value)))
}
