// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"math"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Quotas in a plan", func() {
	profile := &v1alpha1.CloudProfileConfig{
		Sites: []v1alpha1.CloudProfileSite{
			{Name: "a", Region: "west", Zones: []v1alpha1.SiteZone{{Name: "a-1"}}},
			{Name: "b", Region: "west", Zones: []v1alpha1.SiteZone{{Name: "b-1"}}},
		},
		MachineTypes: []v1alpha1.MachineType{{Name: "small", Sites: []v1alpha1.SiteMachineType{{Name: "a"}, {Name: "b"}}}},
	}
	cluster := func(minimum, maximum int32, zones ...string) *extensionscontroller.Cluster {
		return &extensionscontroller.Cluster{
			CloudProfile: &gardencorev1beta1.CloudProfile{Spec: gardencorev1beta1.CloudProfileSpec{ProviderConfig: encode(profile)}},
			Shoot: &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{Provider: gardencorev1beta1.Provider{
				Workers: []gardencorev1beta1.Worker{{Name: "p", Machine: gardencorev1beta1.Machine{Type: "small"}, Minimum: minimum,
					Maximum: maximum, Zones: zones}}}}},
		}
	}
	number := func(n int32) *int32 { return &n }

	It("should be those that pools need before and after the change, whatever other sites do", func(ctx SpecContext) {
		fake := newFakePlatform()
		servers := func(_ context.Context, request platform.ValidationRequest) (platform.Findings, error) {
			return platform.Findings{Rooms: []platform.Room{{Resource: "servers", Minimum: int(request.Demands[0].Minimum),
				Maximum: int(request.Demands[0].Maximum), Available: math.MaxInt}}}, nil
		}
		fake.validate["a"] = servers
		fake.validate["b"] = func(context.Context, platform.ValidationRequest) (platform.Findings, error) { panic("a mistake") }
		a := &actuator{platforms: platform.Registry[platform.Infrastructure]{"any": fake}, lookUpTimeout: time.Second}
		var (
			inUse   = &v1alpha1.InfrastructureSite{}
			sites   = []site.Site{{Name: "a", Platform: "any", Config: inUse}, {Name: "b", Platform: "any", Config: inUse}}
			plans   = []v1alpha1.SitePlan{{Name: "a"}, {Name: "b"}}
			request = PlanRequest{Before: cluster(1, 2, "a-1"), Cluster: cluster(4, 8, "a-1", "b-1")}
		)
		a.planQuotas(ctx, "west", request, sites, plans)
		Expect(plans[0].Quotas).To(Equal([]v1alpha1.PlannedQuota{{
			Resource: "servers", Available: math.MaxInt32,
			Minimum: v1alpha1.PlannedNumber{Before: number(1), After: number(2)},
			Maximum: v1alpha1.PlannedNumber{Before: number(2), After: number(4)},
		}}))
		Expect(plans[1].Quotas).To(BeEmpty())

		request.Before = nil
		plans = []v1alpha1.SitePlan{{Name: "a"}, {Name: "b"}}
		a.planQuotas(ctx, "west", request, sites, plans)
		Expect(plans[0].Quotas[0].Minimum).To(Equal(v1alpha1.PlannedNumber{After: number(2)}))
	})
})
