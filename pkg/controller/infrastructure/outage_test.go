// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("A site that does not answer any more", func() {
	var f *fixture

	BeforeEach(func(ctx SpecContext) {
		f = newFixture()
		f.order("a", "b")
		f.start(ctx)
		Expect(f.actuator.Reconcile(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
		f.events()
		f.platform.reconcile["a"] = fail(platform.ClassTransient)
	})

	// again reconciles what is stored by now.
	again := func(ctx context.Context) error {
		GinkgoHelper()
		infra, _, _ := f.stored(ctx)
		return f.actuator.Reconcile(ctx, logr.Discard(), infra, f.cluster)
	}

	It("should keep no other site waiting, and stay as it is", func(ctx SpecContext) {
		_, stateBefore, statusBefore := f.stored(ctx)
		f.platform.egress["b"] = []string{"192.0.2.2/32"}
		Expect(again(ctx)).To(Succeed())
		_, state, status := f.stored(ctx)
		Expect(state).To(Equal(stateBefore))
		Expect(status.Sites).To(HaveExactElements(statusBefore.Sites[0], HaveField("EgressCIDRs", ConsistOf("192.0.2.2/32"))))
		Expect(f.events()).To(ConsistOf(`Warning SiteStays site "a" failed and is retained, as it needed no change: refused`))
	})

	It("should not be waited for if it hangs", func(ctx SpecContext) {
		f.platform.reconcile["a"] = func(ctx context.Context, _ *site.Site, _ platform.Persist) error {
			<-ctx.Done()
			return ctx.Err()
		}
		f.actuator.siteTimeout = 10 * time.Millisecond
		Expect(again(ctx)).To(Succeed())
	})

	It("should not need the credentials that it had", func(ctx SpecContext) {
		f.secret.Data["a.username"] = []byte("rotated")
		Expect(f.client.Update(ctx, f.secret)).To(Succeed())
		Expect(again(ctx)).To(Succeed())
	})

	It("should not be an error if only policies about its machines change, such as the duration of a quarantine", func(ctx SpecContext) {
		f.profile.Sites[0].Quarantine = &v1alpha1.Quarantine{Share: new(int32(30)), MaximumDuration: &metav1.Duration{Duration: 72 * time.Hour}}
		f.profile.Sites[0].MaximumMachines = new(int32(3))
		f.cluster.CloudProfile.Spec.ProviderConfig = encode(f.profile)
		Expect(again(ctx)).To(Succeed())
		Expect(f.events()).To(ConsistOf(HavePrefix("Warning SiteStays")))
	})

	DescribeTable("should not be an error, whatever it refuses for, and be told until it succeeds",
		func(ctx SpecContext, class platform.Class, codes ...gardencorev1beta1.ErrorCode) {
			_, stateBefore, _ := f.stored(ctx)
			f.platform.reconcile["a"] = fail(class)
			Expect(again(ctx)).To(Succeed())
			infra, state, status := f.stored(ctx)
			Expect(state).To(Equal(stateBefore))
			Expect(unvalidated(status)).To(HaveExactElements(*statusFor("a", "network-of-a"), *statusFor("b", "network-of-b")))
			Expect(conditionsOf(infra)).To(ConsistOf(And(
				HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionSitesReconciled)), HaveField("Status",
					gardencorev1beta1.ConditionFalse),
				HaveField("Reason", v1alpha1.ReasonSitesStay), HaveField("Message", `site "a": refused`), HaveField("Codes", ConsistOf(codes)))))

			f.patches = 0
			Expect(again(ctx)).To(Succeed())
			Expect(f.patches).To(BeZero())

			delete(f.platform.reconcile, "a")
			Expect(again(ctx)).To(Succeed())
			infra, _, _ = f.stored(ctx)
			Expect(conditionsOf(infra)).To(BeEmpty())
		},
		Entry("it does not answer", platform.ClassTransient),
		Entry("its credentials have expired", platform.ClassUnauthenticated, gardencorev1beta1.ErrorInfraUnauthenticated),
		Entry("a role was taken away", platform.ClassForbidden, gardencorev1beta1.ErrorInfraUnauthorized),
		Entry("its certificate has expired", platform.ClassConfiguration, gardencorev1beta1.ErrorConfigurationProblem),
		Entry("it is full", platform.ClassQuota, gardencorev1beta1.ErrorInfraQuotaExceeded),
		Entry("somebody deleted a network that was given", platform.ClassNotFound, gardencorev1beta1.ErrorRetryableConfigurationProblem),
	)

	It("should be an error if it refuses and is to be changed", func(ctx SpecContext) {
		f.platform.reconcile["a"] = fail(platform.ClassUnauthenticated)
		for i := range 2 {
			f.profile.Sites[i].StorageClasses = []v1alpha1.StorageClass{{Name: "other"}}
		}
		f.profile.Sites[2].StorageClasses = f.profile.Sites[0].StorageClasses
		f.cluster.CloudProfile.Spec.ProviderConfig = encode(f.profile)
		Expect(again(ctx)).To(MatchError(`site "a": refused`))
		infra, _, _ := f.stored(ctx)
		Expect(conditionsOf(infra)).To(BeEmpty())
	})

	// say sets what other controllers say about the first site.
	say := func(ctx context.Context, condition gardencorev1beta1.Condition) {
		GinkgoHelper()
		infra, _, _ := f.stored(ctx)
		infra.Status.Conditions = append(infra.Status.Conditions, condition)
		Expect(f.client.Status().Update(ctx, infra)).To(Succeed())
	}
	unreachable := gardencorev1beta1.Condition{Type: sitehealth.ConditionPrefix + "a", Status: gardencorev1beta1.ConditionFalse,
		Reason: sitehealth.ReasonUnreachable}
	quarantined := gardencorev1beta1.Condition{Type: v1alpha1.ConditionSiteQuarantinedPrefix + "a", Status: gardencorev1beta1.ConditionTrue,
		Reason: v1alpha1.ReasonSiteCutOff}

	DescribeTable("should not be an error if it is cut off and is to be changed, and be changed when it responds again",
		func(ctx SpecContext, condition gardencorev1beta1.Condition) {
			say(ctx, condition)
			infra, _, _ := f.stored(ctx)
			infra.Spec.SSHPublicKey = []byte("rotated")
			Expect(f.client.Update(ctx, infra)).To(Succeed())
			for range 2 {
				Expect(again(ctx)).To(Succeed())
				infra, _, status := f.stored(ctx)
				Expect(unvalidated(status)).To(HaveExactElements(*statusFor("a", "network-of-a"), *statusFor("b", "network-of-b")))
				Expect(failingSince(infra)).NotTo(BeNil(), "it is reconciled again")
			}
			Expect(f.events()).To(ContainElement(
				`Warning SiteStays site "a" failed and is retained, as it is cut off; it is changed when it responds again: refused`))

			delete(f.platform.reconcile, "a")
			Expect(again(ctx)).To(Succeed())
			infra, _, _ = f.stored(ctx)
			Expect(failingSince(infra)).To(BeNil())
			f.platform.reconcile["a"] = fail(platform.ClassTransient)
			Expect(again(ctx)).To(Succeed())
			Expect(f.events()).To(ContainElement(ContainSubstring("as it needed no change")))
		},
		Entry("because its API does not respond", unreachable),
		Entry("because its machines do not", quarantined),
	)

	It("should be an error if it is cut off, but refuses a change", func(ctx SpecContext) {
		say(ctx, quarantined)
		f.platform.reconcile["a"] = fail(platform.ClassUnauthenticated)
		infra, _, _ := f.stored(ctx)
		infra.Spec.SSHPublicKey = []byte("rotated")
		Expect(f.client.Update(ctx, infra)).To(Succeed())
		Expect(again(ctx)).To(MatchError(`site "a": refused`))
	})

	It("should not take the time of a site that responds if it is cut off and hangs", func(ctx SpecContext) {
		say(ctx, unreachable)
		f.platform.reconcile["a"] = func(ctx context.Context, _ *site.Site, _ platform.Persist) error {
			<-ctx.Done()
			return ctx.Err()
		}
		f.actuator.siteTimeout, f.actuator.cutOffTimeout = time.Hour, 10*time.Millisecond
		Expect(again(ctx)).To(Succeed())
	})

	It("should stay as it is, too, if a look-up that others caused finds a mistake", func(ctx SpecContext) {
		delete(f.platform.reconcile, "a")
		f.platform.validate["a"] = func(_ context.Context, request platform.ValidationRequest) (platform.Findings, error) {
			return mistakes(field.Invalid(request.Path, "x", "gone")), nil
		}
		f.secret.Data["b.username"] = []byte("rotated")
		Expect(f.client.Update(ctx, f.secret)).To(Succeed())
		Expect(again(ctx)).To(Succeed())
		infra, _, _ := f.stored(ctx)
		Expect(conditionsOf(infra)).To(ConsistOf(HaveField("Message",
			ContainSubstring(`site "a": spec.providerConfig.sites[0]: Invalid value: "x": gone`))))
	})

	DescribeTable("should be an error",
		func(ctx SpecContext, change func(), message string) {
			change()
			Expect(again(ctx)).To(MatchError(message))
			_, _, status := f.stored(ctx)
			Expect(unvalidated(status)).To(HaveExactElements(*statusFor("a", "network-of-a"), *statusFor("b", "network-of-b")))
		},
		Entry("if something is on its way", func() {
			f.platform.reconcile["a"] = func(context.Context, *site.Site, platform.Persist) error { return platform.NewProgress("being made") }
		}, `site "a": being made`),
	)

	It("should be an error until it has succeeded if something was made before", func(ctx SpecContext) {
		f.platform.reconcile["a"] = func(ctx context.Context, _ *site.Site, persist platform.Persist) error {
			return errors.Join(persist(ctx, stateOf("a", "new")), platform.NewError(platform.ClassTransient, "503"))
		}
		Expect(again(ctx)).To(MatchError(`site "a": 503`))
		f.platform.reconcile["a"] = fail(platform.ClassTransient)
		Expect(again(ctx)).To(MatchError(`site "a": refused`))

		delete(f.platform.reconcile, "a")
		Expect(again(ctx)).To(Succeed())
		f.platform.reconcile["a"] = fail(platform.ClassTransient)
		Expect(again(ctx)).To(Succeed())
	})

	It("should be an error until it has succeeded if a change of it failed, also if that is taken back", func(ctx SpecContext) {
		before, after := f.cluster.CloudProfile.Spec.ProviderConfig, f.profile.DeepCopy()
		for i := range after.Sites {
			after.Sites[i].StorageClasses = []v1alpha1.StorageClass{{Name: "other"}}
		}
		f.cluster.CloudProfile.Spec.ProviderConfig = encode(after)
		Expect(again(ctx)).To(MatchError(`site "a": refused`))
		f.cluster.CloudProfile.Spec.ProviderConfig = before
		Expect(again(ctx)).To(MatchError(`site "a": refused`))
	})

	It("should be an error if the extension ends meanwhile", func(ctx SpecContext) {
		ending, end := context.WithCancel(ctx)
		defer end()
		f.platform.reconcile["a"] = func(ctx context.Context, _ *site.Site, _ platform.Persist) error {
			end()
			return ctx.Err()
		}
		Expect(again(ending)).To(MatchError(ContainSubstring(`site "a": context canceled`)))
		Expect(f.events()).NotTo(ContainElement(ContainSubstring("SiteStays")))
	})

	It("should be an error if it came to nothing yet", func(ctx SpecContext) {
		f.infra.Status.ProviderStatus = encode(&v1alpha1.InfrastructureStatus{})
		Expect(f.actuator.Reconcile(ctx, logr.Discard(), f.infra, f.cluster)).To(MatchError(`site "a": refused`))
	})

	It("should be an error if the control plane came to another seed", func(ctx SpecContext) {
		infra, _, _ := f.stored(ctx)
		Expect(f.actuator.Restore(ctx, logr.Discard(), infra, f.cluster)).To(MatchError(`site "a": refused`))
	})
})
