// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// exactly filters the servers with the name.
func exactly(name string) servers.ListOpts {
	return servers.ListOpts{Name: "^" + regexp.QuoteMeta(name) + "$"}
}

// ofShoot filters the servers whose names begin like those of the shoot. They may be those of another shoot with a longer name.
func ofShoot(shoot string) servers.ListOpts {
	return servers.ListOpts{Name: "^" + regexp.QuoteMeta(namePrefix(shoot))}
}

// namePrefix is what the names of a shoot's machines begin with.
func namePrefix(shoot string) string {
	return shoot + "-"
}

// listServers also returns when the request was made by the clock of the API; zero if the API did not say.
func listServers(ctx context.Context, compute *gophercloud.ServiceClient, options servers.ListOpts) (found []server, asked time.Time,
	err error) {
	return pagesOf(ctx, servers.List(compute, options))
}

// listIDs returns the IDs of the servers. It is much cheaper for the API than listServers.
func listIDs(ctx context.Context, compute *gophercloud.ServiceClient, options servers.ListOpts) ([]string, error) {
	found, _, err := pagesOf(ctx, servers.ListSimple(compute, options))
	ids := make([]string, 0, len(found))
	for i := range found {
		ids = append(ids, found[i].ID)
	}
	return ids, err
}

func pagesOf(ctx context.Context, pager pagination.Pager) (found []server, asked time.Time, err error) {
	err = client.EachPage(ctx, pager, func(page pagination.Page) error {
		if p, ok := page.(servers.ServerPage); ok && found == nil {
			if date, err := http.ParseTime(p.Header.Get("Date")); err == nil {
				asked = date
			}
		}
		var extracted []server
		err := servers.ExtractServersInto(page, &extracted)
		found = append(found, extracted...)
		return err
	})
	if client.IsNotFound(err) {
		// What is not found is the API, which says nothing about a server.
		return nil, asked, platform.NewError(platform.ClassTransient, "servers cannot be listed: %w", err)
	}
	return found, asked, err
}
