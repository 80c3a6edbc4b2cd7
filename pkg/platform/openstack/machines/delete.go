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
	if err := c.delete(ctx); err != nil {
		return platform.InSite(request.Spec.Site, err)
	}
	m.unanswered.Delete(request.Name)
	return nil
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
	if !found.gone() {
		if err := client.IgnoreNotFound(servers.Delete(ctx, c.compute, found.ID).ExtractErr()); err != nil {
			return err
		}
	}
	if err := c.waitUntilGone(ctx, found, time.Now()); err != nil {
		return err
	}
	// While the server goes the compute API asks the networking API about the port: it would be slower if the port went meanwhile.
	errs := platform.Each(2, func(i int) error {
		if i == 0 {
			return c.deletePortOf(ctx, found)
		}
		return c.deleteVolumes(ctx, found.ID)
	})
	return cmp.Or(errs...)
}

// findToDelete finds the server by its ID or, if the machine never got one, by its port and by name, past the snapshot: a server that an
// interrupted creation left behind may be too new for it.
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
	if id := gone.Metadata[owner.MetadataPort]; id != "" {
		if err := client.IgnoreNotFound(ports.Delete(ctx, c.network, id).ExtractErr()); err != nil ||
			gone.Metadata[owner.MetadataMorePorts] == "" {
			return err
		}
	}
	return c.deletePorts(ctx, func(port *ports.Port) bool { return port.DeviceID == "" && !view.expects(port.ID) })
}

// deletePortsOfNobody deletes the ports of a machine whose server does not exist, unless another server is the machine's: its own one
// may still be listed. A machine without ID was just looked for.
func (c *call) deletePortsOfNobody(ctx context.Context) error {
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

// deletePorts deletes the ports that were made for the machine and that are not used.
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

// waitUntilGone looks into the shared snapshot, so that any number of deletions costs a few small lists a second. A server that
// is deleted before a host was found for it never shows up as deleted in what changed: after some looks the API is asked for the
// server itself, and from the start if the lists do not have it for its name. What the API keeps for a while it is told to delete at once.
// It is progress that a server is still being deleted in the end.
func (c *call) waitUntilGone(ctx context.Context, s *server, accepted time.Time) error {
	timeout := goneTimeout
	if c.request.Once || c.request.ProviderID == "" {
		timeout = lastTimeout
	}
	timer := time.NewTimer(firstLook - time.Since(accepted))
	defer timer.Stop()
	pause, forced := nextLook, false
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
		if shown == nil && strings.HasPrefix(s.Name, namePrefix(c.owner.Shoot)) {
			return nil
		}
		if shown == nil || looks%looksBeforeAsking == 0 {
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
				return fmt.Errorf("server %q (%s), which the site keeps after its deletion, cannot be deleted at once: %w", s.Name, s.ID, err)
			}
			forced = true
		}
		if time.Since(accepted)+pause > timeout {
			return shown.deletion()
		}
		timer.Reset(pause)
		pause = min(2*pause, maxPause)
	}
}
