// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"math/big"
	"net/netip"
	"slices"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// networkChecks are the checks of networks, routers, and security groups.
type networkChecks struct{ *validation }

// router checks the given router, and that its gateway is in the floating pool.
func (v networkChecks) router(ctx context.Context, result *platform.Result) error {
	router, err := given(ctx, v, routerKind, result)
	if router == nil || err != nil {
		return err
	}
	pools, err := v.floatingPools()
	switch path, external := v.object(routerKind.field), router.GatewayInfo.NetworkID; {
	case external == "":
		result.Invalid(path, router.ID, "the router has no external gateway, so nodes cannot reach other networks or have floating IPs")
	case len(pools) == 1 && external != pools[0].ID:
		result.Invalid(path, router.ID, "the gateway of the router is in network %s, which is not the floating pool %q", external, pools[0].Name)
	}
	return err
}

// given returns the object of the kind that the shoot owner specifies, or nil if there is none or it cannot be used.
func given[T any](ctx context.Context, v networkChecks, k *marked[T], result *platform.Result) (*T, error) {
	id := k.givenID(v.flow)
	if id == "" {
		return nil, nil
	}
	objects, err := k.list(ctx, v.flow, filter{id: id})
	switch {
	case err != nil:
		return nil, err
	case len(objects) == 0:
		missing(result, v.object(k.field), id)
	case k.isForeign(v.flow, &objects[0]):
		result.Invalid(v.object(k.field), id, errForeign)
	default:
		return &objects[0], nil
	}
	return nil, nil
}

// listFloatingPools lists the external networks with the requested name, none if none is requested.
func (v networkChecks) listFloatingPools(ctx context.Context) ([]network, error) {
	name := v.config().FloatingPoolName
	if name == "" {
		return nil, nil
	}
	return listNetworks(ctx, v.flow, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{Name: name}, External: new(true)})
}

// floatingPool checks the external network.
func (v networkChecks) floatingPool(_ context.Context, result *platform.Result) error {
	name := v.config().FloatingPoolName
	pools, err := v.floatingPools()
	switch {
	case name == "" || err != nil:
		return err
	case len(pools) == 0:
		result.Invalid(v.object("floatingPoolName"), name, "no external network of this name exists or is visible to the credentials")
	case len(pools) > 1:
		result.Invalid(v.object("floatingPoolName"), name, "%d external networks have this name", len(pools))
	}
	return nil
}

// floatingSubnet checks the subnet of the floating pool. Members of other projects see the IDs of its subnets, but often not the subnets
// themselves.
func (v networkChecks) floatingSubnet(ctx context.Context, result *platform.Result) error {
	wanted := v.config().FloatingSubnet
	pools, err := v.floatingPools()
	if wanted == nil || err != nil || len(pools) != 1 {
		return err
	}
	pool := &pools[0]
	if wanted.ID != "" {
		if !slices.Contains(pool.Subnets, wanted.ID) {
			result.Invalid(v.object("floatingSubnet", "id"), wanted.ID, "the floating pool %q has no such subnet", pool.Name)
		}
		return nil
	}
	named, err := client.List(ctx, subnets.List(v.network, subnets.ListOpts{Name: wanted.Name, NetworkID: pool.ID}), subnets.ExtractSubnets)
	if err == nil && len(named) != 1 {
		result.Invalid(v.object("floatingSubnet", "name"), wanted.Name,
			"%d subnets of the floating pool %q with this name are visible to the credentials, want one; "+
				"set the ID for a subnet that is not visible", len(named), pool.Name)
	}
	return err
}

// nodeNetwork checks the given network of the nodes.
func (v networkChecks) nodeNetwork(ctx context.Context, result *platform.Result) (err error) {
	v.given, err = given(ctx, v, networkKind, result)
	return err
}

// mtu checks that the packets of the nodes fit into the given network.
func (v networkChecks) mtu(_ context.Context, result *platform.Result) error {
	if wanted := int(v.site.Network.MTU); v.given != nil && v.given.MTU > 0 && wanted > v.given.MTU {
		result.Warn(v.object("network", "id"), "the network carries packets of up to %d bytes, but the site has an mtu of %d", v.given.MTU,
			wanted)
	}
	return nil
}

// nodeSubnet checks the given subnet of the nodes, or else that the subnet to be created fits into the given network.
func (v networkChecks) nodeSubnet(ctx context.Context, result *platform.Result) error {
	switch {
	case v.given == nil:
		return nil
	case subnetKind.givenID(v.flow) != "":
		return v.existingSubnet(ctx, v.given.ID, result)
	default:
		return v.newSubnet(ctx, v.given.ID, result)
	}
}

