// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// warnings returns warnings about settings that are valid but risky. seed is nil if the Shoot is not scheduled yet.
func (c *change) warnings(seed *gardencorev1beta1.Seed) []string {
	d, p := c.new, c.profile
	if d.infrastructure == nil {
		return nil
	}
	var (
		pools    = validation.NewWorkerValidator(p.Spec, p.Config, d.infrastructure)
		warnings []string
	)
	add := func(messages ...string) {
		for _, message := range messages {
			if message != "" {
				warnings = append(warnings, message)
			}
		}
	}
	add(systemComponentsOnOneSite(d, pools), noDefaultStorage(d, p))
	add(burstWithoutPriorities(d, pools)...)
	add(poolsBeyondMaximum(d, pools)...)
	add(sitesBeyondMaximum(d, p, pools)...)
	add(volumesWithoutEffect(d, p, pools)...)
	add(endpointsInSeed(d, p, seed)...)
	for _, overlap := range c.overlaps {
		add(overlap.Error())
	}
	if c.old != nil {
		add(removedSites(c.old, d)...)
	}
	return warnings
}

// systemComponentsOnOneSite warns if the outage of one site takes all system components down.
func systemComponentsOnOneSite(d *document, pools *validation.WorkerValidator) string {
	if len(d.infrastructure.Sites) < 2 {
		return ""
	}
	var sites []string
	for i := range d.pools() {
		if pool := &d.pools()[i]; v1beta1helper.SystemComponentsAllowed(pool) && pool.Maximum > 0 {
			sites = append(sites, pools.SitesOf(pool.Zones)...)
		}
	}
	slices.Sort(sites)
	if sites = slices.Compact(sites); len(sites) != 1 {
		return ""
	}
	return fmt.Sprintf("%s: all pools for system components are on site %q: an outage of the site affects the whole shoot",
		workersPath, sites[0])
}

// noDefaultStorage warns if the shoot has no default storage class.
func noDefaultStorage(d *document, p *profile.Profile) string {
	defaultSite := helper.DefaultSite(d.controlPlane, d.infrastructure)
	if site := helper.FindSite(p.Config, defaultSite); site == nil || len(site.StorageClasses) > 0 {
		return ""
	}
	return fmt.Sprintf("%s: the CloudProfile has no storage classes for site %q, so the shoot has no default storage class",
		controlPlanePath.Child("defaultSite"), defaultSite)
}

// burstWithoutPriorities warns of autoscaled pools on several sites without priorities.
func burstWithoutPriorities(d *document, pools *validation.WorkerValidator) []string {
	var warnings []string
	for i := range d.pools() {
		pool := &d.pools()[i]
		sites := pools.SitesOf(pool.Zones)
		if len(sites) < 2 || pool.Minimum == pool.Maximum {
			continue
		}
		config, err := decode[v1alpha1.WorkerConfig](pool.ProviderConfig)
		if err != nil || config != nil && slices.ContainsFunc(config.Sites, func(s v1alpha1.WorkerSite) bool { return s.Priority != nil }) {
			continue
		}
		warnings = append(warnings,
			fmt.Sprintf("%s: pool %q has no priorities for its sites %q, so the autoscaler may use any of them",
				workersPath.Index(i).Child("providerConfig", "sites"), pool.Name, sites))
	}
	return warnings
}

// poolsBeyondMaximum warns of pools whose maximum is not what the maxima of their sites add up to: the latter are decisive.
func poolsBeyondMaximum(d *document, pools *validation.WorkerValidator) []string {
	var warnings []string
	for i := range d.pools() {
		pool := &d.pools()[i]
		var maximum int32
		for _, limits := range pools.LimitsBySite(pool) {
			maximum += limits.Maximum
		}
		if maximum != pool.Maximum {
			warnings = append(warnings,
				fmt.Sprintf("%s: pool %q can have up to %d machines, not %d: the maxima of its sites in providerConfig.sites are decisive",
					workersPath.Index(i).Child("maximum"), pool.Name, maximum, pool.Maximum))
		}
	}
	return warnings
}

