// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

var networkKind = &marked[network]{
	name:   "network",
	places: []field{func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.Network }},
	found:  func(s *seen) **network { return &s.network },
	list: func(ctx context.Context, f *flow, by filter) ([]network, error) {
		return listNetworks(ctx, f, networks.ListOpts{ID: by.id, Name: by.name})
	},
	describe: func(n *network) object {
		return object{id: n.ID, name: n.Name, description: n.Description, tags: n.Tags}
	},
	remove: func(ctx context.Context, f *flow, id string) error {
		return networks.Delete(ctx, f.network, id).ExtractErr()
	},
	field: "network.id",
	given: func(c v1alpha1.OpenStackInfrastructure) string {
		if c.Network == nil {
			return ""
		}
		return c.Network.ID
	},
	allowed:  func(p v1alpha1.OpenStackProfile, n *network) bool { return slices.Contains(p.Networks, n.ID) },
	check:    checkMTU,
	resource: "networks",
	create: func(ctx context.Context, f *flow) (*network, error) {
		created := &network{}
		if _, err := client.Extracted(created, networks.Create(ctx, f.network, networkOptions(f)).ExtractInto(created)); err != nil {
			return nil, networkError(f, err)
		}
		return created, nil
	},
	update: ensureMTU,
}

// networkIDs lists several networks in one request.
type networkIDs []string

// ToNetworkListQuery implements networks.ListOptsBuilder.
func (ids networkIDs) ToNetworkListQuery() (string, error) {
	return "?" + url.Values{"id": ids}.Encode(), nil
}

func listNetworks(ctx context.Context, f *flow, options networks.ListOptsBuilder) ([]network, error) {
	return client.List(ctx, networks.List(f.network, options), func(page pagination.Page) ([]network, error) {
		var found []network
		err := networks.ExtractNetworksInto(page, &found)
		return found, err
	})
}

func floatingNetwork(ctx context.Context, f *flow, pool string) (*network, error) {
	found, err := listNetworks(ctx, f, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{Name: pool}, External: new(true)})
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, platform.NewError(platform.ClassConfiguration, "openstack.floatingPoolName: %d external networks are named %q, want one",
			len(found), pool)
	}
	return &found[0], nil
}

func byID(found []network, id string) *network {
	if i := slices.IndexFunc(found, func(n network) bool { return n.ID == id }); id != "" && i >= 0 {
		return &found[i]
	}
	return nil
}

func networkOptions(f *flow) networks.CreateOptsBuilder {
	options := mtu.CreateOptsExt{
		CreateOptsBuilder: networks.CreateOpts{Name: f.owner.Name(), Description: f.owner.Description(), AdminStateUp: new(true)},
		MTU:               int(f.site.Network.MTU),
	}
	if n := f.config().Network; n != nil && n.Provider != nil {
		segment := provider.Segment{NetworkType: n.Provider.NetworkType, PhysicalNetwork: n.Provider.PhysicalNetwork}
		if id := n.Provider.SegmentationID; id != nil {
			segment.SegmentationID = int(*id)
		}
		return provider.CreateOptsExt{CreateOptsBuilder: options, Segments: []provider.Segment{segment}}
	}
	return options
}

// networkError names the field of a network that is refused for what it shall be like. Provider attributes are left to
// administrators by OpenStack's own policies.
func networkError(f *flow, err error) error {
	err = client.Classify(err)
	n, class := f.config().Network, platform.ClassOf(err)
	switch {
	case n != nil && n.Provider != nil &&
		(class == platform.ClassForbidden || class == platform.ClassConfiguration || class == platform.ClassConflict):
		return fmt.Errorf("openstack.network.provider: %w", err)
	case f.site.Network.MTU != 0 && class == platform.ClassConfiguration:
		return fmt.Errorf("mtu: %w", err)
	default:
		return err
	}
}

// checkMTU checks that a given network carries what is asked for, where Neutron tells what it carries.
func checkMTU(f *flow, n *network) error {
	wanted := int(f.site.Network.MTU)
	if n.MTU == 0 || n.MTU >= wanted {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration, "mtu: network %q of openstack.network.id carries %d bytes, less than %d", n.ID,
		n.MTU, wanted)
}

