// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"net/http"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	testing "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// watching counts its watches.
type watching struct {
	controller.Controller
	watches int
}

func (w *watching) Watch(source.Source) error {
	w.watches++
	return nil
}

var _ = DescribeTable("Machines should be watched where the cluster has them",
	func(selfHosted bool, groupVersions []schema.GroupVersion, expected int) {
		mapper := meta.NewDefaultRESTMapper(groupVersions)
		for _, version := range groupVersions {
			mapper.Add(version.WithKind("Machine"), meta.RESTScopeNamespace)
		}
		mgr, err := manager.New(&rest.Config{Host: "https://127.0.0.1:1"}, manager.Options{
			Scheme: landscape.Scheme, Metrics: server.Options{BindAddress: "0"},
			MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		})
		Expect(err).NotTo(HaveOccurred())
		c := &watching{}
		watches := watch(mgr, selfHosted)
		Expect(watches.AddToController(c)).To(Succeed())
		Expect(c.watches).To(Equal(expected))
	},
	Entry("a seed", false, nil, 3),
	Entry("a self-hosted shoot", true, []schema.GroupVersion{machinev1alpha1.SchemeGroupVersion}, 3),
	Entry("a self-hosted shoot without machines of Gardener", true, nil, 1),
)

// delayed remembers when the next reconciliation is.
type delayed struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	after []time.Duration
}

func (d *delayed) AddAfter(_ reconcile.Request, after time.Duration) {
	d.after = append(d.after, after)
}

var _ = Describe("An Infrastructure with sites that fail", func() {
	var (
		now     = time.Now()
		handler = retries(testing.NewFakePassiveClock(now))
		queue   *delayed
		infra   *extensionsv1alpha1.Infrastructure
	)

	BeforeEach(func() {
		queue = &delayed{}
		infra = newFixture().infra
		infra.Status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: gardencorev1beta1.LastOperationTypeReconcile, State: gardencorev1beta1.LastOperationStateSucceeded,
			LastUpdateTime: metav1.NewTime(now)}
	})
	fail := func(conditionType gardencorev1beta1.ConditionType, reason string, since time.Duration) {
		infra.Status.Conditions = append(infra.Status.Conditions,
			gardencorev1beta1.Condition{Type: conditionType, Reason: reason, LastTransitionTime: metav1.NewTime(now.Add(-since))})
	}
	update := func(ctx context.Context, change func()) {
		before := infra.DeepCopy()
		change()
		handler.Update(ctx, event.TypedUpdateEvent[*extensionsv1alpha1.Infrastructure]{ObjectOld: before, ObjectNew: infra}, queue)
	}
	end := func() { infra.Status.LastOperation.LastUpdateTime = metav1.NewTime(now.Add(time.Second)) }

	DescribeTable("should be reconciled again after twice the time",
		func(ctx SpecContext, failing, after time.Duration) {
			fail(v1alpha1.ConditionRemovedSitesDeleted, v1alpha1.ReasonDeletionFailed, failing)
			update(ctx, end)
			Expect(queue.after).To(HaveExactElements(after))
			handler.Create(ctx, event.TypedCreateEvent[*extensionsv1alpha1.Infrastructure]{Object: infra}, queue)
			Expect(queue.after).To(HaveExactElements(after, after))
		},
		Entry("of some seconds at first", time.Duration(0), minRetry),
		Entry("later", 10*time.Minute, 10*time.Minute),
		Entry("of half an hour at most", 100*time.Hour, maxRetry),
	)

	It("should not wait longer because of one that fails longer", func(ctx SpecContext) {
		fail(v1alpha1.ConditionRemovedSitesDeleted, v1alpha1.ReasonDeletionFailed, 10*time.Hour)
		fail(v1alpha1.ConditionSitesReconciled, v1alpha1.ReasonSitesStay, time.Minute)
		update(ctx, end)
		Expect(queue.after).To(HaveExactElements(time.Minute))
	})

	DescribeTable("should be left alone",
		func(ctx SpecContext, reason string, change func()) {
			fail(v1alpha1.ConditionRemovedSitesDeleted, reason, time.Minute)
			update(ctx, change)
			Expect(queue.after).To(BeEmpty())
		},
		Entry("while it waits for machines", v1alpha1.ReasonMachinesLeft, end),
		Entry("while it is reconciled", v1alpha1.ReasonDeletionFailed,
			func() { infra.Status.LastOperation.State = gardencorev1beta1.LastOperationStateProcessing }),
		Entry("if it failed, as that is tried again anyhow", v1alpha1.ReasonDeletionFailed,
			func() { infra.Status.LastOperation.State = gardencorev1beta1.LastOperationStateError }),
		Entry("if nothing ended", v1alpha1.ReasonDeletionFailed, func() { infra.Labels = map[string]string{"a": "b"} }),
		Entry("while it moves", v1alpha1.ReasonDeletionFailed, func() {
			end()
			infra.Annotations = map[string]string{v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationMigrate}
		}),
		Entry("if it is of another type", v1alpha1.ReasonDeletionFailed, func() {
			end()
			infra.Spec.Type = "other"
		}),
	)
})
