// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"errors"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

func in(name string, class platform.Class, text string) error {
	return platform.InSite(name, platform.NewError(class, "%s", text))
}

func machine(name, siteName string, phase machinev1alpha1.MachinePhase, operation machinev1alpha1.MachineOperationType,
	description string) machinev1alpha1.Machine {
	m := machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: name}}
	m.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: siteName}
	m.Status.CurrentStatus.Phase = phase
	m.Status.LastOperation = machinev1alpha1.LastOperation{Type: operation, Description: description}
	return m
}

const (
	noHost = `Cloud provider message - machine codes error: code = [ResourceExhausted] message = [Exhausted: site "racks": 3 of 6 hosts ` +
		`match, 0 are free]`
	noQuota = `Cloud provider message - machine codes error: code = [ResourceExhausted] message = [Quota: site "cloud": cores: 10 of 10]`
)

var _ = Describe("Conditions", func() {
	var clock *testclock.FakeClock

	BeforeEach(func() {
		clock = testclock.NewFakeClock(time.Unix(1_700_000_000, 0))
	})

	get := func(conditions []gardencorev1beta1.Condition, conditionType string) gardencorev1beta1.Condition {
		condition := v1beta1helper.GetCondition(conditions, gardencorev1beta1.ConditionType(conditionType))
		Expect(condition).NotTo(BeNil(), conditionType)
		return *condition
	}

	DescribeTable("of a site",
		func(err error, status gardencorev1beta1.ConditionStatus, reason, message string, codes ...gardencorev1beta1.ErrorCode) {
			conditions := health{sites: []state{{name: "cloud", known: true, err: err}, {name: "vc", known: true}}}.write(clock, nil)
			condition := get(conditions, "SiteAvailable-cloud")
			Expect(condition.Status).To(Equal(status))
			Expect(condition.Reason).To(Equal(reason))
			Expect(condition.Message).To(Equal(message))
			Expect(condition.Codes).To(HaveExactElements(codes))
		},
		Entry("that is well", nil, gardencorev1beta1.ConditionTrue, "SiteAvailable", "The site answers."),
		Entry("whose quota is used up", in("cloud", platform.ClassQuota, "10 of 10"), gardencorev1beta1.ConditionTrue, "SiteAvailable",
			"The site answers."),
		Entry("that is full", in("cloud", platform.ClassExhausted, "full"), gardencorev1beta1.ConditionTrue, "SiteAvailable",
			"The site answers."),
		Entry("without an answer", in("cloud", platform.ClassTransient, "no answer within 15s"), gardencorev1beta1.ConditionFalse,
			"SiteUnreachable", `site "cloud": no answer within 15s`),
		Entry("that refuses the credentials", in("cloud", platform.ClassUnauthenticated, "401"), gardencorev1beta1.ConditionFalse,
			"SiteUnauthorized", `site "cloud": 401`, gardencorev1beta1.ErrorInfraUnauthenticated),
		Entry("that forbids", in("cloud", platform.ClassForbidden, "403"), gardencorev1beta1.ConditionFalse, "SiteUnauthorized",
			`site "cloud": 403`, gardencorev1beta1.ErrorInfraUnauthorized),
		Entry("that is configured wrongly", in("cloud", platform.ClassConfiguration, "no address"), gardencorev1beta1.ConditionFalse,
			"SiteMisconfigured", `site "cloud": no address`, gardencorev1beta1.ErrorConfigurationProblem),
		Entry("with an error without a class", errors.New("odd"), gardencorev1beta1.ConditionFalse, "SiteUnreachable", "odd"),
	)

	DescribeTable("of the room of a site",
		func(err error, status gardencorev1beta1.ConditionStatus, reason, message string, codes ...gardencorev1beta1.ErrorCode) {
			condition := get(health{sites: []state{{name: "cloud", known: true, err: err}}}.write(clock, nil), "SiteHasRoom-cloud")
			Expect(condition.Status).To(Equal(status))
			Expect(condition.Reason).To(Equal(reason))
			Expect(condition.Message).To(Equal(message))
			Expect(condition.Codes).To(HaveExactElements(codes))
		},
		Entry("that is well", nil, gardencorev1beta1.ConditionTrue, "SiteHasRoom", "No quota is used up, and no machine waits for capacity."),
		Entry("whose quota is used up", in("cloud", platform.ClassQuota, "10 of 10"), gardencorev1beta1.ConditionFalse, "SiteQuotaUsedUp",
			`site "cloud": 10 of 10`, gardencorev1beta1.ErrorInfraQuotaExceeded),
		Entry("that is full", in("cloud", platform.ClassExhausted, "full"), gardencorev1beta1.ConditionFalse, "SiteExhausted",
			`site "cloud": full`, gardencorev1beta1.ErrorInfraResourcesDepleted),
	)

	It("keeps the room of a site that does not answer", func() {
		full := health{sites: []state{{name: "cloud", known: true, err: in("cloud", platform.ClassExhausted, "full")}}}.write(clock, nil)
		clock.Step(time.Minute)
		down := health{sites: []state{{name: "cloud", known: true, err: in("cloud", platform.ClassTransient, "refused")}}}
		conditions := down.write(clock, full)
		Expect(get(conditions, "SiteHasRoom-cloud")).To(Equal(get(full, "SiteHasRoom-cloud")))
		Expect(get(conditions, "SiteAvailable-cloud").Status).To(Equal(gardencorev1beta1.ConditionFalse))
	})

	DescribeTable("that Gardener copies: the control plane",
		func(known health, status gardencorev1beta1.ConditionStatus, message string, codes ...gardencorev1beta1.ErrorCode) {
			condition := get(known.write(clock, nil), "ControlPlaneHealthy")
			Expect(condition.Status).To(Equal(status))
			Expect(condition.Message).To(Equal(message))
			Expect(condition.Codes).To(HaveExactElements(codes))
		},
		Entry("all answer", health{sites: []state{{name: "cloud", known: true}, {name: "vc", known: true}}, defaultSite: "cloud"},
			gardencorev1beta1.ConditionTrue, "All sites answer."),
		Entry("nobody has answered yet", health{sites: []state{{name: "cloud"}, {name: "vc"}}, defaultSite: "cloud"},
			gardencorev1beta1.ConditionTrue, "All sites answer."),
		Entry("one that is not the default site is down",
			health{sites: []state{{name: "cloud", known: true}, {name: "vc", known: true, err: in("vc", platform.ClassTransient, "refused")}},
				defaultSite: "cloud"},
			gardencorev1beta1.ConditionProgressing, `site "vc": refused`),
		Entry("the default site is down",
			health{sites: []state{{name: "cloud", known: true, err: in("cloud", platform.ClassUnauthenticated, "401")}, {name: "vc", known: true}},
				defaultSite: "cloud"},
			gardencorev1beta1.ConditionFalse, `site "cloud": 401`, gardencorev1beta1.ErrorInfraUnauthenticated),
		Entry("all are down",
			health{sites: []state{{name: "cloud", known: true, err: in("cloud", platform.ClassTransient, "a")},
				{name: "vc", known: true, err: in("vc", platform.ClassTransient, "b")}}},
			gardencorev1beta1.ConditionFalse, `site "cloud": a, site "vc": b`),
		Entry("the only one is down", health{sites: []state{{name: "vc", known: true, err: in("vc", platform.ClassTransient, "b")}}},
			gardencorev1beta1.ConditionFalse, `site "vc": b`),
		Entry("the default site is full",
			health{sites: []state{{name: "cloud", known: true, err: in("cloud", platform.ClassQuota, "10 of 10")}, {name: "vc", known: true}},
				defaultSite: "cloud"},
			gardencorev1beta1.ConditionTrue, "All sites answer."),
	)

	DescribeTable("that Gardener copies: the nodes",
		func(machines []machinev1alpha1.Machine, status gardencorev1beta1.ConditionStatus, message string) {
			known := health{sites: []state{{name: "cloud", known: true}, {name: "racks", known: true}}, machines: shortagesOf(machines)}
			condition := get(known.write(clock, nil), "EveryNodeReady")
			Expect(condition.Status).To(Equal(status))
			Expect(condition.Message).To(Equal(message))
		},
		Entry("no machine waits", []machinev1alpha1.Machine{machine("a", "cloud", machinev1alpha1.MachineRunning, "Create", "")},
			gardencorev1beta1.ConditionTrue, "No machine is only waiting for capacity of a site."),
		Entry("machines wait and all others run",
			[]machinev1alpha1.Machine{
				machine("a", "cloud", machinev1alpha1.MachineRunning, "HealthCheck", ""),
				machine("b", "racks", machinev1alpha1.MachineCrashLoopBackOff, "Create", noHost),
				machine("c", "cloud", machinev1alpha1.MachineFailed, "Create", noQuota),
			},
			gardencorev1beta1.ConditionProgressing, `site "cloud": cores: 10 of 10, site "racks": 3 of 6 hosts match, 0 are free`),
		Entry("another machine does not run, so that Gardener must look at the nodes",
			[]machinev1alpha1.Machine{machine("a", "cloud", machinev1alpha1.MachineUnknown, "HealthCheck", ""),
				machine("b", "racks", machinev1alpha1.MachineCrashLoopBackOff, "Create", noHost)},
			gardencorev1beta1.ConditionTrue, "No machine is only waiting for capacity of a site."),
		Entry("a deletion is no wait for room",
			[]machinev1alpha1.Machine{machine("b", "racks", machinev1alpha1.MachineTerminating, "Delete", noHost)},
			gardencorev1beta1.ConditionTrue, "No machine is only waiting for capacity of a site."),
		Entry("progress is none",
			[]machinev1alpha1.Machine{machine("b", "racks", machinev1alpha1.MachineCrashLoopBackOff, "Create",
				"code = [Unavailable] message = [Progress: host x is provisioned]")},
			gardencorev1beta1.ConditionTrue, "No machine is only waiting for capacity of a site."),
	)

	DescribeTable("that Gardener copies: the nodes, while removed sites are not deleted",
		func(machines []machinev1alpha1.Machine, message string) {
			known := health{sites: []state{{name: "cloud", known: true}, {name: "racks", known: true}}, removed: []string{"vc"},
				machines: shortagesOf(machines)}
			condition := get(known.write(clock, nil), "EveryNodeReady")
			Expect(condition.Status).To(Equal(gardencorev1beta1.ConditionProgressing))
			Expect(condition.Reason).To(Equal("RemovedSitesLeft"))
			Expect(condition.Message).To(HavePrefix(`site "vc": it was removed from the shoot`))
			Expect(condition.Message).To(HaveSuffix(message))
		},
		Entry("all machines run", []machinev1alpha1.Machine{machine("a", "cloud", machinev1alpha1.MachineRunning, "Create", "")},
			"needs its credentials until all of its objects are deleted"),
		Entry("its machines end", []machinev1alpha1.Machine{machine("a", "vc", machinev1alpha1.MachineTerminating, "Drain", "")},
			"needs its credentials until all of its objects are deleted"),
		Entry("a machine waits for a host and another one does not run",
			[]machinev1alpha1.Machine{machine("a", "cloud", machinev1alpha1.MachineUnknown, "HealthCheck", ""),
				machine("b", "racks", machinev1alpha1.MachineCrashLoopBackOff, "Create", noHost)},
			`, site "racks": 3 of 6 hosts match, 0 are free, site "cloud": machine a is not running, its phase is "Unknown"`),
	)

	It("that Gardener copies should say why a removed site is not deleted", func() {
		known := health{sites: []state{{name: "cloud", known: true}}, removed: []string{"vc"}}
		condition := get(known.write(clock,
			[]gardencorev1beta1.Condition{{Type: v1alpha1.ConditionRemovedSitesDeleted, Reason: v1alpha1.ReasonDeletionFailed,
				Message: `site "vc": 401`, Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorInfraUnauthenticated}}}), "EveryNodeReady")
		Expect(condition.Message).To(HaveSuffix(`until all of its objects are deleted, site "vc": 401`))
		Expect(condition.Codes).To(ConsistOf(gardencorev1beta1.ErrorInfraUnauthenticated))
	})

	DescribeTable("that Gardener copies should say which sites are in quarantine",
		func(removed []string, status gardencorev1beta1.ConditionStatus, reason, prefix string) {
			const racks, cloud = v1alpha1.ConditionSiteQuarantinedPrefix + "racks", v1alpha1.ConditionSiteQuarantinedPrefix + "cloud"
			known := health{sites: []state{{name: "cloud", known: true}, {name: "racks", known: true}}, removed: removed,
				machines: shortagesOf([]machinev1alpha1.Machine{machine("b", "cloud", machinev1alpha1.MachineCrashLoopBackOff, "Create", noQuota)})}
			conditions := known.write(clock, []gardencorev1beta1.Condition{
				{Type: racks, Status: gardencorev1beta1.ConditionTrue, Message: `Site "racks" is cut off.`},
				{Type: cloud, Status: gardencorev1beta1.ConditionFalse, Message: `The quarantine of site "cloud" is over.`},
			})
			condition := get(conditions, "EveryNodeReady")
			Expect(condition.Status).To(Equal(status))
			Expect(condition.Reason).To(Equal(reason))
			Expect(condition.Message).To(And(HavePrefix(prefix), ContainSubstring(`Site "racks" is cut off`), Not(ContainSubstring("over"))))
			Expect([]gardencorev1beta1.Condition{get(conditions, racks), get(conditions, cloud)}).To(
				HaveEach(HaveField("Message", Not(BeEmpty()))), "they are another controller's")
			Expect(remove(clock, conditions)).To(HaveLen(2))
		},
		Entry("before anything else", nil, gardencorev1beta1.ConditionFalse, "SitesQuarantined", `Site "racks" is cut off`),
		Entry("besides removed sites", []string{"vc"}, gardencorev1beta1.ConditionProgressing, "RemovedSitesLeft", `site "vc": it was removed`),
	)

	DescribeTable("that Gardener copies should say which sites cannot be reconciled",
		func(err error, reason, message string) {
			known := health{sites: []state{{name: "cloud", known: true}, {name: "vc", known: true, err: err}}}
			condition := get(known.write(clock,
				[]gardencorev1beta1.Condition{{Type: v1alpha1.ConditionSitesReconciled, Reason: v1alpha1.ReasonSitesStay,
					Message: `site "vc": 403`}}), "ControlPlaneHealthy")
			Expect(condition.Status).To(Equal(gardencorev1beta1.ConditionProgressing))
			Expect(condition.Reason).To(Equal(reason))
			Expect(condition.Message).To(Equal(message))
		},
		Entry("although they answer", nil, "SitesNotReconciled", `site "vc": 403`),
		Entry("but first that they do not answer", in("vc", platform.ClassTransient, "refused"), "SitesUnavailable", `site "vc": refused`),
	)

	It("keeps what is not about sites, and what a site said before it is asked anew", func() {
		earlier := health{sites: []state{{name: "cloud", known: true, err: in("cloud", platform.ClassTransient, "refused")},
			{name: "gone", known: true}}}.write(clock,
			[]gardencorev1beta1.Condition{{Type: "RemovedSitesDeleted", Status: gardencorev1beta1.ConditionFalse, Message: "mine"}})
		clock.Step(time.Minute)
		conditions := health{sites: []state{{name: "cloud"}}}.write(clock, earlier)
		Expect(get(conditions, "RemovedSitesDeleted").Message).To(Equal("mine"))
		Expect(get(conditions, "SiteAvailable-cloud")).To(Equal(get(earlier, "SiteAvailable-cloud")))
		Expect(v1beta1helper.GetCondition(conditions, "SiteAvailable-gone")).To(BeNil())
	})

	It("is equal for equal states", func() {
		known := health{sites: []state{{name: "cloud", known: true, err: in("cloud", platform.ClassTransient, "refused")},
			{name: "vc", known: true}}}
		first := known.write(clock, nil)
		clock.Step(time.Minute)
		Expect(known.write(clock, first)).To(Equal(first))
	})

	It("removes those about sites and those that Gardener copies", func() {
		conditions := health{sites: []state{{name: "cloud", known: true}}}.write(clock,
			[]gardencorev1beta1.Condition{{Type: "RemovedSitesDeleted"}})
		Expect(remove(clock, conditions)).To(HaveExactElements(HaveField("Type", Equal(gardencorev1beta1.ConditionType("RemovedSitesDeleted")))))
	})
})
