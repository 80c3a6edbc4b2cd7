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
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

type network struct {
	networks.Network
	mtu.NetworkMTUExt
	external.NetworkExternalExt
}

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

func (f *flow) networksBy(ctx context.Context, by filter) ([]network, error) {
	return f.networks(ctx, networks.ListOpts{ID: by.id, Name: by.name})
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
