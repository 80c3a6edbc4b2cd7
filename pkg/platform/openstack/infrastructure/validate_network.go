// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// egress checks the floating pool and the router.
func (v *validation) egress(ctx context.Context, found *findings) error {
	pool, err := v.floatingPool(ctx, found)
	if err != nil {
		return err
	}
	router, err := given(ctx, v, routerKind, found)
	if router == nil || err != nil {
		return err
	}
	switch path, external := v.object(routerKind.field), router.GatewayInfo.NetworkID; {
	case external == "":
		found.invalid(path, router.ID, "the router has no external gateway, so nodes cannot reach other networks or have floating IPs")
	case pool != nil && external != pool.ID:
		found.invalid(path, router.ID, "the gateway of the router is in network %s, which is not the floating pool %q", external, pool.Name)
	}
	return nil
}

// given returns the object of the kind that the shoot owner specifies, or nil if there is none or it cannot be used.
func given[T any](ctx context.Context, v *validation, k *marked[T], found *findings) (*T, error) {
	id := k.givenID(v.flow)
	if id == "" {
		return nil, nil
	}
	objects, err := k.list(ctx, v.flow, filter{id: id})
	switch {
	case err != nil:
		return nil, err
	case len(objects) == 0:
		found.missing(v.object(k.field), id)
	case k.isForeign(v.flow, &objects[0]):
		found.invalid(v.object(k.field), id, errForeign)
	default:
		return &objects[0], nil
	}
	return nil, nil
}

// floatingPool returns the external network, or nil if none is requested or found.
func (v *validation) floatingPool(ctx context.Context, found *findings) (*network, error) {
	name := v.config().FloatingPoolName
	if name == "" {
		return nil, nil
	}
	pools, err := listNetworks(ctx, v.flow, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{Name: name}, External: new(true)})
	if err != nil {
		return nil, err
	}
	path := v.object("floatingPoolName")
	switch len(pools) {
	case 0:
		found.invalid(path, name, "no external network of this name exists or is visible to the credentials")
		return nil, nil
	case 1:
		return &pools[0], v.floatingSubnet(ctx, &pools[0], found)
	default:
		found.invalid(path, name, "%d external networks have this name", len(pools))
		return nil, nil
	}
}

// floatingSubnet checks the subnet of the floating pool. Members of other projects see the IDs of its subnets, but often not the subnets
// themselves.
func (v *validation) floatingSubnet(ctx context.Context, pool *network, found *findings) error {
	wanted := v.config().FloatingSubnet
	if wanted == nil {
		return nil
	}
	if wanted.ID != "" {
		if !slices.Contains(pool.Subnets, wanted.ID) {
			found.invalid(v.object("floatingSubnet", "id"), wanted.ID, "the floating pool %q has no such subnet", pool.Name)
		}
		return nil
	}
	named, err := client.List(ctx, subnets.List(v.network, subnets.ListOpts{Name: wanted.Name, NetworkID: pool.ID}), subnets.ExtractSubnets)
	if err != nil {
		return err
	}
	if len(named) != 1 {
		found.invalid(v.object("floatingSubnet", "name"), wanted.Name,
			"%d subnets of the floating pool %q with this name are visible to the credentials, want one; "+
				"set the ID for a subnet that is not visible", len(named), pool.Name)
	}
	return nil
}

// nodes checks the network and subnet of the nodes.
func (v *validation) nodes(ctx context.Context, found *findings) error {
	network, err := given(ctx, v, networkKind, found)
	if network == nil || err != nil {
		return err
	}
	if subnetKind.givenID(v.flow) != "" {
		return v.givenSubnet(ctx, network.ID, found)
	}
	return v.newSubnet(ctx, network.ID, found)
}

func (v *validation) givenSubnet(ctx context.Context, networkID string, found *findings) error {
	subnet, err := given(ctx, v, subnetKind, found)
	if subnet == nil || err != nil {
		return err
	}
	path := v.object(subnetKind.field)
	if subnet.NetworkID != networkID {
		found.invalid(path, subnet.ID, "the subnet is not in network %s", networkID)
		return nil
	}
	for _, nodes := range v.site.Network.Nodes {
		if !(ranges{parsed(subnet.CIDR)}).containRange(nodes.String()) {
			found.invalid(path, subnet.ID, "the range %s of the subnet does not contain nodes %s", subnet.CIDR, nodes)
		}
	}
	if !subnet.EnableDHCP {
		found.warn(path, "DHCP is disabled in the subnet, so the image must configure its addresses by other means")
	}
	return nil
}

// newSubnet checks that the subnet to be created fits into the given network.
func (v *validation) newSubnet(ctx context.Context, networkID string, found *findings) error {
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
				found.invalid(v.object("network", "id"), networkID, "its subnet %s has the range %s, which overlaps with %s", existing[i].ID,
					existing[i].CIDR, wanted)
			}
		}
	}
	return nil
}

func (v *validation) ownsSubnet(subnet *subnets.Subnet) bool {
	known := v.State().Subnet
	return known != nil && known.ID == subnet.ID || v.owner.Owns(subnet.Description, subnet.Tags)
}

// securityGroup checks the given security group.
func (v *validation) securityGroup(ctx context.Context, found *findings) error {
	_, err := given(ctx, v, securityGroupKind, found)
	return err
}

// parsed returns the range reported by an API, or an empty range if it is invalid.
func parsed(cidr string) netip.Prefix {
	prefix, _ := netip.ParsePrefix(cidr)
	return prefix
}
