// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"golang.org/x/sync/errgroup"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

const (
	// goneTimeout is how long a deletion waits at most for the server to be gone: most are long before. A longer wait would hold
	// workers of machine-controller-manager that other sites need, and a site that does not answer for 30 s counts as stalled.
	goneTimeout = 20 * time.Second
	// lastTimeout is how long it waits if nobody could find the port and the volumes later.
	lastTimeout = 2 * time.Minute
	// firstLook is how long after its deletion was accepted a server is looked for: most are gone by then.
	firstLook = 600 * time.Millisecond
	// nextLook is the first pause between two looks. Each is twice as long as the one before, up to maxPause.
	nextLook = 350 * time.Millisecond
	maxPause = 4 * time.Second
	// looksBeforeAsking is after how many looks into the snapshot the API is asked for the server itself.
	looksBeforeAsking = 3
)

// Delete implements platform.Machines.
func (m *machines) Delete(ctx context.Context, request platform.MachineRequest) error {
	c, err := m.call(ctx, request)
	if err != nil {
		return platform.InSite(request.Spec.Site, err)
	}
	return platform.InSite(request.Spec.Site, c.delete(ctx))
}

func (c *call) delete(ctx context.Context) error {
	found, err := c.findToDelete(ctx)
	if err != nil {
		return err
	}
	if found == nil {
		if err := c.deletePortsOfNobody(ctx); err != nil {
			return err
		}
		return c.deleteVolumes(ctx, serverID(c.request.ProviderID))
	}

	if err := c.rememberVolumes(ctx, found); err != nil {
		return err
	}
	if err := client.IgnoreNotFound(servers.Delete(ctx, c.compute, found.ID).ExtractErr()); err != nil {
		return err
	}
	if err := c.waitUntilGone(ctx, found, time.Now()); err != nil {
		return err
	}
	// While the server goes the compute API asks the networking API about the port: it would be slower if the port went meanwhile.
	var group errgroup.Group
	group.Go(func() error { return c.deletePortOf(ctx, found) })
	group.Go(func() error { return c.deleteVolumes(ctx, found.ID) })
	return group.Wait()
}

// findToDelete finds the server by its ID or, if the machine never got one, by name, past the snapshot: a server that an
// interrupted creation left behind may be too new for it.
func (c *call) findToDelete(ctx context.Context) (*server, error) {
	if c.request.ProviderID == "" {
		return c.findByName(ctx, "")
	}
	found, err := c.find(ctx, listAge)
	if client.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// deletePortOf deletes the port of a server that is gone, unless another server has it, too. Two servers of a machine have the same
// port if a creation that got no answer goes on while it is tried again: one of them is collected, and the other one needs its port.
// The API is asked for that one, as the snapshot may still have it although it is gone, too.
func (c *call) deletePortOf(ctx context.Context, gone *server) error {
	view, err := c.snapshot.get(ctx, listAge)
	if err != nil {
		return err
	}
	for _, id := range view.sharers(gone) {
		if _, err := c.read(ctx, id); !client.IsNotFound(err) {
			return err // nil if it is there
		}
		c.snapshot.forget(id)
	}
	return c.deletePorts(ctx, gone.Metadata[owner.MetadataPort])
}

// deletePortsOfNobody deletes the ports of a machine whose server does not exist, unless another server has its name: its own one
// may still be listed. A machine without ID was just looked for by name.
func (c *call) deletePortsOfNobody(ctx context.Context) error {
	if id := serverID(c.request.ProviderID); id != "" {
		other, err := c.findByName(ctx, id)
		if err != nil || other != nil {
			return err
		}
	}
	return c.deletePorts(ctx, "")
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

// waitUntilGone looks into the shared snapshot, so that any number of deletions costs a few small lists a second. A server that
// is deleted before a host was found for it never shows up as deleted in what changed: after some looks the API is asked for the
// server itself. It is progress that a server is still being deleted in the end.
func (c *call) waitUntilGone(ctx context.Context, s *server, accepted time.Time) error {
	timeout := goneTimeout
	if c.request.Once || c.request.ProviderID == "" {
		timeout = lastTimeout
	}
	timer := time.NewTimer(firstLook - time.Since(accepted))
	defer timer.Stop()
	pause := nextLook
	for looks := 1; ; looks++ {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return client.Classify(ctx.Err())
		}
		view, err := c.snapshot.get(ctx, goneAge)
		if err != nil {
			return err
		}
		shown := view.byID(s.ID)
		if shown == nil {
			return nil
		}
		if looks%looksBeforeAsking == 0 {
			if _, err := getServer(ctx, c.compute, s.ID); client.IsNotFound(err) {
				c.snapshot.forget(s.ID)
				return nil
			}
		}
		if time.Since(accepted)+pause > timeout {
			return shown.deletion()
		}
		timer.Reset(pause)
		pause = min(2*pause, maxPause)
	}
}
