// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

// goneTimeout is how long a deletion waits for the server to be gone. Servers that need longer have a problem.
const goneTimeout = 30 * time.Second

// looksBeforeAsking is after how many looks into the snapshot the API is asked for the server itself.
const looksBeforeAsking = 3

// Delete implements platform.Machines.
func (m *machines) Delete(ctx context.Context, request platform.MachineRequest) error {
	c, err := m.call(ctx, request)
	if err != nil {
		return platform.InSite(request.Spec.Site, err)
	}
	return platform.InSite(request.Spec.Site, c.delete(ctx))
}

func (c *call) delete(ctx context.Context) error {
	server, err := c.findToDelete(ctx)
	if err != nil {
		return err
	}
	if server == nil {
		return c.deletePorts(ctx, "")
	}

	if err := client.IgnoreNotFound(servers.Delete(ctx, c.compute, server.ID).ExtractErr()); err != nil {
		return err
	}
	if err := c.deletePorts(ctx, server.Metadata[owner.MetadataPort]); err != nil {
		return err
	}
	return c.waitUntilGone(ctx, server)
}

// findToDelete finds the server by its ID or, if the machine never got one, by name, past the snapshot: a server that an
// interrupted creation left behind may be too new for it.
func (c *call) findToDelete(ctx context.Context) (*servers.Server, error) {
	if c.request.ProviderID == "" {
		return c.findByName(ctx)
	}
	server, err := c.find(ctx, listAge)
	if client.IsNotFound(err) {
		return nil, nil
	}
	return server, err
}

// deletePorts deletes the port with the ID, or, if there is none, all that were made for the machine.
func (c *call) deletePorts(ctx context.Context, id string) error {
	if id != "" {
		return client.IgnoreNotFound(ports.Delete(ctx, c.network, id).ExtractErr())
	}
	found, err := c.ownPorts(ctx)
	if err != nil {
		return err
	}
	for _, port := range found {
		if err := client.IgnoreNotFound(ports.Delete(ctx, c.network, port.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}

// waitUntilGone looks into the shared snapshot, so that any number of deletions costs one list a second. A server that is
// deleted before a host was found for it never shows up as deleted in what changed: after some looks the API is asked for the
// server itself.
func (c *call) waitUntilGone(ctx context.Context, server *servers.Server) error {
	ctx, cancel := context.WithTimeout(ctx, goneTimeout)
	defer cancel()

	ticker := time.NewTicker(time.Duration(goneAge))
	defer ticker.Stop()
	for looks := 1; ; looks++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return platform.NewError(platform.ClassTransient, "server %q (%s) is still there %s after its deletion was accepted", server.Name, server.ID, goneTimeout)
		}
		view, err := c.snapshot.get(ctx, goneAge)
		if err != nil {
			return err
		}
		if view.byID(server.ID) == nil {
			return nil
		}
		if looks%looksBeforeAsking != 0 {
			continue
		}
		if err := servers.Get(ctx, c.compute, server.ID).Err; client.IsNotFound(err) {
			c.snapshot.forget(server.ID)
			return nil
		}
	}
}
