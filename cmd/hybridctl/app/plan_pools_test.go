// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("The plan of pools", func() {
	number := func(before, after int32) v1alpha1.PlannedNumber {
		return v1alpha1.PlannedNumber{Before: &before, After: &after}
	}
	pools := []v1alpha1.PoolPlan{
		{Name: "mixed", Zones: []v1alpha1.ZonePlan{
			{Name: "west-1a", Site: "cloud", Action: v1alpha1.ZoneActionRoll, Minimum: number(1, 2), Maximum: number(3, 3),
				Machines: v1alpha1.PlannedMachines{Existing: 2, Created: 2, Deleted: 2},
				Strategy: &v1alpha1.PlannedStrategy{Type: string(machinev1alpha1.RollingUpdateMachineDeploymentStrategyType), MaxSurge: 1},
				Causes: []v1alpha1.PlanCause{{Kind: "Shoot", Field: "spec.provider.workers[mixed].machine.type", Before: `"small"`,
					After: `"large"`}}},
			{Name: "rack-1", Site: "racks", Action: v1alpha1.ZoneActionWait, Error: `site "racks": no answer`,
				Machines: v1alpha1.PlannedMachines{Existing: 1}},
		}},
		{Name: "quiet", Zones: []v1alpha1.ZonePlan{{Name: "west-1a", Site: "cloud", Action: v1alpha1.ZoneActionKeep}}},
	}

	It("should show what changes, and why", func() {
		s := &screen{}
		s.planPools(pools)
		Expect(s.String()).To(Equal(`    POOL    ZONE      SITE    ACTION   MACHINES   MINIMUM   MAXIMUM   WHY
!   mixed   west-1a   cloud   Roll     2 +2 -2    1 -> 2    3         Shoot spec.provider.workers[mixed].machine.type: "small" -> "large"
?   mixed   rack-1    racks   Wait     1          -         -         -
error: pool mixed, zone rack-1: site "racks": no answer
Machines: 3 exist, 2 to create, 2 to delete, 0 to update in place.
`))
	})

	It("should tell apart changes and what could not be looked at", func() {
		Expect(isIncomplete(&v1alpha1.PlanReport{Pools: pools})).To(BeTrue())
		Expect(isIncomplete(&v1alpha1.PlanReport{Pools: pools[1:]})).To(BeFalse())
		Expect(changesAnything(&v1alpha1.PlanReport{Pools: pools})).To(BeTrue())
		Expect(changesAnything(&v1alpha1.PlanReport{Pools: pools[1:]})).To(BeFalse())
	})
})
