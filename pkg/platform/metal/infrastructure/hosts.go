// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
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
		platform.Hosts.WithLabelValues(f.owner.Shoot, f.owner.Site, h.Zone, h.MachineType).Set(float64(h.Total))
		platform.FreeHosts.WithLabelValues(f.owner.Shoot, f.owner.Site, h.Zone, h.MachineType).Set(float64(h.Free))
	}
}

// unpublish removes the metrics of the site.
func unpublish(s *site.Site) {
	platform.ForgetHosts(prometheus.Labels{"shoot_namespace": s.Shoot, "site": s.Name})
}

// want is the joint demand of pools that select the same hosts.
type want struct {
	zone, machineType string
	// path is the path of the first pool.
	path             *field.Path
	pools            []string
	selection        inventory.Selection
	minimum, maximum int32
	// capacity and architecture are those of the machine type.
	capacity     corev1.ResourceList
	architecture string
}

// describe returns which hosts are selected.
func (w *want) describe() string {
	selector := cmp.Or(w.selection.Selector.String(), "all hosts")
	if system := w.selection.OSRelease; system != nil {
		selector += " with " + system.ID + " " + system.VersionID
	}
	return fmt.Sprintf("for machine type %q in zone %q (%s)", w.machineType, w.zone, selector)
}

// checkHosts compares the existing hosts with the demands. A pool that selects fewer hosts than another one in the same zone is checked
// separately.
func (v *validation) checkHosts(ctx context.Context, result *platform.Result) error {
	wants, err := v.wants(result)
	if err != nil || len(wants) == 0 {
		return err
	}
	selections := lists.Map(wants, func(w *want) inventory.Selection { return w.selection })
	found, err := v.inventory.Hosts(ctx, selections...)
	if err != nil {
		return err
	}
	for i := range wants {
		v.wanted = append(v.wanted, wantedHosts{wants[i], found[i]})
		wants[i].compare(result, countOf(found[i]))
	}
	return nil
}

// wants joins the demands of pools that select the same hosts.
func (v *validation) wants(result *platform.Result) ([]*want, error) {
	var wants []*want
	for _, demand := range v.demands {
		for _, zone := range demand.Zones {
			hosts, err := inventory.RequirementsOf(v.zone(zone.Name), demand.MachineType.Metal, demand.Settings.Metal)
			if err != nil {
				result.Invalid(demand.Path, demand.Pool, "zone %q: %v", zone.Name, err)
				continue
			}
			selected, err := hosts.Selection(v.cleaning)
			if err != nil {
				return nil, err
			}
			if demand.Image != nil && demand.Image.Metal != nil {
				selected.OSRelease = demand.Image.Metal.OSRelease
			}
			i := slices.IndexFunc(wants, func(w *want) bool {
				return w.zone == zone.Name && w.machineType == demand.MachineTypeName &&
					w.selection.Selector.String() == selected.Selector.String() && ptr.Equal(w.selection.OSRelease, selected.OSRelease)
			})
			if i < 0 {
				i = len(wants)
				wants = append(wants, &want{zone: zone.Name, machineType: demand.MachineTypeName, path: demand.Path, selection: selected,
					capacity: demand.Capacity, architecture: demand.Architecture})
			}
			wants[i].pools = append(wants[i].pools, demand.Pool)
			wants[i].minimum += zone.Minimum
			wants[i].maximum += zone.Maximum
		}
	}
	return wants, nil
}

// zone returns the zone in the CloudProfile, nil if it selects no hosts.
func (f *flow) zone(name string) *v1alpha1.MetalZone {
	zone := lists.Find(f.site.Profile.Zones, func(z *v1alpha1.SiteZone) bool { return z.Name == name })
	if zone == nil {
		return nil
	}
	return zone.Metal
}

// compare adds a finding if the hosts do not suffice.
func (w *want) compare(result *platform.Result, c count) {
	pools := strings.Join(w.pools, ", ")
	result.Measure(platform.Room{Resource: "hosts " + w.describe(), Minimum: int(w.minimum), Maximum: int(w.maximum),
		Available: int(c.usable())})
	switch {
	case c.total == 0:
		result.Invalid(w.path, pools, "there is no host %s", w.describe())
	case c.usable() < w.minimum:
		result.Short(field.Invalid(w.path, pools, fmt.Sprintf(
			"at least %d hosts are needed %s: there are %d, of which %d are free and %d the shoot's already",
			w.minimum, w.describe(), c.total, c.free, c.own)))
	case c.usable() < w.maximum:
		result.Warn(w.path, "pools %s may want %d hosts %s: there are %d, of which %d are free and %d the shoot's already",
			pools, w.maximum, w.describe(), c.total, c.free, c.own)
	}
}
