// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// count is the number of selected hosts.
type count struct {
	// total is the number of all hosts, free or not.
	total int32
	// free is the number of hosts that can be claimed.
	free int32
	// own is the number of hosts of the shoot's machines.
	own int32
}

// usable is the number of hosts that the shoot has or can claim.
func (c count) usable() int32 {
	return c.free + c.own
}

func countOf(hosts []inventory.Host) count {
	c := count{total: int32(len(hosts))} // #nosec G115 -- no site has that many hosts.
	for _, host := range hosts {
		switch host.State {
		case inventory.Free:
			c.free++
		case inventory.Claimed:
			c.own++
		}
	}
	return c
}

// countAll counts the hosts of all zones and machine types of the site. A machine type that contradicts a zone has none there.
func (f *flow) countAll(ctx context.Context) ([]v1alpha1.MetalHosts, error) {
	var (
		result     []v1alpha1.MetalHosts
		selections []inventory.Selection
		of         []int
	)
	for _, zone := range f.site.Profile.Zones {
		for _, name := range slices.Sorted(maps.Keys(f.site.MachineTypes)) {
			result = append(result, v1alpha1.MetalHosts{Zone: zone.Name, MachineType: name})
			hosts, err := inventory.RequirementsOf(zone.Metal, f.site.MachineTypes[name].Metal, nil)
			if err != nil {
				continue
			}
			selected, err := hosts.Selection(f.cleaning)
			if err != nil {
				return nil, err
			}
			selections, of = append(selections, selected), append(of, len(result)-1)
		}
	}
	if len(selections) == 0 {
		return result, nil
	}
	found, err := f.inventory.Hosts(ctx, selections...)
	if err != nil {
		return nil, err
	}
	for i := range found {
		c := countOf(found[i])
		result[of[i]].Total, result[of[i]].Free = c.total, c.free
	}
	return result, nil
}

// publish replaces the metrics of the site.
func (f *flow) publish(hosts []v1alpha1.MetalHosts) {
	unpublish(f.site)
	for _, h := range hosts {
		platform.Hosts.WithLabelValues(f.owner.Shoot, f.owner.Site, h.Zone, h.MachineType, "total").Set(float64(h.Total))
		platform.Hosts.WithLabelValues(f.owner.Shoot, f.owner.Site, h.Zone, h.MachineType, "free").Set(float64(h.Free))
	}
}

// unpublish removes the metrics of the site.
func unpublish(s *site.Site) {
	platform.Hosts.DeletePartialMatch(prometheus.Labels{"shoot_namespace": s.Shoot, "site": s.Name})
}
