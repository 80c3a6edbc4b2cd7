// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

const (
	megahertz = 1e6
	mebibyte  = 1 << 20
)

// capacitiesOf returns the capacities of the places that are visible to the credentials.
func capacitiesOf(ctx context.Context, session *client.Session, zones []zone) ([]platform.Capacity, error) {
	found, err := retrieve(ctx, session, zones)
	if err != nil {
		return nil, err
	}
	var result []platform.Capacity
	for _, z := range zones {
		for _, place := range z.places {
			for _, capacity := range found[place] {
				capacity.Zone = z.name
				result = append(result, capacity)
			}
		}
	}
	return result, nil
}

// retrieve reads all places in one request. If one no longer exists, the next probe looks all of them up again.
func retrieve(ctx context.Context, session *client.Session, zones []zone) (map[types.ManagedObjectReference][]platform.Capacity, error) {
	answer, err := property.DefaultCollector(session.VIM()).RetrieveProperties(ctx, types.RetrieveProperties{
		SpecSet: []types.PropertyFilterSpec{filterOf(zones)},
	})
	err = client.Classify(err)
	if client.IsNotFound(err) {
		directoryOf(session).Clear()
	}
	switch platform.ClassOf(err) {
	case platform.ClassNotFound, platform.ClassForbidden:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return read(answer.Returnval)
}

// read returns the capacities of all objects whose properties the credentials can read.
func read(contents []types.ObjectContent) (map[types.ManagedObjectReference][]platform.Capacity, error) {
	found := map[types.ManagedObjectReference][]platform.Capacity{}
	for _, content := range contents {
		if len(content.MissingSet) > 0 {
			continue
		}
		object, err := mo.ObjectContentToType(content)
		if err != nil {
			return nil, client.Classify(err)
		}
		found[content.Obj] = capacities(object)
	}
	return found, nil
}

func filterOf(zones []zone) types.PropertyFilterSpec {
	var filter types.PropertyFilterSpec
	for _, z := range zones {
		for _, place := range z.places {
			if !slices.ContainsFunc(filter.ObjectSet, func(o types.ObjectSpec) bool { return o.Obj == place }) {
				filter.ObjectSet = append(filter.ObjectSet, types.ObjectSpec{Obj: place})
			}
			if !slices.ContainsFunc(filter.PropSet, func(p types.PropertySpec) bool { return p.Type == place.Type }) {
				filter.PropSet = append(filter.PropSet, types.PropertySpec{Type: place.Type, PathSet: propertiesOf(place)})
			}
		}
	}
	return filter
}

func propertiesOf(place types.ManagedObjectReference) []string {
	if place.Type == "Datastore" {
		return []string{"summary"}
	}
	return []string{"runtime", "summary"}
}

// capacities returns the capacities of an object. Free is what its virtual machines do not use at the moment, reserved or not, within the
// limits of the pool and its parents (https://developer.broadcom.com/xapis/vsphere-web-services-api/latest/vim.ResourcePool.html).
func capacities(object any) []platform.Capacity {
	switch o := object.(type) {
	case mo.Datastore:
		return capacitiesOfDatastore(&o.Summary)
	case mo.VirtualApp:
		return capacitiesOfPool(o.Runtime, o.Summary)
	case mo.ResourcePool:
		return capacitiesOfPool(o.Runtime, o.Summary)
	default:
		return nil
	}
}

// capacitiesOfDatastore returns nothing for an inaccessible datastore. One in maintenance mode has no free space.
func capacitiesOfDatastore(summary *types.DatastoreSummary) []platform.Capacity {
	if !summary.Accessible {
		return nil
	}
	capacity := platform.Capacity{Resource: platform.ResourceStorage, Total: float64(summary.Capacity), Free: float64(summary.FreeSpace)}
	if client.InMaintenance(summary) {
		capacity.Free = 0
	}
	return []platform.Capacity{capacity}
}

func capacitiesOfPool(runtime types.ResourcePoolRuntimeInfo, summary types.BaseResourcePoolSummary) []platform.Capacity {
	if summary == nil || summary.GetResourcePoolSummary().QuickStats == nil {
		return nil
	}
	used := summary.GetResourcePoolSummary().QuickStats
	capacity := func(resource platform.Resource, total, used float64) platform.Capacity {
		return platform.Capacity{Resource: resource, Total: total, Free: max(0, total-used)}
	}
	return []platform.Capacity{
		capacity(platform.ResourceCPU, float64(runtime.Cpu.MaxUsage)*megahertz, float64(used.OverallCpuUsage)*megahertz),
		capacity(platform.ResourceMemory, float64(runtime.Memory.MaxUsage), float64(used.HostMemoryUsage)*mebibyte),
	}
}
