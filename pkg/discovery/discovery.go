// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package discovery makes CloudProfiles of what sites offer, and compares CloudProfiles with it.
package discovery

import (
	"context"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Timeout limits how long a site may take to list what it offers.
const Timeout = 2 * time.Minute

// Discovered is what a site offers.
type Discovered struct {
	// Site is the site.
	Site *site.Site
	// Discovery is the part of its platform.
	Discovery platform.Discovery
	// Offer is what the site offers.
	Offer platform.Offer
	// Err is why that is not known, nil if it is.
	Err error
}

// OfSite returns what the site offers, or an error after the timeout even if the platform ignores its context.
func OfSite(ctx context.Context, platforms platform.Registry[platform.Discovery], s *site.Site, timeout time.Duration) Discovered {
	found := Discovered{Site: s}
	if found.Discovery, found.Err = platforms.For(s.Platform); found.Err != nil {
		found.Err = platform.InSite(s.Name, found.Err)
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case said := <-platform.Ask(func() (platform.Offer, error) { return found.Discovery.Discover(ctx, s) }):
		found.Offer, found.Err = said.Value, said.Err
		if said.Err == nil || ctx.Err() == nil {
			return found
		}
	case <-ctx.Done():
	}
	found.Err = platform.InSite(s.Name, platform.NewError(platform.ClassTransient, "no answer within %s", timeout))
	return found
}

// OfSites is OfSite for several sites, which are asked concurrently.
func OfSites(ctx context.Context, platforms platform.Registry[platform.Discovery], sites []site.Site, timeout time.Duration) []Discovered {
	found := make([]Discovered, len(sites))
	platform.Each(len(sites), func(i int) error {
		found[i] = OfSite(ctx, platforms, &sites[i], timeout)
		return nil
	})
	return found
}
