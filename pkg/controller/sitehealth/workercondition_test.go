// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	testclock "k8s.io/utils/clock/testing"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("The condition of the Worker", func() {
	const (
		fault = `site "racks": host rack-07 of machine m: provisioning error: no disk`
		down  = `site "racks2": connection refused (its machines are not watched for faults)`
	)
	var (
		clock   = testclock.NewFakeClock(time.Unix(1_700_000_000, 0))
		refused = in("racks2", platform.ClassUnauthenticated, "connection refused")
		ill     = siteFaults{Site: "racks", Answered: true,
			Faults: []platform.Fault{{Machine: "m", Host: "rack-07", Message: "provisioning error: no disk"}}}
		silent = siteFaults{Site: "racks2", Answered: true, Err: refused, Since: clock.Now().Add(-grace)}
	)

	DescribeTable("should be",
		func(known health, before gardencorev1beta1.ConditionStatus, phase machinev1alpha1.MachinePhase, status gardencorev1beta1.ConditionStatus,
			reason, message string) {
			known.machines = shortagesOf([]machinev1alpha1.Machine{machine("m", "racks", phase, "", "")})
			conditions := known.writeWorker(clock,
				[]gardencorev1beta1.Condition{{Type: gardencorev1beta1.ShootEveryNodeReady, Status: before, Message: "earlier"}})
			Expect(conditions).To(ConsistOf(And(HaveField("Type", gardencorev1beta1.ShootEveryNodeReady), HaveField("Status", status),
				HaveField("Reason", reason), HaveField("Message", message))))
			if status == gardencorev1beta1.ConditionProgressing {
				Expect(conditions[0].Codes).To(ConsistOf(gardencorev1beta1.ErrorInfraUnauthenticated))
			}
		},
		Entry("True, if nothing is wrong", health{faults: []siteFaults{{Site: "racks", Answered: true}}}, gardencorev1beta1.ConditionFalse,
			machinev1alpha1.MachineRunning,
			gardencorev1beta1.ConditionTrue, "HealthCheckSuccessful", "All health checks successful"),
		Entry("False, if there is a fault", health{faults: []siteFaults{ill}}, gardencorev1beta1.ConditionTrue, machinev1alpha1.MachineRunning,
			gardencorev1beta1.ConditionFalse, "HealthCheckUnsuccessful", fault+"."),
		Entry("False, if there is a fault while another site is not watched", health{faults: []siteFaults{ill, silent}},
			gardencorev1beta1.ConditionTrue, machinev1alpha1.MachineRunning,
			gardencorev1beta1.ConditionFalse, "HealthCheckUnsuccessful", fault+", "+down+"."),
		Entry("False, if there is a fault while another site has not answered yet", health{faults: []siteFaults{ill, {Site: "racks2"}}},
			gardencorev1beta1.ConditionTrue, machinev1alpha1.MachineRunning,
			gardencorev1beta1.ConditionFalse, "HealthCheckUnsuccessful", fault+"."),
		Entry("what it was, if a site has not answered yet", health{faults: []siteFaults{{Site: "racks", Answered: true}, {Site: "racks2"}}},
			gardencorev1beta1.ConditionFalse, machinev1alpha1.MachineRunning,
			gardencorev1beta1.ConditionFalse, "", "earlier"),
		Entry("True, if a site is not watched since a moment ago",
			health{faults: []siteFaults{{Site: "racks2", Answered: true, Err: refused, Since: clock.Now().Add(time.Second - grace)}}},
			gardencorev1beta1.ConditionFalse, machinev1alpha1.MachineRunning, gardencorev1beta1.ConditionTrue, "HealthCheckSuccessful",
			"All health checks successful"),
		Entry("Progressing, if a site is not watched", health{faults: []siteFaults{silent}}, gardencorev1beta1.ConditionTrue,
			machinev1alpha1.MachineRunning,
			gardencorev1beta1.ConditionProgressing, "HealthCheckProgressing", down+"."),
		Entry("Progressing still", health{faults: []siteFaults{silent}}, gardencorev1beta1.ConditionProgressing, machinev1alpha1.MachineRunning,
			gardencorev1beta1.ConditionProgressing, "HealthCheckProgressing", down+"."),
		Entry("Progressing, if a site is not watched when the last fault ends", health{faults: []siteFaults{silent}},
			gardencorev1beta1.ConditionFalse, machinev1alpha1.MachineRunning,
			gardencorev1beta1.ConditionProgressing, "HealthCheckProgressing", down+"."),
		Entry("Progressing, if a site of the shoot is not known", health{unresolved: refused}, gardencorev1beta1.ConditionTrue,
			machinev1alpha1.MachineRunning,
			gardencorev1beta1.ConditionProgressing, "HealthCheckProgressing", `site "racks2": connection refused.`),
		Entry("True, if a site is not watched while Gardener has to look at the nodes", health{faults: []siteFaults{silent}},
			gardencorev1beta1.ConditionProgressing, machinev1alpha1.MachineUnknown,
			gardencorev1beta1.ConditionTrue, "HealthCheckSuccessful", "All health checks successful"),
	)
})
