// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/floatingip"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

const (
	// deletionTimeout limits how long a deletion waits for the server to be gone; most take far less. Longer waits would block workers of
	// machine-controller-manager that other sites need, and a site without a response for 30 s counts as stalled.
	deletionTimeout = 20 * time.Second
	// finalTimeout is the limit if there is no later call that could delete the port and the volumes.
	finalTimeout = 2 * time.Minute
	// firstPoll is the delay before the first poll: most servers are gone by then.
	firstPoll = 600 * time.Millisecond
	// nextPoll is the delay before the second poll. It doubles with each poll up to maxPoll.
	nextPoll = 350 * time.Millisecond
	maxPoll  = 4 * time.Second
	// pollsPerRead is the number of polls of the snapshot after which the API is queried for the server itself.
	pollsPerRead = 3
)

// Delete implements platform.Machines.
func (m *machines) Delete(ctx context.Context, request platform.MachineRequest) error {
	_, err := platform.Perform(ctx, request, m.call, func(c *call, ctx context.Context) (any, error) { return nil, c.delete(ctx) })
	if err == nil {
		m.unanswered.Delete(request.Name)
	}
	return err
}

func (c *call) delete(ctx context.Context) error {
	found, err := c.findToDelete(ctx)
	if err != nil {
		return err
	}
	if found == nil {
		if err := c.deleteUnusedPorts(ctx); err != nil {
			return err
		}
		// The machine class of an interrupted deletion may no longer say that the machine had a floating IP.
		if err := c.deleteFloatingIPs(ctx); err != nil {
			return err
		}
		return c.deleteVolumes(ctx, serverID(c.request.ProviderID))
	}

	if err := c.recordVolumes(ctx, found); err != nil {
		return err
	}
	if !found.gone() {
		if err := client.IgnoreNotFound(servers.Delete(ctx, c.compute, found.ID).ExtractErr()); err != nil {
			return err
		}
	}
	if err := c.waitUntilGone(ctx, found, time.Now()); err != nil {
		return err
	}
	// While a server is being deleted, the compute API queries the networking API for the port and would be delayed if the port were missing.
	errs := platform.Each(2, func(i int) error {
		if i == 0 {
			if err := c.deletePortOf(ctx, found); err != nil || found.Metadata[owner.MetadataFloatingIP] == "" {
				return err
			}
			return c.deleteFloatingIPs(ctx)
		}
		return c.deleteVolumes(ctx, found.ID)
	})
	return cmp.Or(errs...)
}

// findToDelete finds the server by its ID. If the machine never got one, it bypasses the snapshot and searches by port and by name: a
// server of an interrupted creation may be missing in the snapshot.
func (c *call) findToDelete(ctx context.Context) (*server, error) {
	if c.request.ProviderID == "" {
		existing, err := c.ownPorts(ctx)
		if err != nil {
			return nil, err
		}
		return c.findLive(ctx, existing, "")
	}
	found, err := c.find(ctx, listAge)
	if client.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

func (c *call) deleteFloatingIPs(ctx context.Context) error {
	return floatingip.DeleteUnused(ctx, c.network, c.owner.MachineDescription(c.request.Name))
}

// deletePortOf deletes the port of a deleted server unless another server shares it. Two servers of a machine share the port if a creation
// without a response continued while it was retried: one of them is collected as an orphan, and the other one needs its port. Servers that
// share it are read from the API, because the snapshot may be stale.
func (c *call) deletePortOf(ctx context.Context, gone *server) error {
	view, err := c.snapshot.get(ctx, listAge)
	if err != nil {
		return err
	}
	for _, id := range view.othersOnPort(gone) {
		if _, err := c.read(ctx, id); !client.IsNotFound(err) {
			return err // nil if it exists
		}
		c.snapshot.forget(id)
	}
	if id := gone.Metadata[owner.MetadataPort]; id != "" {
		if err := client.IgnoreNotFound(ports.Delete(ctx, c.network, id).ExtractErr()); err != nil ||
			gone.Metadata[owner.MetadataMorePorts] == "" {
			return err
		}
	}
	return c.deletePorts(ctx, func(port *ports.Port) bool { return port.DeviceID == "" && !view.usesPort(port.ID) })
}

// deleteUnusedPorts deletes the ports of a machine whose server does not exist, unless another server belongs to the machine: its own
// server may still be listed. A machine without ID was just searched for.
func (c *call) deleteUnusedPorts(ctx context.Context) error {
	if id := serverID(c.request.ProviderID); id != "" {
		existing, err := c.ownPorts(ctx)
		if err != nil || len(existing) == 0 {
			return err
		}
		other, err := c.findLive(ctx, existing, id)
		if err != nil || other != nil {
			return err
		}
	}
	return c.deletePorts(ctx, func(*ports.Port) bool { return true })
}

// deletePorts deletes the ports that were created for the machine and are unused.
func (c *call) deletePorts(ctx context.Context, unused func(*ports.Port) bool) error {
	found, err := c.ownPorts(ctx)
	if err != nil {
		return err
	}
	for _, port := range found {
		if !unused(&port) {
			continue
		}
		if err := client.IgnoreNotFound(ports.Delete(ctx, c.network, port.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}

// waitUntilGone polls the shared snapshot, so that any number of deletions costs a few small lists per second. A server that is deleted
// before it was scheduled never appears as deleted in the list of changes: after some polls the server itself is read, and from the start
// if the lists omit it because of its name. Servers that the API retains after their deletion are force-deleted. If the server is still
// being deleted in the end, the error is progress.
func (c *call) waitUntilGone(ctx context.Context, s *server, accepted time.Time) error {
	timeout := deletionTimeout
	if c.request.Once || c.request.ProviderID == "" {
		timeout = finalTimeout
	}
	timer := time.NewTimer(firstPoll - time.Since(accepted))
	defer timer.Stop()
	pause, forced := nextPoll, false
	for polls := 1; ; polls++ {
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
		if shown == nil && strings.HasPrefix(s.Name, namePrefix(c.owner.Shoot)) {
			return nil
		}
		if shown == nil || polls%pollsPerRead == 0 {
			read, err := c.read(ctx, s.ID)
			switch {
			case client.IsNotFound(err):
				c.snapshot.forget(s.ID)
				return nil
			case err == nil:
				shown = read
			case shown == nil:
				return err
			}
		}
		if shown.Status == statusSoft && !forced {
			if err := client.IgnoreNotFound(servers.ForceDelete(ctx, c.compute, s.ID).ExtractErr()); err != nil {
				return fmt.Errorf("server %q (%s) is retained by the site after its deletion and cannot be force-deleted: %w", s.Name, s.ID, err)
			}
			forced = true
		}
		if time.Since(accepted)+pause > timeout {
			return shown.deletion()
		}
		timer.Reset(pause)
		pause = min(2*pause, maxPoll)
	}
}
