// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package threeplatforms_test

import (
	"encoding/json"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

func deletionSpecs() {
	const finalizer = "test.example.com/look-at-it"

	It("should list the hosts that a forced deletion leaves behind while the inventory is not reached", func(ctx SpecContext) {
		claimed := specs.Identities(ctx, mixed(), "")
		metalOnly := map[string]string{}
		for _, zone := range []string{rack, hall} {
			for name, id := range specs.Identities(ctx, mixed(), zone) {
				metalOnly[name] = id
			}
		}
		Expect(metalOnly).To(HaveLen(2))
		Expect(claimed).To(HaveLen(4))
		forceDeletion(ctx)
		Expect(proxy.TakeDown(inventoryService)).To(Succeed())
		up := false
		DeferCleanup(func() {
			if !up {
				Expect(proxy.BringUp(inventoryService)).To(Succeed())
			}
		})
		local.Seed.MCM.Stop(ctx)
		local.Seed.Driver.Stop(ctx)

		w := worker(ctx)
		patch := client.MergeFrom(w.DeepCopy())
		w.Finalizers = append(w.Finalizers, finalizer)
		Expect(local.Seed.Client.Patch(ctx, w, patch)).To(Succeed())
		Expect(local.Seed.Client.Delete(ctx, w)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(local.Seed.Client.Get(ctx, client.ObjectKeyFromObject(w), w)).To(Succeed())
			g.Expect(w.Finalizers).To(ConsistOf(finalizer), "%v", w.Status.LastError)
		}).WithContext(ctx).Within(5 * time.Minute).ProbeEvery(time.Second).Should(Succeed())
		status, err := codec.Decode[v1alpha1.WorkerStatus](w.Status.ProviderStatus)
		Expect(err).NotTo(HaveOccurred())
		left := map[string]string{}
		for _, orphan := range status.Orphans {
			Expect(orphan).To(And(HaveField("Site", BeElementOf("racks", "hall")), HaveField("Reason", Not(BeEmpty()))))
			left[orphan.Name] = orphan.ID
		}
		Expect(left).To(Equal(metalOnly))
		Expect(local.Inspectors[0].Servers(ctx, local.Name)).To(BeEmpty())
		patch = client.MergeFrom(w.DeepCopy())
		w.Finalizers = nil
		Expect(local.Seed.Client.Patch(ctx, w, patch)).To(Succeed())

		Expect(proxy.BringUp(inventoryService)).To(Succeed())
		up = true
	}, SpecTimeout(10*time.Minute))

	It("should release all hosts with the shoot, also those that a forced deletion of the Worker left, and leave nothing",
		func(ctx SpecContext) {
			infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: local.Name}}
			Expect(local.Delete(ctx, infrastructure)).To(Succeed())
			expectNothing(ctx)
		}, SpecTimeout(8*time.Minute))
}

// forceDeletion says in the Cluster that the Shoot is deleted by force, as gardenlet does.
func forceDeletion(ctx SpecContext) {
	GinkgoHelper()
	changeShoot(ctx, func(shoot *gardencorev1beta1.Shoot) {
		metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, v1beta1constants.AnnotationConfirmationForceDeletion, "true")
	})
}

// changeShoot changes the Shoot in the Cluster, as gardenlet does.
func changeShoot(ctx SpecContext, change func(*gardencorev1beta1.Shoot)) {
	GinkgoHelper()
	cluster, shoot := &extensionsv1alpha1.Cluster{}, &gardencorev1beta1.Shoot{}
	Expect(local.Seed.Client.Get(ctx, client.ObjectKey{Name: local.Name}, cluster)).To(Succeed())
	Expect(json.Unmarshal(cluster.Spec.Shoot.Raw, shoot)).To(Succeed())
	change(shoot)
	raw, err := json.Marshal(shoot)
	Expect(err).NotTo(HaveOccurred())
	cluster.Spec.Shoot = runtime.RawExtension{Raw: raw}
	Expect(local.Seed.Client.Update(ctx, cluster)).To(Succeed())
}

// expectNothing expects that nothing of the shoot is on any site, and that no host has a consumer.
func expectNothing(ctx SpecContext) {
	GinkgoHelper()
	Expect(local.Objects(ctx)).To(BeEmpty())
	Expect(server.Objects(ctx, local.Name)).To(BeEmpty())
	Eventually(inventory.Objects).WithContext(ctx).WithArguments(local.Name).Within(3*time.Minute).Should(BeEmpty(),
		"addresses go when their provider has seen that they are free")
	Expect(consumers(ctx)).To(BeEmpty())
	Expect(conflicts()).To(BeEmpty())
}
