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

// networkIDs lists several networks in one request.
type networkIDs []string

// ToNetworkListQuery implements networks.ListOptsBuilder.
func (ids networkIDs) ToNetworkListQuery() (string, error) {
	return "?" + url.Values{"id": ids}.Encode(), nil
}

func (f *flow) networks(ctx context.Context, options networks.ListOptsBuilder) ([]network, error) {
	return client.List(ctx, networks.List(f.network, options), func(page pagination.Page) ([]network, error) {
		var found []network
		err := networks.ExtractNetworksInto(page, &found)
		return found, err
	})
}

func (f *flow) networksBy(ctx context.Context, by filter) ([]network, error) {
	return f.networks(ctx, networks.ListOpts{ID: by.id, Name: by.name})
}

// lookNetworks finds the nodes' network and the external network, by ID in one request or, where that is not known, by name.
func (f *flow) lookNetworks(ctx context.Context, result *seen) error {
	var (
		state      = f.State()
		config     = f.config()
		id         = knownID(givenID(config.Network), state.Network)
		floatingID = knownID("", state.FloatingNetwork)
	)

	if ids := slices.DeleteFunc([]string{id, floatingID}, func(id string) bool { return id == "" }); len(ids) > 0 {
		found, err := f.networks(ctx, networkIDs(ids))
		if err != nil {
			return err
		}
		result.network = byID(found, id)
		result.floatingNetwork = byID(found, floatingID)
	}

	return parallel(ctx,
		func(ctx context.Context) (err error) {
			if result.network == nil {
				result.network, err = find(ctx, "", f.networksBy, func(n network) bool { return f.owner.Owns(n.Description, n.Tags) }, f.owner.Name())
			}
			return err
		},
		func(ctx context.Context) (err error) {
			if pool := config.FloatingPoolName; pool != "" && (result.floatingNetwork == nil || result.floatingNetwork.Name != pool) {
				result.floatingNetwork, err = f.floatingNetwork(ctx, pool)
			}
			return err
		},
	)
}

func (f *flow) floatingNetwork(ctx context.Context, pool string) (*network, error) {
	found, err := f.networks(ctx, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{Name: pool}, External: new(true)})
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, platform.NewError(platform.ClassConfiguration, "openstack.floatingPoolName: %d external networks are named %q, want one", len(found), pool)
	}
	return &found[0], nil
}

func byID(found []network, id string) *network {
	if i := slices.IndexFunc(found, func(n network) bool { return n.ID == id }); id != "" && i >= 0 {
		return &found[i]
	}
	return nil
}

func (f *flow) ensureNetwork(seen *seen) func(context.Context) error {
	return func(ctx context.Context) error {
		if given := givenID(f.config().Network); given != "" {
			if seen.network == nil || seen.network.ID != given {
				return notFound("network.id", given)
			}
			if err := f.refuseForeign("network.id", given, seen.network.Description, seen.network.Tags, f.profile().Networks); err != nil {
				return err
			}
			if err := f.checkMTU(seen.network); err != nil {
				return err
			}
			return f.recordObject(ctx, given, false, func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.Network })
		}
		if seen.network == nil {
			created := &network{}
			if _, err := client.Extracted(created, networks.Create(ctx, f.network, f.networkOptions()).ExtractInto(created)); err != nil {
				return f.networkError(err)
			}
			seen.network = created
		} else if err := f.ensureMTU(ctx, seen.network); err != nil {
			return err
		}
		return f.adopt(ctx, "networks", seen.network.ID, seen.network.Tags, func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.Network })
	}
}

func (f *flow) networkOptions() networks.CreateOptsBuilder {
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
func (f *flow) networkError(err error) error {
	err = client.Classify(err)
	n, class := f.config().Network, platform.ClassOf(err)
	switch {
	case n != nil && n.Provider != nil && (class == platform.ClassForbidden || class == platform.ClassConfiguration || class == platform.ClassConflict):
		return fmt.Errorf("openstack.network.provider: %w", err)
	case f.site.Network.MTU != 0 && class == platform.ClassConfiguration:
		return fmt.Errorf("mtu: %w", err)
	default:
		return err
	}
}

// ensureMTU changes the MTU of a network of ours. If nobody said one, it stays as Neutron chose it.
func (f *flow) ensureMTU(ctx context.Context, n *network) error {
	wanted := int(f.site.Network.MTU)
	if wanted == 0 || n.MTU == wanted {
		return nil
	}
	options := mtu.UpdateOptsExt{UpdateOptsBuilder: networks.UpdateOpts{}, MTU: wanted}
	if err := networks.Update(ctx, f.network, n.ID, options).ExtractInto(n); err != nil {
		return fmt.Errorf("mtu: %w", client.Classify(err))
	}
	return nil
}

// checkMTU checks that a given network carries what is asked for, where Neutron tells what it carries.
func (f *flow) checkMTU(n *network) error {
	wanted := int(f.site.Network.MTU)
	if n.MTU == 0 || n.MTU >= wanted {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration, "mtu: network %q of openstack.network.id carries %d bytes, less than %d", n.ID, n.MTU, wanted)
}

func (f *flow) ownedNetworks(ctx context.Context) ([]network, error) {
	return owned(ctx, f.networksBy, f.State().Network, f.owner.Name(),
		func(n network) (string, bool) { return n.ID, f.owner.Owns(n.Description, n.Tags) })
}

func (f *flow) deleteNetworks(ctx context.Context) error {
	found, err := f.ownedNetworks(ctx)
	if err != nil {
		return err
	}
	for _, n := range found {
		if err := client.IgnoreNotFound(networks.Delete(ctx, f.network, n.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return f.forget(ctx, func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.Network })
}

func (f *flow) orphanedNetworks(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownedNetworks(ctx)
	return orphansOf(f, "network", found, func(n network) (string, string) { return n.ID, n.Name }), err
}

// lookFloatingSubnets finds the subnets of an external network with the name that is asked for, if one is.
func (f *flow) lookFloatingSubnets(ctx context.Context, networkID string) (floatingSubnets, error) {
	wanted := f.config().FloatingSubnet
	if wanted == nil || wanted.Name == "" || networkID == "" {
		return floatingSubnets{}, nil
	}
	found, err := client.List(ctx, subnets.List(f.network, subnets.ListOpts{Name: wanted.Name, NetworkID: networkID}), subnets.ExtractSubnets)
	return floatingSubnets{networkID: networkID, found: found}, err
}

// floatingSubnetID is the ID of the subnet of the external network that is asked for, empty if none is. What is given by ID is
// looked for in the network, because members of other projects often do not see the subnet itself.
func (f *flow) floatingSubnetID(seen *seen) (string, error) {
	wanted := f.config().FloatingSubnet
	switch {
	case wanted == nil:
		return "", nil
	case wanted.ID != "":
		if !slices.Contains(seen.floatingNetwork.Subnets, wanted.ID) {
			return "", platform.NewError(platform.ClassConfiguration, "openstack.floatingSubnet.id: network %q has no subnet %q", seen.floatingNetwork.Name, wanted.ID)
		}
		return wanted.ID, nil
	case len(seen.floatingSubnets.found) != 1:
		return "", platform.NewError(platform.ClassConfiguration,
			"openstack.floatingSubnet.name: %d subnets of network %q with the name %q are visible to the credentials, want one; the ID works also for one that is not visible",
			len(seen.floatingSubnets.found), seen.floatingNetwork.Name, wanted.Name)
	default:
		return seen.floatingSubnets.found[0].ID, nil
	}
}
