// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package probe reads the server quotas of OpenStack sites.
package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
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

// Probe implements platform.Probe. The compute API reports limits and usage of the project in one response.
func (p *probe) Probe(ctx context.Context, s *site.Site, _ []string) (_ platform.Observation, err error) {
	defer platform.NameSite(s.Name, &err)
	session, err := p.sessions.Get(ctx, s.Name, connectionOf(s), s.Credentials)
	if err != nil {
		return platform.Observation{}, err
	}
	compute, err := session.Compute(ctx)
	if err != nil {
		return platform.Observation{}, err
	}
	answer, err := client.Extracted(limits.Get(ctx, compute, nil).Extract())
	if err != nil {
		return platform.Observation{}, err
	}
	return platform.Observation{Quotas: QuotasOf(&answer.Absolute)}, usedUp(&answer.Absolute)
}

func connectionOf(s *site.Site) v1alpha1.OpenStackConnection {
	if s.Profile == nil {
		return s.State.OpenStack.Connection
	}
	return client.ConnectionOf(s.Profile)
}

// mebibyte is the compute API's unit of memory.
const mebibyte = 1 << 20

type quota struct {
	name        string
	resource    platform.Resource
	unit        float64
	used, limit int
}

// limited returns the quotas that have a limit. A negative limit means that there is none.
func limited(absolute *limits.Absolute) []quota {
	return slices.DeleteFunc([]quota{
		{"servers", platform.ResourceServers, 1, absolute.TotalInstancesUsed, absolute.MaxTotalInstances},
		{"cores", platform.ResourceCores, 1, absolute.TotalCoresUsed, absolute.MaxTotalCores},
		{"MiB of memory", platform.ResourceMemory, mebibyte, absolute.TotalRAMUsed, absolute.MaxTotalRAMSize},
	}, func(q quota) bool { return q.limit < 0 })
}

// QuotasOf returns the quotas of servers that have a limit.
func QuotasOf(absolute *limits.Absolute) []platform.Quota {
	return lists.Map(limited(absolute), func(q quota) platform.Quota {
		return platform.Quota{Resource: q.resource, Used: float64(q.used) * q.unit, Limit: float64(q.limit) * q.unit}
	})
}

// usedUp returns an error that names the quotas that leave no room for another server.
func usedUp(absolute *limits.Absolute) error {
	var full []string
	for _, q := range limited(absolute) {
		if q.used >= q.limit {
			full = append(full, fmt.Sprintf("%d of %d %s", q.used, q.limit, q.name))
		}
	}
	if len(full) == 0 {
		return nil
	}
	return platform.NewError(platform.ClassQuota, "the quota of the project is used up: %s", strings.Join(full, ", "))
}
