// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package probe asks vCenters for their time.
package probe

import (
	"context"

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

// Probe implements platform.Probe. The vCenter tells its time to whoever is logged in, and nothing of what is free.
func (p *probe) Probe(ctx context.Context, s *site.Site) ([]platform.Quota, error) {
	session, err := p.sessions.Get(ctx, s.Name, connectionOf(s), s.Credentials)
	if err != nil {
		return nil, platform.InSite(s.Name, err)
	}
	_, err = methods.GetCurrentTime(ctx, session.VIM())
	return nil, platform.InSite(s.Name, client.Classify(err))
}

func connectionOf(s *site.Site) v1alpha1.VSphereConnection {
	if s.Profile == nil {
		return s.State.VSphere.Connection
	}
	return client.ConnectionOf(s.Profile)
}
