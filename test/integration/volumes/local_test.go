// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package volumes_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// selectedNode is the annotation with which the scheduler says where the volume of a claim is to be.
const selectedNode = "volume.kubernetes.io/selected-node"

var quantity = resource.MustParse("1Gi")

var _ = Describe("Local volumes", func() {
	// bound waits until the claim has a volume and returns it.
	bound := func(ctx context.Context, claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
		Eventually(ctx, func(g Gomega) {
			g.Expect(shoot.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Status.Phase).To(Equal(corev1.ClaimBound))
		}, "60s", "500ms").Should(Succeed())
		volume := &corev1.PersistentVolume{}
		Expect(shoot.Client.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume)).To(Succeed())
		return volume
	}
	remove := func(ctx context.Context, objects ...client.Object) {
		for _, object := range objects {
			Expect(client.IgnoreNotFound(shoot.Client.Delete(ctx, object))).To(Succeed())
		}
	}

	DescribeTable("should be on the node of their pod, in the folder of their class, and go with their claim",
		func(ctx SpecContext, class, folder string) {
			claim := claim(ctx, class, class)
			pod := consume(ctx, claim, nil)
			DeferCleanup(func(ctx SpecContext) { remove(ctx, pod, claim) })

			volume := bound(ctx, claim)
			Eventually(ctx, func(g Gomega) {
				g.Expect(shoot.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
				g.Expect(pod.Spec.NodeName).To(BeElementOf("racks-1", "racks-2"))
			}, "30s").Should(Succeed())
			Expect(volume.Spec.NodeAffinity.Required.NodeSelectorTerms).To(ConsistOf(corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{pod.Spec.NodeName}},
				},
			}))
			Expect(volume.Spec.HostPath.Path).To(HavePrefix(folder + "/"))

			made := helpersOf(volume.Name, "create")
			Expect(made).To(HaveLen(1))
			Expect(made[0].Spec.NodeName).To(Equal(pod.Spec.NodeName))
			Expect(made[0].Spec.ServiceAccountName).To(Equal("local-volumes-helper"))
			Expect(made[0].Spec.Containers[0].Image).To(Equal("helper:v1"))

			remove(ctx, pod, claim)
			Eventually(ctx, func() error { return shoot.Client.Get(ctx, client.ObjectKeyFromObject(volume), volume) }, "60s", "500ms").
				Should(Satisfy(apierrors.IsNotFound))
			removed := helpersOf(volume.Name, "delete")
			Expect(removed).To(HaveLen(1))
			Expect(removed[0].Spec.NodeName).To(Equal(made[0].Spec.NodeName))
		},
		Entry("one class", slow, "/var/lib/local-volumes", SpecTimeout(6*time.Minute)),
		Entry("another class", fast, "/mnt/fast", SpecTimeout(6*time.Minute)),
	)

	It("should not be on nodes of other sites", func(ctx SpecContext) {
		claim := claim(ctx, "foreign", slow)
		pods := []*corev1.Pod{consume(ctx, claim, map[string]string{v1alpha1.LabelSite: "vc"})}
		byHand := claim.DeepCopy()
		byHand.Name = "by-hand"
		pods = append(pods, consume(ctx, byHand, map[string]string{corev1.LabelHostname: "by-hand"}))
		byHand.ResourceVersion, byHand.UID = "", ""
		Expect(shoot.Client.Create(ctx, byHand)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { remove(ctx, pods[0], pods[1], claim, byHand) })

		for _, pod := range pods {
			Eventually(ctx, func(g Gomega) {
				g.Expect(shoot.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
				g.Expect(pod.Status.Conditions).To(ContainElement(And(
					HaveField("Type", corev1.PodScheduled), HaveField("Message", ContainSubstring("didn't find available persistent volumes to bind")))))
			}, "30s").Should(Succeed())
		}
		Consistently(ctx, func(g Gomega) {
			for _, c := range []*corev1.PersistentVolumeClaim{claim, byHand} {
				g.Expect(shoot.Client.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
				g.Expect(c.Status.Phase).To(Equal(corev1.ClaimPending))
				g.Expect(c.Annotations).NotTo(HaveKey(selectedNode))
			}
		}, "5s", "500ms").Should(Succeed())
		Expect(append(helpersOn("vc-1"), helpersOn("by-hand")...)).To(BeEmpty())
	}, SpecTimeout(2*time.Minute))

	It("should not be anywhere else on a host", func(ctx SpecContext) {
		class := func(provisioner string, parameters map[string]string) *storagev1.StorageClass {
			return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}, Provisioner: provisioner, Parameters: parameters}
		}
		existing := &storagev1.StorageClass{}
		Expect(shoot.Client.Get(ctx, client.ObjectKey{Name: fast}, existing)).To(Succeed())
		attack := map[string]string{"nodePath": "/mnt/fast", "pathPattern": "../../etc/{{ .PVC.Name }}", "allowUnsafePathPattern": "true"}
		Eventually(func() error { // a policy is in force soon after it is made
			return shoot.Client.Create(ctx, class(existing.Provisioner, attack), client.DryRunAll)
		}).WithContext(ctx).Within(2 * time.Minute).Should(MatchError(And(ContainSubstring("parameters.pathPattern: Forbidden"),
			ContainSubstring("CloudProfile"))))
		Expect(shoot.Client.Create(ctx, class(existing.Provisioner, existing.Parameters), client.DryRunAll)).To(Succeed())
		Expect(shoot.Client.Create(ctx, class("rancher.io/local-path", attack), client.DryRunAll)).To(Succeed(), "that of somebody else")
	}, SpecTimeout(2*time.Minute))

	It("should go back to the scheduler if the node is gone", func(ctx SpecContext) {
		claim := claim(ctx, "moved", slow)
		DeferCleanup(func(ctx SpecContext) { remove(ctx, claim) })
		claim.Annotations = map[string]string{selectedNode: "gone"}
		Expect(shoot.Client.Update(ctx, claim)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shoot.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Annotations).NotTo(HaveKey(selectedNode))
		}, "60s", "500ms").Should(Succeed())
	}, SpecTimeout(4*time.Minute))

	It("should do with the permissions that the provisioner has, and need all of them", func(ctx SpecContext) {
		Eventually(shoot.Unused).WithContext(ctx).WithArguments(account).Within(time.Minute).Should(BeEmpty())
	})
})
