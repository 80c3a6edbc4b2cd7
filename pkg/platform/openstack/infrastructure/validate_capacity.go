// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	computelimits "github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	networkquotas "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/servergroup"
)

// quotaChecks are the checks of quotas.
type quotaChecks struct{ *validation }

// computeRoom checks that the pools fit into the quotas of the compute service. What the shoot already has counts as available.
func (v quotaChecks) computeRoom(ctx context.Context, result *platform.Result) error {
	if len(v.demands) == 0 {
		return nil
	}
	var (
		known  []flavors.Flavor
		own    []servers.Server
		limits *computelimits.Limits
	)
	if err := parallel(from(&known, v.flavors), from(&own, v.servers), from(&limits, v.computeLimits))(ctx, v.flow); err != nil {
		return err
	}
	absolute := &limits.Absolute
	limit := quota{
		limit: amounts{resourceServers: absolute.MaxTotalInstances, resourceCores: absolute.MaxTotalCores,
			resourceMemory: absolute.MaxTotalRAMSize},
		used: amounts{resourceServers: absolute.TotalInstancesUsed, resourceCores: absolute.TotalCoresUsed,
			resourceMemory: absolute.TotalRAMUsed},
	}
	compare(v.needs(known), limit.leaves(usedBy(own, known)), result)
	return nil
}

// from stores what several checks need.
func from[T any](target *T, get shared[T]) step {
	return into(target, func(context.Context, *flow) (T, error) { return get() })
}

// keyPairRoom checks that the shoot has its key pair, or that the quota of the project, which applies to each user, permits
// another one.
func (v quotaChecks) keyPairRoom(ctx context.Context, result *platform.Result) error {
	if v.publicKey() == "" || v.State().KeyPair != nil {
		return nil
	}
	limits, err := v.computeLimits()
	if err != nil || limits.Absolute.MaxTotalKeypairs < 0 {
		return err
	}
	existing, err := client.List(ctx, keypairs.List(v.compute, nil), keypairs.ExtractKeyPairs)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(existing, v.ownsKeyPair) && len(existing) >= limits.Absolute.MaxTotalKeypairs {
		result.Short(fieldpath.Forbidden(v.path, fmt.Sprintf("the user has %d key pairs, the quota is %d", len(existing),
			limits.Absolute.MaxTotalKeypairs)))
	}
	return nil
}

// serverGroupRoom checks that the pools' server groups fit into the quotas.
func (v quotaChecks) serverGroupRoom(ctx context.Context, result *platform.Result) error {
	var wanting []*platform.Demand
	for i := range v.demands {
		if settings := v.demands[i].Settings.OpenStack; settings != nil && settings.ServerGroup != nil {
			wanting = append(wanting, &v.demands[i])
		}
	}
	if len(wanting) == 0 {
		return nil
	}
	limits, err := v.computeLimits()
	if err != nil {
		return err
	}
	absolute := &limits.Absolute
	for _, demand := range wanting {
		path, members := demand.Path.Child("maximum"), absolute.MaxServerGroupMembers
		switch {
		case members < 0 || int(demand.Maximum) <= members:
		case int(demand.Minimum) > members:
			result.Short(fieldpath.Forbidden(demand.Path.Child("minimum"),
				fmt.Sprintf("the pool needs at least %d members of a server group, the quota is %d", demand.Minimum, members)))
		default:
			result.Warn(path, "the pool needs up to %d members of a server group, the quota is %d", demand.Maximum, members)
		}
	}
	if absolute.MaxServerGroups < 0 {
		return nil
	}
	own, err := servergroup.List(ctx, v.compute, v.owner)
	if err != nil {
		return err
	}
	if left := absolute.MaxServerGroups - absolute.TotalServerGroupsUsed + len(own); len(wanting) > left {
		result.Short(fieldpath.Forbidden(v.path, fmt.Sprintf("the pools need %d server groups, the quota leaves %d", len(wanting), max(0, left))))
	}
	return nil
}

