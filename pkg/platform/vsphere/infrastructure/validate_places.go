// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

const gibibyte = 1 << 30

// places are the properties of the objects of the zones. Objects whose properties the credentials cannot read are missing.
type places struct {
	clusters   map[types.ManagedObjectReference]mo.ClusterComputeResource
	hosts      map[types.ManagedObjectReference][]mo.HostSystem
	datastores map[types.ManagedObjectReference]mo.Datastore
}

// usable returns the hosts of the cluster that can run virtual machines.
func (p *places) usable(cluster types.ManagedObjectReference) []mo.HostSystem {
	return slices.DeleteFunc(slices.Clone(p.hosts[cluster]), func(host mo.HostSystem) bool {
		return host.Runtime.ConnectionState != types.HostSystemConnectionStateConnected || host.Runtime.InMaintenanceMode
	})
}

// readPlaces reads clusters with their hosts, and datastores, in one request.
func (v *validation) readPlaces(ctx context.Context) (*places, error) {
	ofCluster := []string{"name"}
	if slices.ContainsFunc(v.demands, wantsAntiAffinity) {
		ofCluster = append(ofCluster, "configurationEx") // has all rules of the cluster
	}
	filter := types.PropertyFilterSpec{PropSet: []types.PropertySpec{
		{Type: "ClusterComputeResource", PathSet: ofCluster},
		{Type: "HostSystem", PathSet: []string{"name", "parent", "runtime.connectionState", "runtime.inMaintenanceMode", "network", "datastore",
			"summary.hardware.memorySize", "summary.hardware.numCpuThreads"}},
		{Type: "Datastore", PathSet: []string{"summary"}},
	}}
	add := func(object types.ObjectSpec) {
		if !slices.ContainsFunc(filter.ObjectSet, func(o types.ObjectSpec) bool { return o.Obj == object.Obj }) {
			filter.ObjectSet = append(filter.ObjectSet, object)
		}
	}
	for _, z := range v.zones {
		add(types.ObjectSpec{Obj: z.cluster, SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ComputeResource", Path: "host"}}})
		if z.datastore != nil {
			add(types.ObjectSpec{Obj: *z.datastore})
		}
	}
	answer, err := property.DefaultCollector(v.vim).RetrieveProperties(ctx,
		types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{filter}})
	if err != nil {
		return nil, client.Classify(err)
	}
	found := &places{
		clusters:   map[types.ManagedObjectReference]mo.ClusterComputeResource{},
		hosts:      map[types.ManagedObjectReference][]mo.HostSystem{},
		datastores: map[types.ManagedObjectReference]mo.Datastore{},
	}
	for _, content := range answer.Returnval {
		object, err := mo.ObjectContentToType(content)
		if err != nil {
			return nil, client.Classify(err)
		}
		switch o := object.(type) {
		case mo.ClusterComputeResource:
			found.clusters[o.Self] = o
		case mo.HostSystem:
			if o.Parent != nil {
				found.hosts[*o.Parent] = append(found.hosts[*o.Parent], o)
			}
		case mo.Datastore:
			found.datastores[o.Self] = o
		}
	}
	return found, nil
}

// checkHosts requires a host in each cluster that can run machines.
func (v *validation) checkHosts(ctx context.Context, result *platform.Result) (err error) {
	if v.places, err = v.readPlaces(ctx); err != nil {
		return err
	}
	for _, z := range v.zones {
		hosts, usable := v.places.hosts[z.cluster], v.places.usable(z.cluster)
		switch {
		case len(hosts) == 0:
			result.Unknown(v.path, "zone %q: the credentials see no host of the cluster", z.name)
		case len(usable) == 0:
			result.Invalid(v.path, z.name, "none of the %d hosts of the cluster is connected and not in maintenance mode", len(hosts))
		}
	}
	return nil
}

// checkAttached calls attached with each usable host of each zone, and reports hosts without what.
func (v *validation) checkAttached(result *platform.Result, what string, object func(zone) *types.ManagedObjectReference,
	attached func(mo.HostSystem) []types.ManagedObjectReference) {
	for _, z := range v.zones {
		reference := object(z)
		if reference == nil {
			continue
		}
		usable := v.places.usable(z.cluster)
		var without []string
		for _, host := range usable {
			if !slices.Contains(attached(host), *reference) {
				without = append(without, platform.Printable(host.Name))
			}
		}
		switch {
		case len(without) == 0:
		case len(without) == len(usable):
			result.Invalid(v.path, z.name, "no host of the cluster has the %s of the zone", what)
		default:
			result.Warn(v.path, "zone %q: hosts %q do not have the %s of the zone", z.name, without[:min(len(without), maxNames)], what)
		}
	}
}

// maxNames is how many names of hosts a message has.
const maxNames = 5

func (v *validation) checkNetworks(_ context.Context, result *platform.Result) error {
	v.checkAttached(result, "network", func(z zone) *types.ManagedObjectReference { return &z.network },
		func(host mo.HostSystem) []types.ManagedObjectReference { return host.Network })
	return nil
}

func (v *validation) checkDatastores(_ context.Context, result *platform.Result) error {
	for _, z := range v.zones {
		if z.datastore == nil {
			continue
		}
		switch summary := v.places.datastores[*z.datastore].Summary; {
		case summary.Name == "":
			result.Unknown(v.path, "zone %q: the credentials may not read the datastore", z.name)
		case !summary.Accessible:
			result.Invalid(v.path, z.name, "the datastore is not accessible")
		case client.InMaintenance(&summary):
			result.Invalid(v.path, z.name, "the datastore is in maintenance mode")
		}
	}
	v.checkAttached(result, "datastore", func(z zone) *types.ManagedObjectReference { return z.datastore },
		func(host mo.HostSystem) []types.ManagedObjectReference { return host.Datastore })
	return nil
}

// checkSpace compares the free space with the volumes of all machines that do not run yet. A pool's volumes with a type of their own are
// elsewhere.
func (v *validation) checkSpace(_ context.Context, result *platform.Result) error {
	if v.site.State != nil {
		return nil // Machines that run already use some of the space.
	}
	type need struct{ minimum, maximum int64 }
	needs := map[types.ManagedObjectReference]*need{}
	for _, demand := range v.demands {
		var size int64
		if demand.VolumeType == nil {
			size += int64(demand.VolumeSize)
		}
		for _, volume := range demand.DataVolumes {
			if volume.Type == nil && volume.Settings.VSphere == nil {
				size += int64(volume.Size)
			}
		}
		for _, limits := range demand.Zones {
			z := v.zone(limits.Name)
			if z == nil || z.datastore == nil {
				continue
			}
			if needs[*z.datastore] == nil {
				needs[*z.datastore] = &need{}
			}
			needs[*z.datastore].minimum += size * int64(limits.Minimum)
			needs[*z.datastore].maximum += size * int64(limits.Maximum)
		}
	}
	for datastore, needed := range needs {
		summary := v.places.datastores[datastore].Summary
		free := summary.FreeSpace / gibibyte
		switch name := platform.Printable(summary.Name); {
		case name == "":
		case needed.minimum > free:
			result.Warn(v.path, "datastore %q has %d GiB left, and the volumes of the minimum of all pools have %d GiB", name, free, needed.minimum)
		case needed.maximum > free:
			result.Warn(v.path, "datastore %q has %d GiB left, and the volumes of the maximum of all pools have %d GiB", name, free, needed.maximum)
		}
	}
	return nil
}

// zone returns the resolved zone of the name, nil if there is none.
func (v *validation) zone(name string) *zone {
	i := slices.IndexFunc(v.zones, func(z zone) bool { return z.name == name })
	if i < 0 {
		return nil
	}
	return &v.zones[i]
}

func wantsAntiAffinity(demand platform.Demand) bool {
	return demand.Settings.VSphere != nil && demand.Settings.VSphere.AntiAffinity
}

// checkDRS warns about rules that have no effect.
func (v *validation) checkDRS(_ context.Context, result *platform.Result) error {
	for _, demand := range v.demands {
		if !wantsAntiAffinity(demand) {
			continue
		}
		for _, limits := range demand.Zones {
			z := v.zone(limits.Name)
			if z == nil {
				continue
			}
			config, _ := v.places.clusters[z.cluster].ConfigurationEx.(*types.ClusterConfigInfoEx)
			switch {
			case z.cluster.Type != "ClusterComputeResource":
				result.Warn(demand.Path, "antiAffinity has no effect in zone %q, which is a host without a cluster", z.name)
			case config == nil || config.DrsConfig.Enabled == nil:
				result.Unknown(demand.Path, "the credentials may not read whether the cluster of zone %q has DRS", z.name)
			case !*config.DrsConfig.Enabled:
				result.Warn(demand.Path, "antiAffinity has no effect in zone %q, whose cluster has no DRS", z.name)
			}
		}
	}
	return nil
}

// checkSizes requires a host that is large enough for each machine.
func (v *validation) checkSizes(_ context.Context, result *platform.Result) error {
	for _, demand := range v.demands {
		for _, limits := range demand.Zones {
			z := v.zone(limits.Name)
			if z == nil {
				continue
			}
			var memory, threads int64
			for _, host := range v.places.usable(z.cluster) {
				if hardware := host.Summary.Hardware; hardware != nil {
					memory, threads = max(memory, hardware.MemorySize), max(threads, int64(hardware.NumCpuThreads))
				}
			}
			cpus, bytes := demand.Capacity.Cpu().Value(), demand.Capacity.Memory().Value()
			if threads > 0 && cpus > threads || memory > 0 && bytes > memory {
				result.Invalid(demand.Path.Child("machine", "type"), demand.MachineTypeName,
					"no host in zone %q is large enough for %d CPUs and %d GiB memory", z.name, cpus, bytes/gibibyte).Want =
					fmt.Sprintf("at most %d CPUs and %d GiB memory", threads, memory/gibibyte)
			}
		}
	}
	return nil
}
