// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package probe asks inventories of bare-metal hosts for faults.
package probe

import (
	"cmp"
	"context"
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// shootsPerList is the maximum number of shoots per request: their names are in its URL, whose length proxies limit.
const shootsPerList = 50

type probe struct {
	sessions *client.Sessions
	open     inventory.Opener
}

// New returns the Probe part of the bare-metal platform.
func New(sessions *client.Sessions, open inventory.Opener) platform.Probe {
	return &probe{sessions: sessions, open: open}
}

var _ platform.FaultReporter = &probe{}

// ReportsFaults implements platform.FaultReporter.
func (*probe) ReportsFaults() {}

// Probe implements platform.Probe. It lists the hosts with the labels of the shoots on the site. Free hosts are counted only when one is
// needed. Faults are ordered by shoot, machine and host.
func (p *probe) Probe(ctx context.Context, s *site.Site, shoots []string) (_ platform.Observation, err error) {
	defer platform.NameSite(s.Name, &err)
	_, hosts, err := p.open.Open(ctx, p.sessions, inventory.Request{
		Options: inventory.Options{Owner: owner.Owner{Site: s.Name}}, Connection: connectionOf(s), Credentials: s.Credentials})
	if err != nil {
		return platform.Observation{}, err
	}
	var faults []platform.Fault
	for some := range slices.Chunk(shoots, shootsPerList) {
		found, err := hosts.Faults(ctx, some)
		if err != nil {
			return platform.Observation{}, err
		}
		faults = append(faults, found...)
	}
	slices.SortFunc(faults, func(a, b platform.Fault) int {
		return cmp.Or(cmp.Compare(a.Shoot, b.Shoot), cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Host, b.Host))
	})
	return platform.Observation{Faults: faults}, nil
}

func connectionOf(s *site.Site) v1alpha1.MetalConnection {
	if s.Profile == nil {
		return s.State.Metal.Connection
	}
	return client.ConnectionOf(s.Profile)
}
