// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"slices"

	blockstoragelimits "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	computelimits "github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	networkquotas "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// flavorsExist checks that the flavors of the machine types exist.
func (v *validation) flavorsExist(_ context.Context, result *platform.Result) error {
	if len(v.demands) == 0 {
		return nil
	}
	known, err := v.flavors()
	if err != nil {
		return err
	}
	for i := range v.demands {
		if demand := &v.demands[i]; demand.MachineType != nil && demand.MachineType.OpenStack != nil && flavorOf(demand, known) == nil {
			result.Invalid(demand.Path.Child("machine", "type"), demand.MachineType.OpenStack.Flavor,
				"no flavor of this name exists or is visible to the credentials")
		}
	}
	return nil
}

// flavorOf returns the flavor of the pool's machine type, nil if there is none.
func flavorOf(demand *platform.Demand, known []flavors.Flavor) *flavors.Flavor {
	if demand.MachineType == nil || demand.MachineType.OpenStack == nil {
		return nil
	}
	return lists.Find(known, func(f *flavors.Flavor) bool { return f.Name == demand.MachineType.OpenStack.Flavor })
}

// computeRoom checks that the pools fit into the quotas of the compute service. What the shoot already has counts as available.
func (v *validation) computeRoom(ctx context.Context, result *platform.Result) error {
	if len(v.demands) == 0 {
		return nil
	}
	var (
		known []flavors.Flavor
		own   []servers.Server
		limit quota
	)
	err := parallel(
		into(&known, func(context.Context, *flow) ([]flavors.Flavor, error) { return v.flavors() }),
		into(&own, func(context.Context, *flow) ([]servers.Server, error) { return v.servers() }),
		into(&limit, computeQuota),
	)(ctx, v.flow)
	if err == nil {
		compare(v.needs(known), limit.leaves(usedBy(own, known)), result)
	}
	return err
}

// networkRoom checks that the pools fit into the quotas of the networking service.
func (v *validation) networkRoom(ctx context.Context, result *platform.Result) error {
	if len(v.demands) == 0 {
		return nil
	}
	var (
		known []flavors.Flavor
		used  []ports.Port
		limit quota
	)
	err := parallel(
		into(&known, func(context.Context, *flow) ([]flavors.Flavor, error) { return v.flavors() }),
		into(&used, ownPorts),
		into(&limit, func(ctx context.Context, _ *flow) (quota, error) { return v.networkQuota(ctx, result) }),
	)(ctx, v.flow)
	if err == nil {
		compare(v.needs(known), limit.leaves(amounts{resourcePorts: len(used)}), result)
	}
	return err
}

// needs returns the needs of the pools. A pool whose flavor does not exist is skipped.
func (v *validation) needs(known []flavors.Flavor) []need {
	var needs []need
	for i := range v.demands {
		if flavor := flavorOf(&v.demands[i], known); flavor != nil {
			needs = append(needs, needOf(&v.demands[i], flavor))
		}
	}
	return needs
}

func needOf(demand *platform.Demand, flavor *flavors.Flavor) need {
	each := amountsOf(flavor)
	each[resourcePorts] = 1
	for _, size := range demand.VolumeSizes {
		each.add(amounts{resourceVolumes: 1, resourceGigabytes: size})
	}
	return need{path: demand.Path, each: each, minimum: int(demand.Minimum), maximum: int(demand.Maximum)}
}

func amountsOf(flavor *flavors.Flavor) amounts {
	return amounts{resourceServers: 1, resourceCores: flavor.VCPUs, resourceMemory: flavor.RAM}
}

// usedBy returns what the servers use of the compute quotas.
func usedBy(own []servers.Server, known []flavors.Flavor) amounts {
	used := amounts{}
	for i := range own {
		id, _ := own[i].Flavor["id"].(string)
		if index := slices.IndexFunc(known, func(f flavors.Flavor) bool { return f.ID == id }); index >= 0 {
			used.add(amountsOf(&known[index]))
		}
	}
	return used
}

func computeQuota(ctx context.Context, f *flow) (quota, error) {
	limits, err := client.Extracted(computelimits.Get(ctx, f.compute, nil).Extract())
	if err != nil {
		return quota{}, err
	}
	absolute := &limits.Absolute
	return quota{
		limit: amounts{resourceServers: absolute.MaxTotalInstances, resourceCores: absolute.MaxTotalCores,
			resourceMemory: absolute.MaxTotalRAMSize},
		used: amounts{resourceServers: absolute.TotalInstancesUsed, resourceCores: absolute.TotalCoresUsed,
			resourceMemory: absolute.TotalRAMUsed},
	}, nil
}

// networkQuota returns no limits, with a warning, if the cloud does not disclose them.
func (v *validation) networkQuota(ctx context.Context, result *platform.Result) (quota, error) {
	project, err := v.session.ProjectID()
	if err != nil {
		return quota{}, err
	}
	detail, err := client.Extracted(networkquotas.GetDetail(ctx, v.network, project).Extract())
	if class := platform.ClassOf(err); class == platform.ClassForbidden || class == platform.ClassNotFound {
		result.Unknown(v.path, "the quota of ports is not checked: %v", err)
		return quota{}, nil
	}
	if err != nil {
		return quota{}, err
	}
	return quota{
		limit: amounts{resourcePorts: detail.Port.Limit},
		used:  amounts{resourcePorts: detail.Port.Used + detail.Port.Reserved},
	}, nil
}

func (v *validation) wantsVolumes() bool {
	return slices.ContainsFunc(v.demands, func(d platform.Demand) bool { return len(d.VolumeSizes) > 0 })
}