// floatingSubnetID is the ID of the subnet of the external network that is asked for, empty if none is. What is given by ID is
// looked for in the network, because members of other projects often do not see the subnet itself.
func floatingSubnetID(f *flow) (string, error) {
	wanted := f.config().FloatingSubnet
	switch {
	case wanted == nil:
		return "", nil
	case wanted.ID != "":
		if !slices.Contains(f.seen.floatingNetwork.Subnets, wanted.ID) {
			return "", platform.NewError(platform.ClassConfiguration, "openstack.floatingSubnet.id: network %q has no subnet %q",
				f.seen.floatingNetwork.Name, wanted.ID)
		}
		return wanted.ID, nil
	case len(f.seen.floatingSubnets.found) != 1:
		return "", platform.NewError(platform.ClassConfiguration,
			"openstack.floatingSubnet.name: %d subnets of network %q with the name %q are visible to the credentials, want one; the ID works also for one that is not visible",
			len(f.seen.floatingSubnets.found), f.seen.floatingNetwork.Name, wanted.Name)
	default:
		return f.seen.floatingSubnets.found[0].ID, nil
	}
}

// ensureMTU changes the MTU of a network of ours. If nobody said one, it stays as Neutron chose it.
func ensureMTU(ctx context.Context, f *flow, n *network) (*network, error) {
	wanted := int(f.site.Network.MTU)
	if wanted == 0 || n.MTU == wanted {
		return n, nil
	}
	options := mtu.UpdateOptsExt{UpdateOptsBuilder: networks.UpdateOpts{}, MTU: wanted}
	if err := networks.Update(ctx, f.network, n.ID, options).ExtractInto(n); err != nil {
		return n, fmt.Errorf("mtu: %w", client.Classify(err))
	}
	return n, nil
}

// lookNetworks finds the nodes' network and the external network, by ID in one request or, where that is not known, by name.
func lookNetworks(ctx context.Context, f *flow) error {
	id, floatingID := networkKind.knownID(f), f.floatingNetworkID()
	if ids := slices.DeleteFunc([]string{id, floatingID}, func(id string) bool { return id == "" }); len(ids) > 0 {
		found, err := listNetworks(ctx, f, networkIDs(ids))
		if err != nil {
			return err
		}
		f.seen.network, f.seen.floatingNetwork = byID(found, id), byID(found, floatingID)
	}
	return parallel(
		func(ctx context.Context, f *flow) (err error) {
			if f.seen.network == nil {
				f.seen.network, err = networkKind.find(ctx, f, "")
			}
			return err
		},
		func(ctx context.Context, f *flow) (err error) {
			if pool, found := f.config().FloatingPoolName, f.seen.floatingNetwork; pool != "" && (found == nil || found.Name != pool) {
				f.seen.floatingNetwork, err = floatingNetwork(ctx, f, pool)
			}
			return err
		},
	)(ctx, f)
}

// lookFloatingSubnets finds the subnets with the name that is asked for, if one is, in the external network that the state knows.
func lookFloatingSubnets(ctx context.Context, f *flow) (err error) {
	f.seen.floatingSubnets, err = floatingSubnetsOf(ctx, f, f.floatingNetworkID())
	return err
}

// lookAgainForFloatingSubnets finds those in an external network that the state did not know.
func lookAgainForFloatingSubnets(ctx context.Context, f *flow) (err error) {
	if external := f.seen.floatingNetwork; external != nil && f.seen.floatingSubnets.networkID != external.ID {
		f.seen.floatingSubnets, err = floatingSubnetsOf(ctx, f, external.ID)
	}
	return err
}

func floatingSubnetsOf(ctx context.Context, f *flow, networkID string) (floatingSubnets, error) {
	wanted := f.config().FloatingSubnet
	if wanted == nil || wanted.Name == "" || networkID == "" {
		return floatingSubnets{}, nil
	}
	found, err := client.List(ctx, subnets.List(f.network, subnets.ListOpts{Name: wanted.Name, NetworkID: networkID}), subnets.ExtractSubnets)
	return floatingSubnets{networkID: networkID, found: found}, err
}
