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
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

// exactly selects servers with the name.
func exactly(name string) servers.ListOpts {
	return servers.ListOpts{Name: "^" + regexp.QuoteMeta(name) + "$"}
}

// ofShoot selects servers named like those of the shoot. They may belong to another shoot with a longer name.
func ofShoot(shoot string) servers.ListOpts {
	return servers.ListOpts{Name: "^" + regexp.QuoteMeta(namePrefix(shoot))}
}

// namePrefix is the prefix of the names of a shoot's machines.
func namePrefix(shoot string) string {
	return shoot + "-"
}

// listServers also returns the time of the request by the clock of the API, or zero if the API does not report it.
func listServers(ctx context.Context, compute *gophercloud.ServiceClient, options servers.ListOpts) (found []server, asked time.Time,
	err error) {
	return pagesOf(ctx, servers.List(compute, options))
}

// listIDs returns the IDs of the servers. It is much cheaper for the API than listServers.
func listIDs(ctx context.Context, compute *gophercloud.ServiceClient, options servers.ListOpts) ([]string, error) {
	found, _, err := pagesOf(ctx, servers.ListSimple(compute, options))
	return lists.Map(found, func(s server) string { return s.ID }), err
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
		// A 404 refers to the API and says nothing about a server.
		return nil, asked, platform.NewError(platform.ClassTransient, "servers cannot be listed: %w", err)
	}
	return found, asked, err
}

// listable returns the servers to list by ID, each with the name of its machine: a server whose name belongs to no Machine is deleted as an
// orphan. Servers of version 0.1 do not record their original name. Such a server is listed with the name that it had when it matched that
// of its port, and not at all if one of the two was renamed before.
func (c *call) listable(ctx context.Context, v view) (view, error) {
	result := view{}
	var unsure []*server
	for id, s := range v {
		switch name, known := c.snapshot.names.Load(id); {
		case s.gone():
		case s.Metadata[owner.MetadataMachine] != "", s.Metadata[owner.MetadataPort] == "":
			result[id] = s
		case known:
			named := *s
			named.Name = name.(string)
			result[id] = &named
		default:
			unsure = append(unsure, s)
		}
	}
	if len(unsure) == 0 {
		return result, nil
	}
	found, err := client.List(ctx, ports.List(c.network, ports.ListOpts{Description: c.owner.Description()}), ports.ExtractPorts)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for i := range found {
		names[found[i].ID] = found[i].Name
	}
	for _, s := range unsure {
		if names[s.Metadata[owner.MetadataPort]] == s.Name {
			c.snapshot.names.Store(s.ID, s.Name)
			result[s.ID] = s
		}
	}
	return result, nil
}
