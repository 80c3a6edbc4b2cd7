// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package probe reads the free capacity in the zones of a site.
package probe

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type probe struct {
	sessions *client.Sessions
}

// New returns the Probe part of the vSphere platform.
func New(sessions *client.Sessions) platform.Probe {
	return &probe{sessions: sessions}
}

// TellsFaults implements platform.Probe.
func (*probe) TellsFaults() bool {
	return false
}

// Probe implements platform.Probe. One request reads the resource pools and datastores of all zones. Their names are looked up once an
// hour, a few per probe. Objects that are missing or not visible are reported by the Infrastructure.
func (p *probe) Probe(ctx context.Context, s *site.Site, _ []string) (platform.Observation, error) {
	capacities, err := p.ask(ctx, s)
	return platform.Observation{Capacities: capacities}, platform.InSite(s.Name, err)
}

func (p *probe) ask(ctx context.Context, s *site.Site) ([]platform.Capacity, error) {
	session, err := p.sessions.Get(ctx, s.Name, connectionOf(s), s.Credentials)
	if err != nil {
		return nil, err
	}
	zones, err := placesOf(ctx, session, s.Profile)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(zones, func(z zone) bool { return len(z.places) > 0 }) {
		_, err := methods.GetCurrentTime(ctx, session.VIM()) // a cheap request that requires a session
		return nil, client.Classify(err)
	}
	return capacitiesOf(ctx, session, zones)
}

func connectionOf(s *site.Site) v1alpha1.VSphereConnection {
	if s.Profile == nil {
		return s.State.VSphere.Connection
	}
	return client.ConnectionOf(s.Profile, "")
}