// sitesBeyondMaximum warns of sites whose maximum of machines the pools exceed together.
func sitesBeyondMaximum(d *document, p *profile.Profile, pools *validation.WorkerValidator) []string {
	sums := map[string]validation.Limits{}
	for i := range d.pools() {
		for site, limits := range pools.LimitsBySite(&d.pools()[i]) {
			sum := sums[site]
			sums[site] = validation.Limits{Minimum: sum.Minimum + limits.Minimum, Maximum: sum.Maximum + limits.Maximum}
		}
	}
	var warnings []string
	for i := range d.infrastructure.Sites {
		var (
			site    = &d.infrastructure.Sites[i]
			maximum = helper.MaximumMachines(helper.FindSite(p.Config, site.Name), site)
			sum     = sums[site.Name]
			fldPath = infrastructurePath.Child("sites").Index(i).Child("maximumMachines")
		)
		switch {
		case maximum == nil:
		case sum.Minimum > *maximum:
			warnings = append(warnings,
				fmt.Sprintf("%s: the pools need at least %d machines on site %q, and its maximum is %d: the others are never created",
					fldPath, sum.Minimum, site.Name, *maximum))
		case sum.Maximum > *maximum:
			warnings = append(warnings,
				fmt.Sprintf("%s: the pools can have up to %d machines on site %q together, and its maximum is %d: more are refused",
					fldPath, sum.Maximum, site.Name, *maximum))
		}
	}
	return warnings
}

// volumesWithoutEffect warns of pools with a volume that are only on sites without volumes.
func volumesWithoutEffect(d *document, p *profile.Profile, pools *validation.WorkerValidator) []string {
	var warnings []string
	for i := range d.pools() {
		pool := &d.pools()[i]
		sites := pools.SitesOf(pool.Zones)
		if pool.Volume == nil || pool.Volume.VolumeSize == "" || len(sites) == 0 {
			continue
		}
		reason := ""
		for _, site := range sites {
			if reason = validation.NoVolumes(helper.FindSite(p.Config, site)); reason == "" {
				break
			}
		}
		if reason != "" {
			warnings = append(warnings, fmt.Sprintf("%s: has no effect: %s", workersPath.Index(i).Child("volume", "size"), reason))
		}
	}
	return warnings
}

// endpointsInSeed warns of sites whose API address is in a network of the seed, from which it cannot be reached.
func endpointsInSeed(d *document, p *profile.Profile, seed *gardencorev1beta1.Seed) []string {
	if seed == nil {
		return nil
	}
	networks := seedNetworks(seed)
	var warnings []string
	for i, used := range d.infrastructure.Sites {
		site := helper.FindSite(p.Config, used.Name)
		if site == nil {
			continue
		}
		addr, ok := addressIn(site.Endpoint())
		if !ok {
			continue
		}
		for _, network := range networks {
			if network.prefix.Contains(addr) {
				warnings = append(warnings,
					fmt.Sprintf("%s: the API of site %q is at %s, which is in spec.networks.%s of Seed %q: it may be unreachable from the seed",
						infrastructurePath.Child("sites").Index(i).Child("name"), used.Name, addr, network.name, seed.Name))
			}
		}
	}
	return warnings
}

type seedNetwork struct {
	name   string
	prefix netip.Prefix
}

func seedNetworks(seed *gardencorev1beta1.Seed) []seedNetwork {
	var networks []seedNetwork
	for _, network := range []struct{ name, cidr string }{
		{"pods", seed.Spec.Networks.Pods},
		{"services", seed.Spec.Networks.Services},
		{"nodes", ptr.Deref(seed.Spec.Networks.Nodes, "")},
	} {
		if prefix, err := netip.ParsePrefix(network.cidr); err == nil {
			networks = append(networks, seedNetwork{name: network.name, prefix: prefix})
		}
	}
	return networks
}

// addressIn returns the IP address in the URL of a site's API, false if the URL has a host name.
func addressIn(endpoint string) (netip.Addr, bool) {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(parsed.Hostname())
	return addr, err == nil
}

// removedSites warns that the credentials of removed sites are still needed to delete their objects.
func removedSites(old, d *document) []string {
	if old.infrastructure == nil {
		return nil
	}
	var warnings []string
	for _, site := range old.infrastructure.Sites {
		if !slices.ContainsFunc(d.infrastructure.Sites, func(s v1alpha1.InfrastructureSite) bool { return s.Name == site.Name }) {
			warnings = append(warnings,
				fmt.Sprintf("%s: site %q is deleted when its last machine is gone: keep its credentials in the Secret until then",
					infrastructurePath.Child("sites"), site.Name))
		}
	}
	return warnings
}
