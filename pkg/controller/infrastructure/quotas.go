// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"math"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// planQuotas adds to the plans of the sites, which are in the order of the sites, what the pools need before and after the change. Checks
// that cannot be made, or that find something, are not its matter.
func (a *actuator) planQuotas(ctx context.Context, region string, request PlanRequest, sites []site.Site, plans []v1alpha1.SitePlan) {
	before, after := demandsOf(request.Before, region), demandsOf(request.Cluster, region)
	_ = platform.Each(len(sites), func(i int) error {
		ctx, cancel := context.WithTimeout(ctx, a.lookUpTimeout)
		defer cancel()
		return platform.Try(func() error {
			s := &sites[i]
			part, err := a.platforms.For(s.Platform)
			if err != nil || s.Removed() {
				return err
			}
			plan := &plans[i]
			for _, room := range roomsOf(ctx, part, s, after[s.Name]) {
				quota := quotaIn(plan, room)
				quota.Minimum.After, quota.Maximum.After = numberOf(room.Minimum), numberOf(room.Maximum)
			}
			for _, room := range roomsOf(ctx, part, s, before[s.Name]) {
				quota := quotaIn(plan, room)
				quota.Minimum.Before, quota.Maximum.Before = numberOf(room.Minimum), numberOf(room.Maximum)
			}
			return nil
		})
	})
}

// demandsOf returns the demands by name of the site. There are none if the Cluster is nil.
func demandsOf(cluster *extensionscontroller.Cluster, region string) map[string][]platform.Demand {
	if cluster == nil {
		return nil
	}
	profile, err := shootsites.Profile(cluster)
	if err != nil {
		return nil
	}
	return demands(cluster, profile, region)
}

func roomsOf(ctx context.Context, part platform.Infrastructure, s *site.Site, demands []platform.Demand) []platform.Room {
	if len(demands) == 0 {
		return nil
	}
	findings, _ := part.Validate(ctx, s, platform.ValidationRequest{Path: sitePath(0), Demands: demands})
	return findings.Rooms
}

// quotaIn returns the quota of the resource in the plan, and adds it if it is missing.
func quotaIn(plan *v1alpha1.SitePlan, room platform.Room) *v1alpha1.PlannedQuota {
	is := func(q *v1alpha1.PlannedQuota) bool { return q.Resource == room.Resource }
	if lists.Find(plan.Quotas, is) == nil {
		plan.Quotas = append(plan.Quotas, v1alpha1.PlannedQuota{Resource: room.Resource, Available: *numberOf(room.Available)})
	}
	return lists.Find(plan.Quotas, is)
}

// numberOf returns the number, which is at most the largest int32.
func numberOf(number int) *int32 {
	return new(int32(min(number, math.MaxInt32))) // #nosec G115 -- it fits
}
