// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

// listed returns the servers to list by ID, each with the name of its machine: one whose name belongs to no Machine is deleted as an orphan.
// Servers of version 0.1 do not tell the name that they were made with. Such a server keeps the name that it had when it was called like
// its port; it is not listed if somebody renamed one of the two before.
func (c *call) listed(ctx context.Context, v view) (view, error) {
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