// volumeRoom checks that the pools fit into the quotas of the block storage service.
func (v *validation) volumeRoom(ctx context.Context, result *platform.Result) error {
	if !v.wantsVolumes() {
		return nil
	}
	service, err := v.session.Volume(ctx)
	if err != nil {
		return err
	}
	var (
		known    []flavors.Flavor
		own      []servers.Server
		limits   *blockstoragelimits.Limits
		existing []volumes.Volume
	)
	err = parallel(
		into(&known, func(context.Context, *flow) ([]flavors.Flavor, error) { return v.flavors() }),
		into(&own, func(context.Context, *flow) ([]servers.Server, error) { return v.servers() }),
		into(&limits, func(ctx context.Context, _ *flow) (*blockstoragelimits.Limits, error) {
			return client.Extracted(blockstoragelimits.Get(ctx, service).Extract())
		}),
		into(&existing, func(ctx context.Context, _ *flow) ([]volumes.Volume, error) {
			return client.List(ctx, volumes.List(service, nil), volumes.ExtractVolumes)
		}),
	)(ctx, v.flow)
	if err != nil {
		return err
	}
	absolute := &limits.Absolute
	limit := quota{
		limit: amounts{resourceVolumes: absolute.MaxTotalVolumes, resourceGigabytes: absolute.MaxTotalVolumeGigabytes},
		used:  amounts{resourceVolumes: absolute.TotalVolumesUsed, resourceGigabytes: absolute.TotalGigabytesUsed},
	}
	compare(v.needs(known), limit.leaves(v.volumesOf(own, existing)), result)
	return nil
}

// volumeTypes checks that the types of root volumes exist.
func (v *validation) volumeTypes(ctx context.Context, result *platform.Result) error {
	if !slices.ContainsFunc(v.demands, func(d platform.Demand) bool { return volumeTypeOf(&d) != "" }) {
		return nil
	}
	service, err := v.session.Volume(ctx)
	if err != nil {
		return err
	}
	existing, err := client.List(ctx, volumetypes.List(service, nil), volumetypes.ExtractVolumeTypes)
	if err != nil {
		return err
	}
	for i := range v.demands {
		name := volumeTypeOf(&v.demands[i])
		if name != "" && !slices.ContainsFunc(existing, func(t volumetypes.VolumeType) bool { return t.Name == name || t.ID == name }) {
			result.Invalid(v.demands[i].Path.Child("volume", "type"), name, "no volume type of this name exists or is visible to the credentials")
		}
	}
	return nil
}

// volumeTypeOf returns the type of the root volume, empty if there is none.
func volumeTypeOf(demand *platform.Demand) string {
	if demand.VolumeType == nil || demand.VolumeType.OpenStack == nil {
		return ""
	}
	return demand.VolumeType.OpenStack.Type
}

// volumesOf returns what the volumes of servers use, excluding those of pods.
func (v *validation) volumesOf(own []servers.Server, existing []volumes.Volume) amounts {
	ids := idsOf(own)
	used := amounts{}
	for i := range existing {
		if attachedTo(&existing[i], ids) && !v.owner.OwnsVolume(existing[i].Metadata) {
			used.add(amounts{resourceVolumes: 1, resourceGigabytes: existing[i].Size})
		}
	}
	return used
}

// resource is a resource with a quota, named as in messages.
type resource string

const (
	resourceServers   resource = "servers"
	resourceCores     resource = "cores"
	resourceMemory    resource = "MiB of memory"
	resourcePorts     resource = "ports"
	resourceVolumes   resource = "volumes"
	resourceGigabytes resource = "GiB of volumes"
)

// resources lists all resources in reporting order.
var resources = []resource{resourceServers, resourceCores, resourceMemory, resourcePorts, resourceVolumes, resourceGigabytes}

// amounts maps resources to amounts.
type amounts map[resource]int

// add adds other amounts.
func (a amounts) add(other amounts) {
	for resource, amount := range other {
		a[resource] += amount
	}
}

// quota is the quota of a project.
type quota struct{ limit, used amounts }

// leaves returns what the quota leaves if own amounts can be reused. Unlimited resources are omitted.
func (q quota) leaves(own amounts) amounts {
	left := amounts{}
	for resource, limit := range q.limit {
		if limit >= 0 {
			left[resource] = limit - q.used[resource] + own[resource]
		}
	}
	return left
}

// need is what the machines of a pool need.
type need struct {
	path             *fieldpath.Path
	each             amounts
	minimum, maximum int
}

// compare reports the first pool that exceeds a quota: as a shortage for the pools' minimum, as a warning for their maximum.
func compare(needs []need, left amounts, result *platform.Result) {
	for _, resource := range resources {
		available, limited := left[resource]
		if !limited {
			continue
		}
		if n, sum := exceeding(needs, available, func(n need) int { return n.each[resource] * n.minimum }); n != nil {
			result.Short(fieldpath.Forbidden(n.path.Child("minimum"),
				fmt.Sprintf("the pools need at least %d %s, the quota leaves %d", sum, resource, max(0, available))))
			continue
		}
		if n, sum := exceeding(needs, available, func(n need) int { return n.each[resource] * n.maximum }); n != nil {
			result.Warn(n.path.Child("maximum"), "the pools need up to %d %s, the quota leaves %d", sum, resource, max(0, available))
		}
	}
}

// exceeding returns the first pool with which the sum exceeds what is available, and the sum over all pools.
func exceeding(needs []need, available int, amount func(need) int) (*need, int) {
	var (
		first *need
		sum   int
	)
	for i := range needs {
		sum += amount(needs[i])
		if first == nil && amount(needs[i]) > 0 && sum > available {
			first = &needs[i]
		}
	}
	return first, sum
}
