// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyplatform

import (
	"context"
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Watch is a watch of a site that runs.
type Watch struct {
	// Site is what the site is watched with.
	Site *site.Site

	changes chan []platform.Fault
	broken  chan error
}

// SetFaults lets the site tell all watches, those that run and further ones, of the faults.
func (c *Cloud) SetFaults(site string, faults ...platform.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[site] = faults
	for _, w := range c.watches {
		if w.Site.Name == site {
			w.changes <- faults
		}
	}
}

// BreakWatches ends all watches of the site with the error.
func (c *Cloud) BreakWatches(site string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watches {
		if w.Site.Name == site {
			w.broken <- err
		}
	}
}

// Watches returns the watches that run.
func (c *Cloud) Watches() []*Watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.watches)
}

type faults struct{ cloud *Cloud }

// NewFaults returns the platform's part for the health check.
func NewFaults(cloud *Cloud) platform.Faults { return &faults{cloud} }

// Watch implements platform.Faults.
func (f *faults) Watch(ctx context.Context, s *site.Site, changed func([]platform.Fault)) error {
	if err := f.cloud.request(ctx, s.Name); err != nil {
		return err
	}
	w := f.cloud.startWatch(s)
	defer f.cloud.endWatch(w)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-w.broken:
			return platform.InSite(s.Name, err)
		case faults := <-w.changes:
			changed(faults)
		}
	}
}

// startWatch has room for more changes than a test makes, so that the cloud need not wait.
func (c *Cloud) startWatch(s *site.Site) *Watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &Watch{Site: s, changes: make(chan []platform.Fault, 100), broken: make(chan error, 1)}
	w.changes <- c.faults[s.Name]
	c.watches = append(c.watches, w)
	return w
}

func (c *Cloud) endWatch(ended *Watch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches = slices.DeleteFunc(c.watches, func(w *Watch) bool { return w == ended })
}
