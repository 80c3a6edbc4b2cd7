// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyplatform

import (
	"context"
	"slices"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Probed is a question to a site.
type Probed struct {
	// Site is what the site was asked with.
	Site *site.Site
	// Shoots are those that it was asked for.
	Shoots []string
	// At is when that was.
	At time.Time
}

// SetFaults makes the site report the faults.
func (c *Cloud) SetFaults(site string, faults ...platform.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[site] = faults
}

// Probed returns the last question to the site.
func (c *Cloud) Probed(site string) Probed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.probed[site]
}

type probe struct{ cloud *Cloud }

// NewProbe returns the platform's part for the health of sites.
func NewProbe(cloud *Cloud) platform.Probe { return &probe{cloud} }

// ReportsFaults implements platform.FaultReporter.
func (*probe) ReportsFaults() {}

// Probe implements platform.Probe.
func (p *probe) Probe(ctx context.Context, s *site.Site, shoots []string) (platform.Observation, error) {
	p.cloud.mu.Lock()
	p.cloud.probed[s.Name] = Probed{Site: s, Shoots: shoots, At: time.Now()}
	p.cloud.mu.Unlock()
	if err := p.cloud.request(ctx, s.Name); err != nil {
		return platform.Observation{}, err
	}
	p.cloud.mu.Lock()
	defer p.cloud.mu.Unlock()
	return platform.Observation{Faults: slices.Clone(p.cloud.faults[s.Name])}, nil
}
