// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Conditions of preflight checks", func() {
	var f *fixture

	BeforeEach(func() {
		f = newFixture()
		f.order("a", "b")
		f.setState(stateOf("a", "network-of-a"))
	})

	validation := func(findings platform.Findings, err error) func(context.Context, platform.ValidationRequest) (platform.Findings, error) {
		return func(context.Context, platform.ValidationRequest) (platform.Findings, error) { return findings, err }
	}
	conditions := func(ctx context.Context) []gardencorev1beta1.Condition {
		infra, _, _ := f.stored(ctx)
		return slices.DeleteFunc(infra.Status.Conditions, func(c gardencorev1beta1.Condition) bool { return !isPreflight(c) })
	}
	condition := func(site string, status gardencorev1beta1.ConditionStatus, reason, message string) gomegatypes.GomegaMatcher {
		return And(HaveField("Type", gardencorev1beta1.ConditionType("SitePreflight-"+site)), HaveField("Status", status),
			HaveField("Reason", reason), HaveField("Message", message))
	}
	checks := []platform.Check{{ID: "cloud-field"}, {ID: "cloud-room"}}
	unknown := platform.Finding{Check: checks[1], State: platform.Unknown, Is: "503", Err: platform.NewError(platform.ClassTransient, "503")}
	consequence := platform.Finding{Check: checks[0], State: platform.Unknown, Is: "not checked", Cause: "cloud-room"}

	DescribeTable("should say what was found",
		func(ctx SpecContext, findings platform.Findings, err error, status gardencorev1beta1.ConditionStatus, reason, message string,
			codes ...gardencorev1beta1.ErrorCode) {
			findings.Checks = checks
			f.platform.validate["a"] = validation(findings, err)
			f.start(ctx)
			_ = f.actuator.Reconcile(ctx, logr.Discard(), f.infra, f.cluster)
			found := conditions(ctx)
			Expect(found).To(HaveExactElements(condition("a", status, reason, message),
				condition("b", gardencorev1beta1.ConditionTrue, "PreflightPassed", "All 0 checks are fine.")))
			Expect(found[0].Codes).To(HaveExactElements(codes))
		},
		Entry("nothing", platform.Findings{}, nil, gardencorev1beta1.ConditionTrue, "PreflightPassed", "All 2 checks are fine."),
		Entry("warnings", warnings("few ports are left"), nil, gardencorev1beta1.ConditionTrue, "PreflightPassed",
			"cloud-room: few ports are left"),
		Entry("a failure and a warning", platform.Findings{Found: append(warnings("few").Found,
			mistakes(field.NotFound(field.NewPath("x"), "y")).Found...)}, nil, gardencorev1beta1.ConditionFalse, "PreflightFailed",
			`cloud-field: x: Not found: "y"; cloud-room: few`, gardencorev1beta1.ErrorConfigurationProblem),
		Entry("a quota", shortages(field.Forbidden(field.NewPath("x"), "cores")), nil, gardencorev1beta1.ConditionFalse, "PreflightFailed",
			`cloud-field: x: Forbidden: cores`, gardencorev1beta1.ErrorInfraQuotaExceeded),
		Entry("a check that could not be made, without those that follow", platform.Findings{Found: []platform.Finding{unknown, consequence}},
			unknown.Err, gardencorev1beta1.ConditionProgressing, "PreflightIncomplete", "cloud-room: 503"),
	)

	It("should be up to date, and gone with the site", func(ctx SpecContext) {
		f.platform.validate["a"] = validation(mistakes(field.NotFound(poolsPath.Index(0), "y")), nil)
		f.start(ctx)
		Expect(f.actuator.Reconcile(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
		Expect(conditions(ctx)).To(HaveExactElements(HaveField("Reason", "PreflightFailed"), HaveField("Reason", "PreflightPassed")))

		By("a reconciliation without validation")
		delete(f.platform.validate, "a")
		Expect(f.actuator.Reconcile(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
		Expect(conditions(ctx)).To(HaveExactElements(HaveField("Reason", "PreflightFailed"), HaveField("Reason", "PreflightPassed")))

		By("a change")
		f.config.Sites[0].DNSServers = []string{"192.0.2.54"}
		f.infra.Spec.ProviderConfig = encode(f.config)
		Expect(f.actuator.Reconcile(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
		Expect(conditions(ctx)).To(HaveEach(HaveField("Reason", "PreflightPassed")))

		By("the removal of the site")
		f.order("b")
		f.infra.Spec.ProviderConfig = encode(f.config)
		Expect(f.actuator.Reconcile(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
		Expect(conditions(ctx)).To(HaveExactElements(HaveField("Type", gardencorev1beta1.ConditionType("SitePreflight-b"))))
	})
})
