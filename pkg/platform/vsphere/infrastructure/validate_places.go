// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
)

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
)

// places are the properties of the objects of the zones. Objects whose properties the credentials cannot read are missing.
type places struct {
	clusters   map[types.ManagedObjectReference]mo.ClusterComputeResource
	hosts      map[types.ManagedObjectReference][]mo.HostSystem
	datastores map[types.ManagedObjectReference]mo.Datastore
	pools      map[types.ManagedObjectReference]mo.ResourcePool
}

// usable returns the hosts of the cluster that can run virtual machines.
func (p *places) usable(cluster types.ManagedObjectReference) []mo.HostSystem {
	return slices.DeleteFunc(slices.Clone(p.hosts[cluster]), func(host mo.HostSystem) bool {
		return host.Runtime.ConnectionState != types.HostSystemConnectionStateConnected || host.Runtime.InMaintenanceMode
	})
}

// isEmpty returns whether the cluster has no hosts, whether the credentials see them or not.
func (p *places) isEmpty(cluster types.ManagedObjectReference) bool {
	summary := p.clusters[cluster].Summary
	return summary != nil && summary.GetComputeResourceSummary().NumHosts == 0
}

// readPlaces reads clusters with their hosts, resource pools, and datastores, in one request.
func (v *validation) readPlaces(ctx context.Context) (*places, error) {
	ofCluster := []string{"summary"}
	if slices.ContainsFunc(v.demands, wantsAntiAffinity) {
		ofCluster = append(ofCluster, "configurationEx") // has all rules of the cluster
	}
	filter := types.PropertyFilterSpec{PropSet: []types.PropertySpec{
		{Type: "ClusterComputeResource", PathSet: ofCluster},
		{Type: "HostSystem", PathSet: []string{"name", "parent", "runtime.connectionState", "runtime.inMaintenanceMode", "network", "datastore",
			"summary.hardware.memorySize", "summary.hardware.numCpuThreads"}},
		{Type: "Datastore", PathSet: []string{"summary"}},
		{Type: "ResourcePool", PathSet: []string{"config.memoryAllocation.limit"}},
	}}
	add := func(object types.ObjectSpec) {
		if !slices.ContainsFunc(filter.ObjectSet, func(o types.ObjectSpec) bool { return o.Obj == object.Obj }) {
			filter.ObjectSet = append(filter.ObjectSet, object)
		}
	}
	for _, z := range v.zones {
		add(types.ObjectSpec{Obj: z.cluster, SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ComputeResource", Path: "host"}}})
		add(types.ObjectSpec{Obj: z.resourcePool})
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
		pools:      map[types.ManagedObjectReference]mo.ResourcePool{},
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
		case mo.ResourcePool:
			found.pools[o.Self] = o
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
		hosts, path := v.places.hosts[z.cluster], z.path.Child("computeCluster")
		switch {
		case len(hosts) == 0 && v.places.isEmpty(z.cluster):
			result.Invalid(path, z.name, "the cluster has no hosts")
		case len(hosts) == 0:
			result.Unknown(path, "the credentials see no host of the cluster")
		case len(v.places.usable(z.cluster)) == 0:
			result.Invalid(path, z.name, "none of the %d hosts of the cluster is connected and not in maintenance mode", len(hosts))
		}
	}
	return nil
}

// checkAttached calls attached with each usable host of each zone, and reports hosts without what the object is.
func (v *validation) checkAttached(result *platform.Result, what string, object func(zone) (*types.ManagedObjectReference, *field.Path),
	attached func(mo.HostSystem) []types.ManagedObjectReference) {
	for _, z := range v.zones {
		reference, path := object(z)
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
			result.Invalid(path, z.name, "no host of the cluster has the %s", what)
		default:
			result.Warn(path, "hosts %q of zone %q do not have the %s", without[:min(len(without), maxNames)], z.name, what)
		}
	}
}

// maxNames is how many names of hosts a message has.
const maxNames = 5

func datastoreOf(z zone) (*types.ManagedObjectReference, *field.Path) {
	return z.datastore, z.path.Child("datastore")
}

func (v *validation) checkNetworks(_ context.Context, result *platform.Result) error {
	v.checkAttached(result, "network", func(z zone) (*types.ManagedObjectReference, *field.Path) { return &z.network, z.networkPath },
		func(host mo.HostSystem) []types.ManagedObjectReference { return host.Network })
	return nil
}

func (v *validation) checkDatastores(_ context.Context, result *platform.Result) error {
	for _, z := range v.zones {
		if z.datastore == nil {
			continue
		}
		path := z.path.Child("datastore")
		switch summary := v.places.datastores[*z.datastore].Summary; {
		case summary.Name == "":
			result.Unknown(path, "the credentials may not read the datastore")
		case !summary.Accessible:
			result.Invalid(path, z.name, "the datastore is not accessible")
		case client.InMaintenance(&summary):
			result.Invalid(path, z.name, "the datastore is in maintenance mode")
		}
	}
	v.checkAttached(result, "datastore", datastoreOf,
		func(host mo.HostSystem) []types.ManagedObjectReference { return host.Datastore })
	return nil
}

// need is what the pools need of an object of zones.
type need struct {
	// path is the field of the first zone that names the object.
	path             *field.Path
	minimum, maximum int64
}

// needs adds up what machines of the pools need of the objects of zones.
func (v *validation) needs(object func(zone) (*types.ManagedObjectReference, *field.Path),
	ofMachine func(*platform.Demand) int64) map[types.ManagedObjectReference]*need {
	needs := map[types.ManagedObjectReference]*need{}
	for i := range v.demands {
		demand := &v.demands[i]
		size := ofMachine(demand)
		for _, limits := range demand.Zones {
			z := v.zone(limits.Name)
			if z == nil {
				continue
			}
			reference, path := object(*z)
			if reference == nil {
				continue
			}
			if needs[*reference] == nil {
				needs[*reference] = &need{path: path}
			}
			needs[*reference].minimum += size * int64(limits.Minimum)
			needs[*reference].maximum += size * int64(limits.Maximum)
		}
	}
	return needs
}

// checkSpace compares the free space with the volumes of all machines that do not run yet. A pool's volumes with a type of their own are
// elsewhere.
func (v *validation) checkSpace(_ context.Context, result *platform.Result) error {
	if v.site.State != nil {
		return nil // Machines that run already use some of the space.
	}
	for datastore, needed := range v.needs(datastoreOf, func(demand *platform.Demand) (size int64) {
		if demand.VolumeType == nil {
			size = int64(demand.VolumeSize)
			for _, t := range v.templates {
				if t.demand == demand {
					size = max(size, machines.RootDiskGiB(t.VirtualMachine))
				}
			}
		}
		for _, volume := range demand.DataVolumes {
			if volume.Type == nil && volume.Settings.VSphere == nil {
				size += int64(volume.Size)
			}
		}
		return size
	}) {
		summary := v.places.datastores[datastore].Summary
		free := summary.FreeSpace / gibibyte
		const message = "datastore %q has %d GiB left, and the volumes of the %s of all pools have %d GiB"
		switch name := platform.Printable(summary.Name); {
		case name == "":
		case needed.minimum > free:
			result.Warn(needed.path, message, name, free, "minimum", needed.minimum)
		case needed.maximum > free:
			result.Warn(needed.path, message, name, free, "maximum", needed.maximum)
		}
	}
	return nil
}

// checkResourcePools compares the memory of machines with the limit, above which a vCenter takes memory from machines. A limit of CPUs only
// slows them down, and is often below their number.
func (v *validation) checkResourcePools(_ context.Context, result *platform.Result) error {
	pool := func(z zone) (*types.ManagedObjectReference, *field.Path) {
		if path.Base(z.poolPath) == inventory.RootPool {
			return nil, nil // Its limit is the capacity of the cluster.
		}
		return &z.resourcePool, z.path.Child("resourcePool")
	}
	for reference, needed := range v.needs(pool, func(demand *platform.Demand) int64 { return demand.Capacity.Memory().Value() / mebibyte }) {
		if limit := ptr.Deref(v.places.pools[reference].Config.MemoryAllocation.Limit, -1); limit >= 0 && limit < needed.minimum {
			result.Warn(needed.path, "the resource pool has a limit of %d MiB memory, and the machines of the minimum of all pools have %d MiB",
				limit, needed.minimum)
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
			path := v.ofPool(&demand, "antiAffinity")
			switch {
			case z.cluster.Type != "ClusterComputeResource":
				result.Warn(path, "antiAffinity has no effect in zone %q, which is a host without a cluster", z.name)
			case config == nil || config.DrsConfig.Enabled == nil:
				result.Unknown(path, "the credentials may not read whether the cluster of zone %q has DRS", z.name)
			case !*config.DrsConfig.Enabled:
				result.Warn(path, "antiAffinity has no effect in zone %q, whose cluster has no DRS", z.name)
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
