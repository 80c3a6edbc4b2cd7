// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("The end of a quarantine", func() {
	var (
		end   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		infra = func(status gardencorev1beta1.ConditionStatus) *extensionsv1alpha1.Infrastructure {
			i := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "s"}}
			if status != "" {
				i.Status.Conditions = []gardencorev1beta1.Condition{
					{Type: "SiteQuarantined-racks", Status: status, LastTransitionTime: metav1.NewTime(end)},
					{Type: "SiteQuarantined-old", Status: gardencorev1beta1.ConditionFalse, LastTransitionTime: metav1.NewTime(end.Add(-time.Hour))},
					{Type: "SiteAvailable-cloud", Status: gardencorev1beta1.ConditionFalse, LastTransitionTime: metav1.NewTime(end.Add(time.Hour))},
				}
			}
			return i
		}
		worker = func(state gardencorev1beta1.LastOperationState, after time.Duration) *extensionsv1alpha1.Worker {
			w := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "s"}}
			w.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeReconcile, State: state,
				LastUpdateTime: metav1.NewTime(end.Add(after))}
			return w
		}
		asked = func(operation string) *extensionsv1alpha1.Worker {
			w := worker(gardencorev1beta1.LastOperationStateSucceeded, -time.Minute)
			w.Annotations = map[string]string{v1beta1constants.GardenerOperation: operation}
			return w
		}
	)
	const (
		succeeded  = gardencorev1beta1.LastOperationStateSucceeded
		processing = gardencorev1beta1.LastOperationStateProcessing
		isTrue     = gardencorev1beta1.ConditionTrue
		isFalse    = gardencorev1beta1.ConditionFalse
	)

	DescribeTable("should request a reconciliation of the Worker",
		func(ctx SpecContext, i *extensionsv1alpha1.Infrastructure, w *extensionsv1alpha1.Worker, expected string) {
			c := fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(i, w).Build()
			_, err := (&resumer{client: c}).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(i)})
			Expect(err).NotTo(HaveOccurred())
			Expect(c.Get(ctx, client.ObjectKeyFromObject(w), w)).To(Succeed())
			Expect(w.Annotations[v1beta1constants.GardenerOperation]).To(Equal(expected))
		},
		Entry("that was reconciled before", infra(isFalse), worker(succeeded, -time.Minute), "reconcile"),
		Entry("that was reconciled meanwhile", infra(isFalse), worker(succeeded, time.Second), "reconcile"),
		Entry("that is being reconciled", infra(isFalse), worker(processing, -time.Minute), "reconcile"),
		Entry("unless it was reconciled later", infra(isFalse), worker(succeeded, time.Minute), ""),
		Entry("unless the last one goes on, and others ended before", infra(isTrue), worker(succeeded, -time.Minute), ""),
		Entry("unless there was none", infra(""), worker(succeeded, -time.Minute), ""),
		Entry("unless a migration is requested", infra(isFalse), asked("migrate"), "migrate"),
		Entry("unless a restoration is requested", infra(isFalse), asked("restore"), "restore"),
	)

	It("should be seen in the API server", func(ctx SpecContext) {
		f := newFixture(newNamespace())
		f.pool("a", "cloud-a")
		f.create(ctx)
		i, w := infra(""), f.worker
		i.Namespace, i.Spec.Type = w.Namespace, v1alpha1.ProviderType
		Expect(apiServer.Create(ctx, i)).To(Succeed())
		w.Status = worker(succeeded, -time.Minute).Status
		w.Status.LastOperation.Description = "done"
		Expect(apiServer.Status().Update(ctx, w)).To(Succeed())
		Expect(addResumerToManager(mgr, []extensionsv1alpha1.ExtensionClass{extensionsv1alpha1.ExtensionClassShoot})).To(Succeed())

		for _, status := range []gardencorev1beta1.ConditionStatus{isTrue, isFalse} {
			Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(w), w)).To(Succeed())
			Expect(w.Annotations).NotTo(HaveKey(v1beta1constants.GardenerOperation))
			i.Status.Conditions = []gardencorev1beta1.Condition{{
				Type: "SiteQuarantined-racks", Status: status, LastTransitionTime: metav1.NewTime(end), LastUpdateTime: metav1.NewTime(end),
			}}
			Expect(apiServer.Status().Update(ctx, i)).To(Succeed())
		}
		Eventually(ctx, func(g Gomega) {
			g.Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(w), w)).To(Succeed())
			g.Expect(w.Annotations).To(HaveKeyWithValue(v1beta1constants.GardenerOperation, "reconcile"))
		}).Should(Succeed())
	})

	DescribeTable("should be noticed", func(before, after *extensionsv1alpha1.Infrastructure, expected bool) {
		Expect(quarantineEnded().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(expected))
	},
		Entry("when the condition becomes False", infra(isTrue), infra(isFalse), true),
		Entry("not when it begins", infra(isFalse), infra(isTrue), false),
		Entry("not while nothing changes", infra(isTrue), infra(isTrue), false),
	)
})
