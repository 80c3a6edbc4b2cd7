// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package probe asks OpenStack sites for the quotas of servers.
package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type probe struct {
	sessions *client.Sessions
}

// New returns the Probe part of the OpenStack platform.
func New(sessions *client.Sessions) platform.Probe {
	return &probe{sessions: sessions}
}

// Probe implements platform.Probe. The compute API tells the quotas of the project, and what of them is used, in one answer.
func (p *probe) Probe(ctx context.Context, s *site.Site, _ []string) (platform.Observation, error) {
	absolute, err := p.limits(ctx, s)
	if err != nil {
		return platform.Observation{}, platform.InSite(s.Name, err)
	}
	return platform.Observation{Quotas: quotasOf(absolute)}, platform.InSite(s.Name, usedUp(absolute))
}

func (p *probe) limits(ctx context.Context, s *site.Site) (*limits.Absolute, error) {
	session, err := p.sessions.Get(ctx, s.Name, connectionOf(s), s.Credentials)
	if err != nil {
		return nil, err
	}
	compute, err := session.Compute(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := client.Extracted(limits.Get(ctx, compute, nil).Extract())
	if err != nil {
		return nil, client.Classify(err)
	}
	return &answer.Absolute, nil
}

func connectionOf(s *site.Site) v1alpha1.OpenStackConnection {
	if s.Profile == nil {
		return s.State.OpenStack.Connection
	}
	return client.ConnectionOf(s.Profile)
}

// mebibyte is the unit in which the compute API counts memory.
const mebibyte = 1 << 20

// quotasOf returns the quotas that limit something. A negative one does not.
func quotasOf(absolute *limits.Absolute) []platform.Quota {
	return slices.DeleteFunc([]platform.Quota{
		{Resource: platform.ResourceServers, Used: float64(absolute.TotalInstancesUsed), Limit: float64(absolute.MaxTotalInstances)},
		{Resource: platform.ResourceCores, Used: float64(absolute.TotalCoresUsed), Limit: float64(absolute.MaxTotalCores)},
		{Resource: platform.ResourceMemory, Used: float64(absolute.TotalRAMUsed) * mebibyte, Limit: float64(absolute.MaxTotalRAMSize) * mebibyte},
	}, func(quota platform.Quota) bool { return quota.Limit < 0 })
}

// usedUp returns an error that names the quotas that leave no room for a further server. A negative quota has no limit.
func usedUp(absolute *limits.Absolute) error {
	var full []string
	for _, quota := range []struct {
		name        string
		used, limit int
	}{
		{"servers", absolute.TotalInstancesUsed, absolute.MaxTotalInstances},
		{"cores", absolute.TotalCoresUsed, absolute.MaxTotalCores},
		{"MiB of memory", absolute.TotalRAMUsed, absolute.MaxTotalRAMSize},
	} {
		if quota.limit >= 0 && quota.used >= quota.limit {
			full = append(full, fmt.Sprintf("%d of %d %s", quota.used, quota.limit, quota.name))
		}
	}
	if len(full) == 0 {
		return nil
	}
	return platform.NewError(platform.ClassQuota, "the quota of the project is used up: %s", strings.Join(full, ", "))
}
