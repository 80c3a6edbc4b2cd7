// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Removing a site", func() {
	var f *fixture

	BeforeEach(func() {
		f = newFixture()
		f.order("a")
		f.setState(stateOf("a", "network-of-a"), stateOf("b", "n"))
	})

	run := func(ctx context.Context) error {
		return f.actuator.Reconcile(ctx, logr.Discard(), f.infra, f.cluster)
	}
	machine := func(name, site string) *machinev1alpha1.Machine {
		m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
		m.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: site}
		return m
	}
	deployment := func(name, site string) *machinev1alpha1.MachineDeployment {
		d := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
		d.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: site}
		return d
	}

	DescribeTable("should wait for its machines without an error, so that Gardener comes to the Worker, which ends them",
		func(ctx SpecContext, object func() client.Object, left string) {
			f.objects = append(f.objects, object(), machine("other", "a"))
			f.start(ctx)
			Expect(run(ctx)).To(Succeed())
			Expect(f.platform.deleted).To(BeEmpty())
			message := `site "b" will be deleted once it has no machines; it has ` + left
			infra, state, status := f.stored(ctx)
			Expect(conditionsOf(infra)).To(ConsistOf(And(
				HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionRemovedSitesDeleted)), HaveField("Status",
					gardencorev1beta1.ConditionFalse), HaveField("Message", message))))
			Expect(state.Sites).To(ConsistOf(*stateOf("a", "network-of-a"), *stateOf("b", "n")))
			Expect(unvalidated(status)).To(ConsistOf(*statusFor("a", "network-of-a")))
			Expect(f.events()).To(ContainElement("Normal SiteInUse " + message))

			f.patches = 0
			Expect(run(ctx)).To(Succeed())
			Expect(f.patches).To(BeZero())

			Expect(f.client.Delete(ctx, object())).To(Succeed())
			Expect(run(ctx)).To(Succeed())
			Expect(f.platform.deleted).To(HaveKey("b"))
			infra, state, _ = f.stored(ctx)
			Expect(conditionsOf(infra)).To(BeEmpty())
			Expect(state.Sites).To(ConsistOf(*stateOf("a", "network-of-a")))
			Expect(f.events()).To(ContainElement(`Normal SiteDeleted site "b" is deleted`))
		},
		Entry("machine", func() client.Object { return machine("m", "b") }, "machine m"),
		Entry("machine deployment", func() client.Object { return deployment("d", "b") }, "machine deployment d"),
	)

	It("should not count machines of other namespaces", func(ctx SpecContext) {
		other := machine("m", "b")
		other.Namespace = "shoot--local--b"
		f.objects = append(f.objects, other)
		f.start(ctx)
		Expect(run(ctx)).To(Succeed())
		Expect(f.platform.deleted).To(HaveKey("b"))
	})

	It("should be refused while pools of the Shoot have its zones", func(ctx SpecContext) {
		f.cluster.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "one", Zones: []string{"a-1"}},
			{Name: "two", Zones: []string{"a-1", "b-1"}}}
		f.start(ctx)
		err := run(ctx)
		Expect(err).To(MatchError(
			`site "b": spec.providerConfig.sites: the site has zones of pools ["two"]; it can be removed when no pool uses it`))
		Expect(v1beta1helper.ExtractErrorCodes(err)).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
		Expect(f.platform.deleted).To(BeEmpty())
		Expect(f.platform.reconciled).To(ConsistOf("a"))
	})

	DescribeTable("should not stop the other sites, whatever the site says",
		func(ctx SpecContext, class platform.Class, codes ...gardencorev1beta1.ErrorCode) {
			f.platform.delete["b"] = failWithoutAccess(class)
			f.start(ctx)
			Expect(run(ctx)).To(Succeed())
			infra, state, status := f.stored(ctx)
			Expect(conditionsOf(infra)).To(ConsistOf(And(
				HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionRemovedSitesDeleted)), HaveField("Status",
					gardencorev1beta1.ConditionFalse),
				HaveField("Reason", v1alpha1.ReasonDeletionFailed), HaveField("Message", `site "b": no access: refused`), HaveField("Codes",
					ConsistOf(codes)))))
			Expect(state.Sites).To(ConsistOf(*stateOf("a", "network-of-a"), *stateOf("b", "n")))
			Expect(unvalidated(status)).To(ConsistOf(*statusFor("a", "network-of-a")))
			Expect(f.events()).To(ContainElement(
				`Warning SiteFailed a removed site could not be deleted, retrying: site "b": no access: refused`))

			f.patches = 0
			Expect(f.actuator.Reconcile(ctx, logr.Discard(), infra, f.cluster)).To(Succeed())
			Expect(f.patches).To(BeZero())

			delete(f.platform.delete, "b")
			Expect(f.actuator.Reconcile(ctx, logr.Discard(), infra, f.cluster)).To(Succeed())
			infra, state, _ = f.stored(ctx)
			Expect(conditionsOf(infra)).To(BeEmpty())
			Expect(state.Sites).To(ConsistOf(*stateOf("a", "network-of-a")))
		},
		Entry("it is dead", platform.ClassTransient),
		Entry("its credentials have expired", platform.ClassUnauthenticated, gardencorev1beta1.ErrorInfraUnauthenticated),
		Entry("its certificate has expired", platform.ClassConfiguration, gardencorev1beta1.ErrorConfigurationProblem),
		Entry("something is in use", platform.ClassConflict, gardencorev1beta1.ErrorRetryableInfraDependencies),
	)

	It("should not be waited for if the site hangs", func(ctx SpecContext) {
		f.platform.delete["b"] = func(ctx context.Context, _ *site.Site, _ platform.Persist) error {
			<-ctx.Done()
			return ctx.Err()
		}
		f.start(ctx)
		f.actuator.siteTimeout = 10 * time.Millisecond
		Expect(run(ctx)).To(Succeed())
		infra, _, _ := f.stored(ctx)
		Expect(failingSince(infra)).NotTo(BeNil())
	})

	It("should begin to fail when its machines are gone, not when it began to wait for them", func(ctx SpecContext) {
		f.platform.delete["b"] = fail(platform.ClassConflict)
		f.objects = append(f.objects, machine("m", "b"))
		f.start(ctx)
		Expect(run(ctx)).To(Succeed())
		f.clock.Step(time.Hour)
		Expect(f.client.Delete(ctx, machine("m", "b"))).To(Succeed())
		Expect(run(ctx)).To(Succeed())
		infra, _, _ := f.stored(ctx)
		Expect(conditionsOf(infra)).To(ConsistOf(HaveField("LastTransitionTime.Time", BeTemporally("~", f.clock.Now(), time.Second))))
	})

	It("should keep the whole Infrastructure when that is deleted", func(ctx SpecContext) {
		f.platform.delete["b"] = fail(platform.ClassTransient)
		f.start(ctx)
		Expect(f.actuator.Delete(ctx, logr.Discard(), f.infra, f.cluster)).To(MatchError(`site "b": refused`))
	})

	DescribeTable("while the control plane moves, machines may have no objects",
		func(ctx SpecContext, operation gardencorev1beta1.LastOperationType, state gardencorev1beta1.LastOperationState, restore, deleted bool) {
			f.cluster.Shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: operation, State: state}
			f.start(ctx)
			if restore {
				Expect(f.actuator.Restore(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
			} else {
				Expect(run(ctx)).To(Succeed())
			}
			if deleted {
				Expect(f.platform.deleted).To(HaveKey("b"))
				return
			}
			Expect(f.platform.deleted).To(BeEmpty())
			infra, _, _ := f.stored(ctx)
			Expect(conditionsOf(infra)).To(ConsistOf(HaveField("Message", `site "b" will be deleted after the control plane migration`)))
		},
		Entry("a reconciliation", gardencorev1beta1.LastOperationTypeReconcile, gardencorev1beta1.LastOperationStateProcessing, false, true),
		Entry("leaving the seed", gardencorev1beta1.LastOperationTypeMigrate, gardencorev1beta1.LastOperationStateProcessing, false, false),
		Entry("left the seed", gardencorev1beta1.LastOperationTypeMigrate, gardencorev1beta1.LastOperationStateSucceeded, false, false),
		Entry("coming to the seed", gardencorev1beta1.LastOperationTypeRestore, gardencorev1beta1.LastOperationStateProcessing, false, false),
		Entry("came to the seed", gardencorev1beta1.LastOperationTypeRestore, gardencorev1beta1.LastOperationStateSucceeded, false, true),
		Entry("restoring", gardencorev1beta1.LastOperationTypeReconcile, gardencorev1beta1.LastOperationStateProcessing, true, false),
	)

	DescribeTable("the end of a machine should start a reconciliation",
		func(ctx SpecContext, object client.Object, change func(), starts bool) {
			change()
			f.infra.Spec.ProviderConfig = encode(f.config)
			f.start(ctx)
			requests := waitingFor(f.client)(ctx, object)
			if starts {
				Expect(requests).To(ConsistOf(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(f.infra)}))
			} else {
				Expect(requests).To(BeEmpty())
			}
		},
		Entry("of a removed site", machine("m", "b"), func() {}, true),
		Entry("of a removed site's machine deployment", deployment("d", "b"), func() {}, true),
		Entry("not of a site that is used", machine("m", "a"), func() {}, false),
		Entry("not of a site that is gone", machine("m", "b"), func() { f.setState(stateOf("a", "n")) }, false),
		Entry("not of a machine without site", machine("m", ""), func() {}, false),
		Entry("not for another type", machine("m", "b"), func() { f.infra.Spec.Type = "other" }, false),
		Entry("not for a state that cannot be read", machine("m", "b"), func() { f.infra.Status.State = raw(`{"kind": "FlowState"}`) }, false),
	)
})