// networkRoom checks that the ports and floating IPs of the pools fit into the quotas of the networking service. It looks for those of the
// shoot only if there are servers.
func (v quotaChecks) networkRoom(ctx context.Context, result *platform.Result) error {
	if len(v.demands) == 0 {
		return nil
	}
	limit, err := v.networkQuota()
	if class := platform.ClassOf(err); err != nil && (class == platform.ClassForbidden || class == platform.ClassNotFound) {
		result.Unknown(v.path, "the quota of ports is not checked: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	var (
		known []flavors.Flavor
		own   []servers.Server
		used  []ports.Port
	)
	if err := parallel(from(&known, v.flavors), from(&own, v.servers))(ctx, v.flow); err != nil {
		return err
	}
	if len(own) > 0 {
		if used, err = ownPorts(ctx, v.flow); err != nil {
			return err
		}
	}
	needs, addresses := v.needs(known), 0
	if len(own) > 0 && slices.ContainsFunc(needs, func(n need) bool { return n.each[resourceFloatingIPs] > 0 }) {
		found, err := machineFloatingIPKind.own(ctx, v.flow)
		if err != nil {
			return err
		}
		addresses = len(found)
	}
	compare(needs, limit.leaves(amounts{resourcePorts: len(used), resourceFloatingIPs: addresses}), result)
	return nil
}

// objectRoom checks that the objects that the site still lacks fit into the quotas of the networking service.
func (v quotaChecks) objectRoom(_ context.Context, result *platform.Result) error {
	limit, err := v.networkQuota()
	if class := platform.ClassOf(err); class == platform.ClassForbidden || class == platform.ClassNotFound {
		return nil // networkRoom reports that.
	}
	if err != nil {
		return err
	}
	wanted, state := amounts{}, v.State()
	need := func(given string, known *v1alpha1.OpenStackObject, of amounts) {
		if given == "" && known == nil {
			wanted.add(of)
		}
	}
	need(networkKind.givenID(v.flow), state.Network, amounts{resourceNetworks: 1})
	need(subnetKind.givenID(v.flow), state.Subnet, amounts{resourceSubnets: 1})
	need(routerKind.givenID(v.flow), state.Router, amounts{resourceRouters: 1})
	need(securityGroupKind.givenID(v.flow), state.SecurityGroup,
		amounts{resourceSecurityGroups: 1, resourceRules: len(wantedRules("", v.site.Network))})
	left := limit.leaves(nil)
	for _, resource := range []resource{resourceNetworks, resourceSubnets, resourceRouters, resourceSecurityGroups, resourceRules} {
		if available, limited := left[resource]; limited && wanted[resource] > available {
			result.Short(fieldpath.Forbidden(v.path,
				fmt.Sprintf("the site needs %d %s, the quota leaves %d", wanted[resource], resource, max(0, available))))
		}
	}
	return nil
}

// needs returns the needs of the pools. A pool whose flavor does not exist is skipped.
func (v quotaChecks) needs(known []flavors.Flavor) []need {
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
	if settings := demand.Settings.OpenStack; settings != nil && settings.FloatingIP {
		each[resourceFloatingIPs] = 1
	}
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

func (v quotaChecks) getNetworkQuota(ctx context.Context) (quota, error) {
	project, err := v.session.ProjectID()
	if err != nil {
		return quota{}, err
	}
	detail, err := client.Extracted(networkquotas.GetDetail(ctx, v.network, project).Extract())
	if err != nil {
		return quota{}, err
	}
	result := quota{limit: amounts{}, used: amounts{}}
	for resource, of := range map[resource]networkquotas.QuotaDetail{
		resourcePorts: detail.Port, resourceNetworks: detail.Network, resourceSubnets: detail.Subnet, resourceRouters: detail.Router,
		resourceSecurityGroups: detail.SecurityGroup, resourceRules: detail.SecurityGroupRule, resourceFloatingIPs: detail.FloatingIP,
	} {
		result.limit[resource], result.used[resource] = of.Limit, of.Used+of.Reserved
	}
	return result, nil
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
		least, leastSum := exceeding(needs, available, func(n need) int { return n.each[resource] * n.minimum })
		most, mostSum := exceeding(needs, available, func(n need) int { return n.each[resource] * n.maximum })
		if mostSum > 0 {
			result.Measure(platform.Room{Resource: string(resource), Minimum: leastSum, Maximum: mostSum, Available: max(0, available)})
		}
		switch {
		case least != nil:
			result.Short(fieldpath.Forbidden(least.path.Child("minimum"),
				fmt.Sprintf("the pools need at least %d %s, the quota leaves %d", leastSum, resource, max(0, available))))
		case most != nil:
			result.Warn(most.path.Child("maximum"), "the pools need up to %d %s, the quota leaves %d", mostSum, resource, max(0, available))
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
