// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package probe asks inventories of bare-metal hosts for one object.
package probe

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type probe struct {
	sessions *client.Sessions
	open     inventory.Opener
}

// New returns the Probe part of the bare-metal platform.
func New(sessions *client.Sessions, open inventory.Opener) platform.Probe {
	return &probe{sessions: sessions, open: open}
}

// Probe implements platform.Probe. The inventory lists one host or server claim of its namespace, and of that only the metadata.
// Whether hosts are free is asked where one is wanted.
func (p *probe) Probe(ctx context.Context, s *site.Site) (platform.Room, error) {
	return platform.Room{}, platform.InSite(s.Name, p.probe(ctx, s))
}

func (p *probe) probe(ctx context.Context, s *site.Site) error {
	connection := connectionOf(s)
	session, err := p.sessions.Get(ctx, s.Name, connection, s.Credentials)
	if err != nil {
		return err
	}
	hosts, err := p.open(session, connection.Inventory, inventory.Options{})
	if err != nil {
		return err
	}
	return hosts.Ping(ctx)
}

func connectionOf(s *site.Site) v1alpha1.MetalConnection {
	if s.Profile == nil {
		return s.State.Metal.Connection
	}
	return client.ConnectionOf(s.Profile)
}
