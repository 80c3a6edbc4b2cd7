// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package servergroup creates, finds and deletes the server groups of worker pools.
package servergroup

import (
	"cmp"
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

const (
	// microversion is the compute API version in which a server group has a single policy, including soft ones.
	microversion = "2.64"
	// pageSize is the requested page size. The API has no links to further pages, and a site may return fewer at once: the list ends with an
	// empty page.
	pageSize = 500
)

// ServerGroup is a server group of a pool.
type ServerGroup struct {
	// ID is the ID of the server group.
	ID string
	// Name is the name of the server group.
	Name string
	// Policy is the policy of the server group.
	Policy string
}

// List returns the server groups of the owner, sorted by ID. Errors are classified.
func List(ctx context.Context, compute *gophercloud.ServiceClient, o owner.Owner) ([]ServerGroup, error) {
	var (
		own  []ServerGroup
		last string
	)
	for offset := 0; ; {
		page, err := client.List(ctx, servergroups.List(versioned(compute), servergroups.ListOpts{Limit: pageSize, Offset: offset}),
			servergroups.ExtractServerGroups)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 || page[0].ID == last {
			break
		}
		offset, last = offset+len(page), page[0].ID
		for i := range page {
			if group := serverGroupOf(&page[i]); o.OwnsServerGroup(group.Name, group.Policy) {
				own = append(own, group)
			}
		}
	}
	slices.SortFunc(own, func(a, b ServerGroup) int { return cmp.Compare(a.ID, b.ID) })
	return own, nil
}

// Ensure returns the server group of the pool with the policy, and creates it if it does not exist. Errors are classified.
func Ensure(ctx context.Context, compute *gophercloud.ServiceClient, o owner.Owner, pool, policy string) (ServerGroup, error) {
	existing, err := List(ctx, compute, o)
	if err != nil {
		return ServerGroup{}, err
	}
	name := o.ServerGroupName(pool, policy)
	if i := slices.IndexFunc(existing, func(g ServerGroup) bool { return g.Name == name }); i >= 0 {
		return existing[i], nil
	}
	created, err := client.Extracted(servergroups.Create(ctx, versioned(compute),
		servergroups.CreateOpts{Name: name, Policy: policy}).Extract())
	if err != nil {
		return ServerGroup{}, err
	}
	return serverGroupOf(created), nil
}

// Delete deletes the server group. It is a no-op if the server group does not exist. Errors are classified.
func Delete(ctx context.Context, compute *gophercloud.ServiceClient, id string) error {
	return client.IgnoreNotFound(servergroups.Delete(ctx, compute, id).ExtractErr())
}

func serverGroupOf(g *servergroups.ServerGroup) ServerGroup {
	return ServerGroup{ID: g.ID, Name: g.Name, Policy: ptr.Deref(g.Policy, "")}
}

func versioned(compute *gophercloud.ServiceClient) *gophercloud.ServiceClient {
	c := *compute
	c.Microversion = microversion
	return &c
}
