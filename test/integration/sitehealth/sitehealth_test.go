// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
)

// inTime is how long it may take until a fault, or its end, is told.
const inTime = time.Minute

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
			Expect(condition(ctx, gardencorev1beta1.ConditionType(sitehealth.ConditionPrefix+site)).Status).To(Equal(gardencorev1beta1.ConditionTrue))
		}
		Expect(condition(ctx, gardencorev1beta1.ShootControlPlaneHealthy).Status).To(Equal(gardencorev1beta1.ConditionTrue))
		Expect(condition(ctx, gardencorev1beta1.ShootEveryNodeReady).Status).To(Equal(gardencorev1beta1.ConditionTrue))
	})

	It("should ask each site at most twice a minute", func(ctx SpecContext) {
		const minutes = 2
		requests, err := lab.Requests(ctx, minutes*time.Minute)
		Expect(err).NotTo(HaveOccurred())
		for _, site := range sitefaults.Sites() {
			Expect(requests[site]).To(HaveLen(max(1, min(len(requests[site]), 2*minutes))), site)
			AddReportEntry(site, fmt.Sprintf("%d requests in %d minutes", len(requests[site]), minutes), ReportEntryVisibilityAlways)
		}
	}, SpecTimeout(4*time.Minute))

	It("should be told within a minute, as should be that a site is well again, and not of other sites", func(ctx SpecContext) {
		for _, fault := range lab.Faults() {
			By(fault.Name)
			Expect(fault.Begin(ctx)).To(Succeed())
			told := awaitAll(ctx, fault.Sites, fault.Reason)

			controlPlane := condition(ctx, gardencorev1beta1.ShootControlPlaneHealthy)
			switch {
			case fault.Reason == sitehealth.ReasonQuota:
				Expect(controlPlane.Status).To(Equal(gardencorev1beta1.ConditionTrue))
			case slices.Contains(fault.Sites, defaultSite):
				Expect(controlPlane.Status).To(Equal(gardencorev1beta1.ConditionFalse))
			default:
				Expect(controlPlane.Status).To(Equal(gardencorev1beta1.ConditionProgressing))
			}
			for _, site := range sitefaults.Sites() {
				of := condition(ctx, gardencorev1beta1.ConditionType(sitehealth.ConditionPrefix+site))
				if !slices.Contains(fault.Sites, site) {
					Expect(of.Status).To(Equal(gardencorev1beta1.ConditionTrue), "%s: %s", site, of.Message)
					Expect(controlPlane.Message).NotTo(ContainSubstring("site %q", site))
					continue
				}
				Expect(of.Message).To(HavePrefix("site %q: ", site))
				if fault.Reason != sitehealth.ReasonQuota {
					Expect(controlPlane.Message).To(ContainSubstring("site %q: ", site))
				}
			}

			Expect(fault.End(ctx)).To(Succeed())
			well := awaitAll(ctx, fault.Sites, sitehealth.ReasonAvailable)
			Eventually(func() gardencorev1beta1.ConditionStatus {
				return condition(ctx, gardencorev1beta1.ShootControlPlaneHealthy).Status
			}).WithContext(ctx).Within(5 * time.Second).Should(Equal(gardencorev1beta1.ConditionTrue))
			AddReportEntry(fault.Name, fmt.Sprintf("told after %.1f s, well after %.1f s: %s", told.Seconds(), well.Seconds(), controlPlane.Message), ReportEntryVisibilityAlways)
			Expect(told).To(BeNumerically("<=", inTime), fault.Name)
			Expect(well).To(BeNumerically("<=", inTime), fault.Name)
		}
	}, SpecTimeout(15*time.Minute))
})
