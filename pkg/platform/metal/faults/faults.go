// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package faults tells of hosts that something is wrong with while machines of a shoot run on them.
package faults

import (
	"cmp"
	"context"
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type faults struct {
	sessions *client.Sessions
	open     inventory.Opener
}

// New returns the Faults part of the bare-metal platform.
func New(sessions *client.Sessions, open inventory.Opener) platform.Faults {
	return &faults{sessions: sessions, open: open}
}

// Watch implements platform.Faults.
func (f *faults) Watch(ctx context.Context, s *site.Site, changed func([]platform.Fault)) error {
	return platform.InSite(s.Name, f.watch(ctx, s, changed))
}

func (f *faults) watch(ctx context.Context, s *site.Site, changed func([]platform.Fault)) error {
	connection := client.ConnectionOf(s.Profile)
	session, err := f.sessions.Get(ctx, s.Name, connection, s.Credentials)
	if err != nil {
		return err
	}
	hosts, err := f.open(session, connection.Inventory, inventory.Options{Owner: owner.Owner{Shoot: s.Shoot, Site: s.Name}})
	if err != nil {
		return err
	}

	var told []platform.Fault
	first := true
	return hosts.Watch(ctx, func(hosts []inventory.Host) {
		found := faultsOf(hosts)
		if first || !slices.Equal(found, told) {
			first, told = false, found
			changed(found)
		}
	})
}

// faultsOf returns the faults of hosts that machines run on, ordered by machine and host.
func faultsOf(hosts []inventory.Host) []platform.Fault {
	var found []platform.Fault
	for _, host := range hosts {
		if host.Machine != "" && host.Fault != "" {
			found = append(found, platform.Fault{Machine: host.Machine, Host: host.Name, Message: host.Fault})
		}
	}
	slices.SortFunc(found, func(a, b platform.Fault) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Host, b.Host))
	})
	return found
}
