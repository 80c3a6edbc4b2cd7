// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// hostTimeout is how long a new server is watched. The scheduler usually needs a fraction of a second.
const hostTimeout = 3 * time.Second

// Initialize implements platform.Machines. The scheduler decides after the API has accepted a server. Whether it found a host
// is seen in the shared snapshot, so that any number of creations costs a few small lists a second.
func (m *machines) Initialize(ctx context.Context, request platform.MachineRequest) error {
	c, err := m.call(ctx, request)
	if err != nil {
		return platform.InSite(request.Spec.Site, err)
	}
	return platform.InSite(request.Spec.Site, c.awaitHost(ctx))
}

// awaitHost returns when a host is found for the server, and an error if none is. That nothing is known after a moment is none.
func (c *call) awaitHost(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	ticker := time.NewTicker(time.Duration(hostAge))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		view, err := c.snapshot.get(ctx, hostAge)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		s := view.byID(serverID(c.request.ProviderID))
		if s == nil {
			return nil
		}
		if !s.hostUnknown() {
			return c.faultOf(ctx, s)
		}
	}
}
