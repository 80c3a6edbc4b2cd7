// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// zoneLabels are the labels that tell failure domains apart, the first that all hosts have.
var zoneLabels = []string{
	corev1.LabelTopologyZone, "topology.metal.ironcore.dev/zone", "infrastructure.cluster.x-k8s.io/failure-domain", "failure-domain",
	"zone", "rack",
}

// maxZones is the maximum number of values of a label that tells failure domains apart.
const maxZones = 50

// hardware is what hosts of a machine type have in common.
type hardware struct {
	cpus, memory int64
	architecture string
}

// String returns the size of the hosts.
func (h hardware) String() string {
	return fmt.Sprintf("hosts with %d CPUs and %s", h.cpus, resource.NewQuantity(h.memory, resource.BinarySI))
}

func hardwareOf(host *inventory.Surveyed) hardware {
	return hardware{host.CPUs, host.Memory, platform.ArchitectureOf(host.Architecture)}
}

// offerHosts adds the hosts, and the zones and machine types that they make up. Labels of shoots do not count.
func offerHosts(site string, hosts []inventory.Surveyed, offer *platform.Offer) {
	for i := range hosts {
		hosts[i].Labels = maps.Clone(hosts[i].Labels)
		for _, key := range []string{owner.LabelShoot, owner.LabelSite, owner.LabelMachine} {
			delete(hosts[i].Labels, key)
		}
	}
	slices.SortFunc(hosts, func(a, b inventory.Surveyed) int { return cmp.Compare(a.Name, b.Name) })

	type alike struct {
		hardware
		labels  string
		tainted bool
	}
	groups := map[alike]*platform.Object{}
	var order []*platform.Object
	for i := range hosts {
		host := &hosts[i]
		key := alike{hardwareOf(host), labels.FormatLabels(host.Labels), host.Tainted}
		group := groups[key]
		if group == nil {
			group = &platform.Object{Kind: platform.KindHosts, Name: host.Name, Labels: host.Labels, CPUs: host.CPUs, Memory: host.Memory,
				Architecture: key.architecture}
			groups[key], order = group, append(order, group)
		}
		group.Count++
		if host.Free {
			group.Free++
		}
	}
	for _, group := range order {
		offer.Add(*group)
	}
	key := offerZones(site, hosts, offer)
	offerMachineTypes(site, key, hosts, offer)
}

// offerZones adds the zones, and returns the label that tells them apart, empty if there is one zone.
func offerZones(site string, hosts []inventory.Surveyed, offer *platform.Offer) string {
	for _, key := range zoneLabels {
		values := map[string]bool{}
		for i := range hosts {
			values[hosts[i].Labels[key]] = true
		}
		if values[""] || len(values) == 0 || len(values) > maxZones {
			continue
		}
		for _, value := range slices.Sorted(maps.Keys(values)) {
			offer.Add(platform.Object{Kind: platform.KindGroup, Name: value, Entries: platform.Entries{Zone: &v1alpha1.SiteZone{
				Name: platform.EntryName(site, value), Metal: &v1alpha1.MetalZone{HostSelector: selectorOf(key, value)},
			}}})
		}
		return key
	}
	offer.Add(platform.Object{Kind: platform.KindGroup, Name: site, Entries: platform.Entries{
		Zone: &v1alpha1.SiteZone{Name: platform.EntryName(site), Metal: &v1alpha1.MetalZone{}},
	}})
	return ""
}

// offerMachineTypes adds a machine type for all hosts with the same hardware, if a label distinguishes them from all others.
func offerMachineTypes(site, zoneLabel string, hosts []inventory.Surveyed, offer *platform.Offer) {
	var (
		kinds            = map[hardware][]*inventory.Surveyed{}
		order            []hardware
		unknown, tainted int
	)
	for i := range hosts {
		host := &hosts[i]
		switch kind := hardwareOf(host); {
		case host.CPUs < 1 || host.Memory < 1:
			unknown++
		case host.Tainted:
			tainted++
		default:
			if kinds[kind] == nil {
				order = append(order, kind)
			}
			kinds[kind] = append(kinds[kind], host)
		}
	}
	if unknown > 0 {
		offer.Omit(platform.KindGroup, fmt.Sprintf("%d hosts", unknown), "the inventory does not know their CPUs and memory")
	}
	if tainted > 0 {
		offer.Omit(platform.KindGroup, fmt.Sprintf("%d tainted hosts", tainted), "only machine types with tolerations may use them")
	}
	for _, kind := range order {
		alike := kinds[kind]
		var selector *metav1.LabelSelector
		if len(alike) < len(hosts) {
			if selector = distinguish(zoneLabel, alike, hosts); selector == nil {
				offer.Omit(platform.KindGroup, kind.String(), "%d hosts have no label that all of them have and no other host has", len(alike))
				continue
			}
		}
		free := 0
		for _, host := range alike {
			if host.Free {
				free++
			}
		}
		offer.Add(platform.Object{
			Kind: platform.KindGroup, Name: platform.SizeName("metal", kind.cpus, kind.memory), Count: len(alike), Free: free,
			CPUs: kind.cpus, Memory: kind.memory, Architecture: kind.architecture,
			Entries: platform.Entries{MachineType: &v1alpha1.SiteMachineType{Name: site, Metal: &v1alpha1.MetalMachineType{HostSelector: selector}}},
		})
	}
}

// distinguish returns a selector that selects the hosts and no other, nil if there is no label for one.
func distinguish(zoneLabel string, alike []*inventory.Surveyed, all []inventory.Surveyed) *metav1.LabelSelector {
	for _, key := range slices.Sorted(maps.Keys(alike[0].Labels)) {
		value, count := alike[0].Labels[key], 0
		for i := range all {
			if other, ok := all[i].Labels[key]; ok && other == value {
				count++
			}
		}
		inAll := !slices.ContainsFunc(alike, func(host *inventory.Surveyed) bool { return host.Labels[key] != value })
		if key != zoneLabel && inAll && count == len(alike) {
			return selectorOf(key, value)
		}
	}
	return nil
}

func selectorOf(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}