func (v networkChecks) existingSubnet(ctx context.Context, networkID string, result *platform.Result) error {
	subnet, err := given(ctx, v, subnetKind, result)
	if subnet == nil || err != nil {
		return err
	}
	v.givenSubnet = subnet
	path := v.object(subnetKind.field)
	if subnet.NetworkID != networkID {
		result.Invalid(path, subnet.ID, "the subnet is not in network %s", networkID)
		return nil
	}
	for _, nodes := range v.site.Network.Nodes {
		if !(ranges{parsed(subnet.CIDR)}).containRange(nodes.String()) {
			result.Invalid(path, subnet.ID, "the range %s of the subnet does not contain nodes %s", subnet.CIDR, nodes)
		}
	}
	for _, others := range v.site.Network.Foreign {
		if v.site.Network.Topology == v1alpha1.TopologyRouted && parsed(subnet.CIDR).Overlaps(others) {
			result.Warn(path, "the range %s of the subnet overlaps with %s, the nodes of another site, so packets to them do not reach the router",
				subnet.CIDR, others)
		}
	}
	if !subnet.EnableDHCP {
		result.Warn(path, "DHCP is disabled in the subnet, so the image must configure its addresses by other means")
	}
	return nil
}

// subnetRoom compares the allocation pools of the given subnet with the pools, as if nothing else used it.
func (v networkChecks) subnetRoom(_ context.Context, result *platform.Result) error {
	if v.givenSubnet == nil || len(v.givenSubnet.AllocationPools) == 0 {
		return nil
	}
	var (
		available        float64
		minimum, maximum int
	)
	for _, pool := range v.givenSubnet.AllocationPools {
		available += addressesOf(pool)
	}
	for i := range v.demands {
		minimum, maximum = minimum+int(v.demands[i].Minimum), maximum+int(v.demands[i].Maximum)
	}
	path := v.object(subnetKind.field)
	switch {
	case float64(minimum) > available:
		result.Short(fieldpath.Forbidden(path, fmt.Sprintf("the pools need at least %d addresses, the allocation pools of the subnet have %.0f",
			minimum, available)))
	case float64(maximum) > available:
		result.Warn(path, "the pools need up to %d addresses, the allocation pools of the subnet have %.0f", maximum, available)
	}
	return nil
}

// addressesOf returns the number of addresses of an allocation pool, zero if it is invalid.
func addressesOf(pool subnets.AllocationPool) float64 {
	first, firstErr := netip.ParseAddr(pool.Start)
	last, lastErr := netip.ParseAddr(pool.End)
	if firstErr != nil || lastErr != nil || first.BitLen() != last.BitLen() || last.Less(first) {
		return 0
	}
	count := new(big.Int).Sub(new(big.Int).SetBytes(last.AsSlice()), new(big.Int).SetBytes(first.AsSlice()))
	result, _ := count.Add(count, big.NewInt(1)).Float64()
	return result
}

// newSubnet checks that the subnet to be created fits into the given network.
func (v networkChecks) newSubnet(ctx context.Context, networkID string, result *platform.Result) error {
	existing, err := client.List(ctx, subnets.List(v.network, subnets.ListOpts{NetworkID: networkID}), subnets.ExtractSubnets)
	if err != nil {
		return err
	}
	for i := range existing {
		if v.ownsSubnet(&existing[i]) {
			continue
		}
		for _, wanted := range v.site.Network.Subnets {
			if parsed(existing[i].CIDR).Overlaps(wanted) {
				result.Invalid(v.object("network", "id"), networkID, "its subnet %s has the range %s, which overlaps with %s", existing[i].ID,
					existing[i].CIDR, wanted)
			}
		}
	}
	return nil
}

func (v networkChecks) ownsSubnet(subnet *subnets.Subnet) bool {
	known := v.State().Subnet
	return known != nil && known.ID == subnet.ID || v.owner.Owns(subnet.Description, subnet.Tags)
}

// securityGroup checks the given security group.
func (v networkChecks) securityGroup(ctx context.Context, result *platform.Result) error {
	_, err := given(ctx, v, securityGroupKind, result)
	return err
}

// uuidLength is the length of the IDs of OpenStack.
const uuidLength = 36

// poolSecurityGroups checks the additional security groups of the pools.
func (v networkChecks) poolSecurityGroups(ctx context.Context, result *platform.Result) error {
	for i := range v.demands {
		settings := v.demands[i].Settings.OpenStack
		if settings == nil {
			continue
		}
		for _, nameOrID := range settings.AdditionalSecurityGroups {
			options := groups.ListOpts{Name: nameOrID}
			if len(nameOrID) == uuidLength && uuid.Validate(nameOrID) == nil {
				options = groups.ListOpts{ID: nameOrID}
			}
			found, err := client.List(ctx, groups.List(v.network, options), groups.ExtractGroups)
			path := v.demands[i].Path.Child("providerConfig", "sites").Key(v.site.Name).Child("openstack", "additionalSecurityGroups")
			switch {
			case err != nil:
				return err
			case len(found) != 1:
				result.Invalid(path, nameOrID, "%d security groups with this name or ID are visible to the credentials, want one", len(found))
			case v.owner.IsForeign(found[0].Description, found[0].Tags) && !slices.Contains(v.profile().SecurityGroups, nameOrID):
				result.Invalid(path, nameOrID, errForeign)
			}
		}
	}
	return nil
}

// parsed returns the range reported by an API, or an empty range if it is invalid.
func parsed(cidr string) netip.Prefix {
	prefix, _ := netip.ParsePrefix(cidr)
	return prefix
}
