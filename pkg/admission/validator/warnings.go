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

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// warnings returns what is allowed in a Shoot and unwise. seed is nil if it has none yet.
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
	add(endpointsInSeed(d, p, seed)...)
	if c.old != nil {
		add(removedSites(c.old, d)...)
	}
	return warnings
}

// systemComponentsOnOneSite warns of a shoot whose system components are gone with one of its sites.
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
	return fmt.Sprintf("%s: all pools that take system components are on site %q: without it nothing of the shoot works on the other sites",
		workersPath, sites[0])
}

// noDefaultStorage warns of a shoot whose volumes must name a class.
func noDefaultStorage(d *document, p *profile.Profile) string {
	var defaultSite string
	if d.controlPlane != nil {
		defaultSite = d.controlPlane.DefaultSite
	}
	if defaultSite == "" && len(d.infrastructure.Sites) == 1 {
		defaultSite = d.infrastructure.Sites[0].Name
	}
	if site := helper.FindSite(p.Config, defaultSite); site == nil || len(site.StorageClasses) > 0 {
		return ""
	}
	return fmt.Sprintf("%s: the CloudProfile has no storage classes for site %q, so that the shoot has no default storage class",
		controlPlanePath.Child("defaultSite"), defaultSite)
}

// burstWithoutPriorities warns of pools over several sites that may grow on any of them.
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
			fmt.Sprintf("%s: pool %q has no priorities for its sites %q, so that it grows on any of them",
				workersPath.Index(i).Child("providerConfig", "sites"), pool.Name, sites))
	}
	return warnings
}

// endpointsInSeed warns of sites whose API has an address of the seed's own networks, which the seed does not leave to reach it.
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
					fmt.Sprintf("%s: the API of site %q is at %s, which is in spec.networks.%s of Seed %q: it may not be reached from there",
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
	named := []seedNetwork{{name: "pods"}, {name: "services"}, {name: "nodes"}}
	cidrs := []string{seed.Spec.Networks.Pods, seed.Spec.Networks.Services, ""}
	if seed.Spec.Networks.Nodes != nil {
		cidrs[2] = *seed.Spec.Networks.Nodes
	}
	var networks []seedNetwork
	for i, network := range named {
		var err error
		if network.prefix, err = netip.ParsePrefix(cidrs[i]); err == nil {
			networks = append(networks, network)
		}
	}
	return networks
}

// addressIn returns the address that the URL of a site's API has, if it has one and no name.
func addressIn(endpoint string) (netip.Addr, bool) {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(parsed.Hostname())
	return addr, err == nil
}

// removedSites warns of sites whose objects are deleted later, with the credentials that are in the Secret then.
func removedSites(old, d *document) []string {
	if old.infrastructure == nil {
		return nil
	}
	var warnings []string
	for _, site := range old.infrastructure.Sites {
		if !slices.ContainsFunc(d.infrastructure.Sites, func(s v1alpha1.InfrastructureSite) bool { return s.Name == site.Name }) {
			warnings = append(warnings,
				fmt.Sprintf("%s: site %q is deleted when its last machine is gone: leave its credentials in the Secret until then",
					infrastructurePath.Child("sites"), site.Name))
		}
	}
	return warnings
}
