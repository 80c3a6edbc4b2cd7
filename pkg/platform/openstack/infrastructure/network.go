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
	found:  func(s *observed) **network { return &s.network },
	list: func(ctx context.Context, f *flow, by filter) ([]network, error) {
		return listNetworks(ctx, f, networks.ListOpts{ID: by.id, Name: by.name})
	},
	describe: func(n *network) object {
		return object{id: n.ID, name: n.Name, description: n.Description, tags: n.Tags}
	},
	remove: networking(networks.Delete),
	field:  "network.id",
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

// networkIDs filters by several IDs in one request.
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

// networkError names the field that caused a network to be rejected. By default OpenStack reserves provider attributes for administrators.
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

// checkMTU checks that a given network has at least the desired MTU, if Neutron reports its MTU.
func checkMTU(f *flow, n *network) error {
	wanted := int(f.site.Network.MTU)
	if n.MTU == 0 || n.MTU >= wanted {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration, "mtu: network %q of openstack.network.id carries %d bytes, less than %d", n.ID,
		n.MTU, wanted)
}

// floatingSubnetID returns the ID of the requested subnet of the external network, or an empty string if none is requested. A given ID is
// looked up in the network, because members of other projects often cannot see the subnet itself.
func floatingSubnetID(f *flow) (string, error) {
	wanted := f.config().FloatingSubnet
	switch {
	case wanted == nil:
		return "", nil
	case wanted.ID != "":
		if !slices.Contains(f.observed.floatingNetwork.Subnets, wanted.ID) {
			return "", platform.NewError(platform.ClassConfiguration, "openstack.floatingSubnet.id: network %q has no subnet %q",
				f.observed.floatingNetwork.Name, wanted.ID)
		}
		return wanted.ID, nil
	case len(f.observed.floatingSubnets.found) != 1:
		return "", platform.NewError(platform.ClassConfiguration,
			"openstack.floatingSubnet.name: %d subnets of network %q with the name %q are visible to the credentials, want one; "+
				"set the ID for a subnet that is not visible",
			len(f.observed.floatingSubnets.found), f.observed.floatingNetwork.Name, wanted.Name)
	default:
		return f.observed.floatingSubnets.found[0].ID, nil
	}
}

// ensureMTU updates the MTU of our network. If none is configured, Neutron's choice stays.
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

// observeNetworks finds the nodes' network and the external network, by ID in one request or by name where the ID is not known.
func observeNetworks(ctx context.Context, f *flow) error {
	id, floatingID := networkKind.knownID(f), f.floatingNetworkID()
	if ids := slices.DeleteFunc([]string{id, floatingID}, func(id string) bool { return id == "" }); len(ids) > 0 {
		found, err := listNetworks(ctx, f, networkIDs(ids))
		if err != nil {
			return err
		}
		f.observed.network, f.observed.floatingNetwork = byID(found, id), byID(found, floatingID)
	}
	return parallel(
		func(ctx context.Context, f *flow) (err error) {
			if f.observed.network == nil {
				f.observed.network, err = networkKind.find(ctx, f, "")
			}
			return err
		},
		func(ctx context.Context, f *flow) (err error) {
			if pool, found := f.config().FloatingPoolName, f.observed.floatingNetwork; pool != "" && (found == nil || found.Name != pool) {
				f.observed.floatingNetwork, err = floatingNetwork(ctx, f, pool)
			}
			return err
		},
	)(ctx, f)
}

// observeFloatingSubnets finds the subnets with the requested name in the external network of the state.
func observeFloatingSubnets(ctx context.Context, f *flow) (err error) {
	f.observed.floatingSubnets, err = floatingSubnetsOf(ctx, f, f.floatingNetworkID())
	return err
}

// observeNewFloatingSubnets finds those in an external network that was not in the state.
func observeNewFloatingSubnets(ctx context.Context, f *flow) (err error) {
	if external := f.observed.floatingNetwork; external != nil && f.observed.floatingSubnets.networkID != external.ID {
		f.observed.floatingSubnets, err = floatingSubnetsOf(ctx, f, external.ID)
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
