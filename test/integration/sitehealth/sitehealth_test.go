// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
)

// defaultSite is the shoot's default site.
var defaultSite = shoot.Sites[0]

func condition(ctx context.Context, conditionType gardencorev1beta1.ConditionType) gardencorev1beta1.Condition {
	GinkgoHelper()
	found, err := lab.Condition(ctx, conditionType)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).NotTo(BeNil(), string(conditionType))
	return *found
}

// awaitAll waits until all sites have the reason, and returns how long the last took.
func awaitAll(ctx context.Context, sites []string, reason string) time.Duration {
	GinkgoHelper()
	start := time.Now()
	for _, site := range sites {
		_, err := lab.Await(ctx, site, reason)
		Expect(err).NotTo(HaveOccurred())
	}
	return time.Since(start)
}

var _ = Describe("The health of sites", Ordered, func() {
	It("should say that all are well", func(ctx SpecContext) {
		for _, site := range sitefaults.Sites() {
			Expect(condition(ctx,
				gardencorev1beta1.ConditionType(sitehealth.ConditionPrefix+site)).Status).To(Equal(gardencorev1beta1.ConditionTrue))
		}
		Expect(condition(ctx, gardencorev1beta1.ShootControlPlaneHealthy).Status).To(Equal(gardencorev1beta1.ConditionTrue))
		Expect(condition(ctx, gardencorev1beta1.ShootEveryNodeReady).Status).To(Equal(gardencorev1beta1.ConditionTrue))
	})

	It("should be the status that the command line shows", func(ctx SpecContext) {
		report, code := status(ctx)
		Expect(code).To(Equal(0))
		Expect(report.Errors).To(BeEmpty())
		expectReported(report, nil)
		for _, site := range report.Sites {
			Expect(site.Requests).NotTo(BeNil(), site.Name)
			Expect(site.Requests.Total).To(BeNumerically(">", 0), site.Name)
		}
		Expect(roomOf(report, defaultSite)).To(ContainElement("servers"))
		Expect(roomOf(report, shoot.VSphereSite)).To(ContainElements("cpu_hertz", "memory_bytes"))
	}, SpecTimeout(2*time.Minute))

	It("should ask each site once in each interval", func(ctx SpecContext) {
		const times = 5
		// A question that was asked before and arrives a little late is not one too many.
		requests, err := lab.Requests(ctx, times*probeInterval-time.Second)
		Expect(err).NotTo(HaveOccurred())
		for _, site := range sitefaults.Sites() {
			Expect(len(requests[site])).To(And(BeNumerically(">=", 1), BeNumerically("<=", times)), site)
		}
	}, SpecTimeout(8*time.Minute))

	It("should be told, as should be that a site is well again, and not of other sites", func(ctx SpecContext) {
		followed := follow(ctx)
		for _, round := range rounds(lab.Faults()) {
			disturbed := map[string]string{}
			inRound(round, func(fault sitefaults.Fault) {
				Expect(fault.Begin(ctx)).To(Succeed())
			})
			inRound(round, func(fault sitefaults.Fault) {
				told := awaitAll(ctx, fault.Sites, fault.Reason)
				AddReportEntry(fault.Name, fmt.Sprintf("told after %.1f s", told.Seconds()), ReportEntryVisibilityAlways)
			})
			for _, fault := range round {
				for _, site := range fault.Sites {
					disturbed[site] = fault.Reason
				}
			}
			expectTold(ctx, disturbed)
			report, code := status(ctx)
			Expect(code).To(Equal(1))
			expectReported(report, disturbed)
			Eventually(followed).WithContext(ctx).Within(20 * time.Second).Should(Satisfy(func(last *v1alpha1.StatusReport) bool {
				return last != nil && maps.Equal(reasonsOf(last), reasonsOf(report))
			}))

			inRound(round, func(fault sitefaults.Fault) {
				Expect(fault.End(ctx)).To(Succeed())
			})
			inRound(round, func(fault sitefaults.Fault) {
				well := awaitAll(ctx, fault.Sites, fault.Well())
				AddReportEntry(fault.Name, fmt.Sprintf("well after %.1f s", well.Seconds()), ReportEntryVisibilityAlways)
			})
			Eventually(func() gardencorev1beta1.ConditionStatus {
				return condition(ctx, gardencorev1beta1.ShootControlPlaneHealthy).Status
			}).WithContext(ctx).Within(5 * time.Second).Should(Equal(gardencorev1beta1.ConditionTrue))
		}
	}, SpecTimeout(15*time.Minute))
})

// rounds puts faults of different sites together, at most two of them, so that some site is well in each round.
func rounds(faults []sitefaults.Fault) [][]sitefaults.Fault {
	var result [][]sitefaults.Fault
	for len(faults) > 0 {
		round := faults[:1]
		rest := faults[1:]
		if i := slices.IndexFunc(rest, func(f sitefaults.Fault) bool { return f.Sites[0] != round[0].Sites[0] }); i >= 0 {
			round = []sitefaults.Fault{round[0], rest[i]}
			rest = slices.Delete(slices.Clone(rest), i, i+1)
		}
		result, faults = append(result, round), rest
	}
	return result
}

// inRound does the same with all faults of a round at the same time.
func inRound(round []sitefaults.Fault, do func(sitefaults.Fault)) {
	var group sync.WaitGroup
	for _, fault := range round {
		group.Go(func() {
			defer GinkgoRecover()
			do(fault)
		})
	}
	group.Wait()
}

// expectTold expects that the conditions name the disturbed sites, for which there are reasons, and no others.
func expectTold(ctx context.Context, disturbed map[string]string) {
	GinkgoHelper()
	expected := gardencorev1beta1.ConditionTrue
	for site, reason := range disturbed {
		switch {
		case reason == sitehealth.ReasonQuota:
		case site == defaultSite:
			expected = gardencorev1beta1.ConditionFalse
		case expected == gardencorev1beta1.ConditionTrue:
			expected = gardencorev1beta1.ConditionProgressing
		}
	}
	var controlPlane gardencorev1beta1.Condition
	Eventually(func() gardencorev1beta1.ConditionStatus {
		controlPlane = condition(ctx, gardencorev1beta1.ShootControlPlaneHealthy)
		return controlPlane.Status
	}).WithContext(ctx).Within(5 * time.Second).Should(Equal(expected))
	for _, site := range sitefaults.Sites() {
		reason, ok := disturbed[site]
		of := condition(ctx, sitefaults.ConditionOf(site, reason))
		if !ok {
			Expect(of.Status).To(Equal(gardencorev1beta1.ConditionTrue), "%s: %s", site, of.Message)
			Expect(controlPlane.Message).NotTo(ContainSubstring("site %q", site))
			continue
		}
		Expect(of.Message).To(HavePrefix("site %q: ", site))
		if reason != sitehealth.ReasonQuota {
			Expect(controlPlane.Message).To(ContainSubstring("site %q: ", site))
		}
	}
}
