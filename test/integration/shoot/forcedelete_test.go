// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = suite.Nightly("Force deletion with a site that refuses the credentials", Ordered, func() {
	const finalizer = "test.example.com/look-at-it"

	It("should clean up the other site, list what is left, and succeed", func(ctx SpecContext) {
		t := newTenant(ctx, "http://127.0.0.1:5000/v3")
		infra := t.setUp(ctx)
		state := stateOf(infra)
		inTheOther := objectsOf(ctx, t.name, inspectors[1])
		Expect(inTheOther).NotTo(BeEmpty())

		By("rotating the credentials to wrong ones, which the next reconciliation uses")
		setCredentials(ctx, t.name, map[string]string{"cloud2.password": "revoked"})
		Expect(operate(ctx, infra, v1beta1constants.GardenerOperationReconcile, func() {})).To(Equal(succeeded), "%v", infra.Status.LastError)
		Expect(infra.Status.Conditions).To(ContainElement(And(
			HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionSitesReconciled)),
			HaveField("Message", And(HavePrefix(`site "cloud2": `), Not(ContainSubstring(`site "cloud":`)), Not(ContainSubstring("revoked")))),
			HaveField("Codes", ConsistOf(gardencorev1beta1.ErrorInfraUnauthenticated)))))
		Expect(providerStatus(infra).Sites).To(HaveLen(2))

		By("deleting it by force")
		cluster := t.example("30-cluster.yaml")
		Expect(unstructured.SetNestedField(cluster[0].Object, "true", "spec", "shoot", "metadata", "annotations",
			v1beta1constants.AnnotationConfirmationForceDeletion)).To(Succeed())
		apply(ctx, cluster...)
		patch := client.MergeFrom(infra.DeepCopy())
		infra.Finalizers = append(infra.Finalizers, finalizer)
		Expect(seed.Client.Patch(ctx, infra, patch)).To(Succeed())
		Expect(seed.Client.Delete(ctx, infra)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra)).To(Succeed())
			g.Expect(infra.Finalizers).To(ConsistOf(finalizer))
		}).WithContext(ctx).Within(3 * time.Minute).ProbeEvery(time.Second).Should(Succeed())

		Expect(infra.Status.LastOperation.State).To(Equal(succeeded))
		Expect(objectsOf(ctx, t.name, inspectors[0])).To(BeEmpty())
		Expect(objectsOf(ctx, t.name, inspectors[1])).To(Equal(inTheOther))

		var known []string
		for _, s := range state.Sites {
			if s.Name == "cloud2" {
				known = []string{s.OpenStack.Network.ID, s.OpenStack.Subnet.ID, s.OpenStack.Router.ID, s.OpenStack.SecurityGroup.ID,
					s.OpenStack.KeyPair.ID}
			}
		}
		var left []string
		for _, orphan := range providerStatus(infra).Orphans {
			Expect(orphan).To(And(HaveField("Site", "cloud2"), HaveField("Kind", Not(BeEmpty())), HaveField("Reason", ContainSubstring("401"))))
			left = append(left, orphan.ID)
		}
		Expect(left).To(ConsistOf(known))
		Expect(stateOf(infra).Sites).To(ConsistOf(HaveField("Name", "cloud2")), "what is left stays in the state")
		Eventually(notes).WithContext(ctx).WithArguments(t.name, "OrphansLeft").Within(time.Minute).
			Should(ConsistOf(And(HavePrefix(`site "cloud2": 5 left behind: network `+known[0]), ContainSubstring("key pair "+known[4]))))

		patch = client.MergeFrom(infra.DeepCopy())
		infra.Finalizers = nil
		Expect(seed.Client.Patch(ctx, infra, patch)).To(Succeed())
	}, SpecTimeout(12*time.Minute))
})
