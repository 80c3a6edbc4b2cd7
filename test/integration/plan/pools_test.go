// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

// poolChange is a change of pools, and how many servers it creates and deletes at each site.
type poolChange struct {
	name     string
	do       func(*gardencorev1beta1.Shoot)
	expected map[string]counts
}

// inTime is how long a change may take until all machines are there.
const inTime = 2 * time.Minute

var _ = Describe("Plan of pools", Ordered, func() {
	var p *pools

	// expectTruth plans the changes, one after the other, makes them, and compares.
	expectTruth := func(changes ...poolChange) {
		for _, c := range changes {
			It("should count the servers that are created and deleted for "+c.name, func(ctx SpecContext) {
				start := time.Now()
				p.change(ctx, c.do)
				report, code := p.plan(ctx)
				planned := time.Since(start)
				Expect(plannedServers(report)).To(Equal(c.expected), "%v", lists.Map(report.Pools, poolText))
				Expect(code).To(Equal(1))

				label := p.newLabel("change")
				p.apply(ctx)
				Eventually(p.settled).WithContext(ctx).WithArguments(report).Within(inTime).ProbeEvery(500 * time.Millisecond).Should(Succeed())
				Expect(p.countedServers(label)).To(Equal(c.expected))

				report, code = p.plan(ctx)
				Expect(code).To(BeZero(), "%v %v", summary(report.Sites), lists.Map(report.Pools, poolText))
				Expect(plannedServers(report)).To(BeEmpty())
				AddReportEntry("times", fmt.Sprintf("plan %.1f s, all %.1f s", planned.Seconds(), time.Since(start).Seconds()))
			}, SpecTimeout(4*time.Minute))
		}
	}

	BeforeAll(func(ctx SpecContext) { p = newPools(ctx) }, NodeTimeout(10*time.Minute))

	expectTruth(
		poolChange{"a new shoot", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers = s.Spec.Provider.Workers[:1] },
			map[string]counts{"cloud": {1, 0}, "vc": {1, 0}, "racks": {1, 0}, "hall": {1, 0}}},
		poolChange{"a higher minimum", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[0].Minimum = 6 },
			map[string]counts{"cloud": {1, 0}, "vc": {1, 0}}},
		poolChange{"labels and taints", func(s *gardencorev1beta1.Shoot) {
			pool := &s.Spec.Provider.Workers[0]
			pool.Labels, pool.Taints = map[string]string{"a": "b"}, []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectPreferNoSchedule}}
		}, map[string]counts{}},
		poolChange{"another pool", func(s *gardencorev1beta1.Shoot) {
			pool := s.Spec.Provider.Workers[0].DeepCopy()
			pool.Name, pool.Zones, pool.Minimum, pool.Maximum = "other", []string{"cloud-b", "vc-2"}, 2, 4
			s.Spec.Provider.Workers = append(s.Spec.Provider.Workers, *pool)
		}, map[string]counts{"cloud": {1, 0}, "vc": {1, 0}}},
		poolChange{"another machine type", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[1].Machine.Type = "tiny" },
			map[string]counts{"cloud": {1, 1}, "vc": {1, 1}}},
		poolChange{"a lower maximum and a pool that is removed", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Provider.Workers = s.Spec.Provider.Workers[:1]
			pool := &s.Spec.Provider.Workers[0]
			pool.Minimum, pool.Maximum = 4, 4
		}, map[string]counts{"cloud": {0, 2}, "vc": {0, 2}}},
	)
	suite.Nightly("with machines on all platforms", func() {
		expectTruth(
			poolChange{"another image", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[0].Machine.Image.Version = new("1877.4.0") },
				map[string]counts{"cloud": {1, 1}, "vc": {1, 1}, "racks": {1, 1}, "hall": {1, 1}}},
			poolChange{"hibernation", func(s *gardencorev1beta1.Shoot) {
				s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
			},
				map[string]counts{"cloud": {0, 1}, "vc": {0, 1}, "racks": {0, 1}, "hall": {0, 1}}},
			poolChange{"the end of hibernation", func(s *gardencorev1beta1.Shoot) { s.Spec.Hibernation.Enabled = new(false) },
				map[string]counts{"cloud": {1, 0}, "vc": {1, 0}, "racks": {1, 0}, "hall": {1, 0}}},
			poolChange{"a deletion", func(s *gardencorev1beta1.Shoot) { s.DeletionTimestamp = &metav1.Time{Time: time.Now()} },
				map[string]counts{"cloud": {0, 1}, "vc": {0, 1}, "racks": {0, 1}, "hall": {0, 1}}},
		)
	})
})

// poolText describes the plan of a pool.
func poolText(pool v1alpha1.PoolPlan) string {
	return pool.Name + ": " + fmt.Sprint(lists.Map(slices.Clone(pool.Zones), func(z v1alpha1.ZonePlan) string {
		return fmt.Sprintf("%s %s %+v %v %s", z.Name, z.Action, z.Machines, z.Changes, z.Error)
	}))
}
