// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/sharenetworks"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

var shareNetworkKind = &marked[sharenetworks.ShareNetwork]{
	name:   "share network",
	places: []field{func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.ShareNetwork }},
	found:  func(s *observed) **sharenetworks.ShareNetwork { return &s.shareNetwork },
	list:   listShareNetworks,
	describe: func(n *sharenetworks.ShareNetwork) object {
		return object{id: n.ID, name: n.Name, description: n.Description}
	},
	remove: func(ctx context.Context, f *flow, id string) error {
		service, err := f.session.SharedFileSystem(ctx)
		if err != nil {
			return err
		}
		return sharenetworks.Delete(ctx, service, id).ExtractErr()
	},
	optional: true,
	create: func(ctx context.Context, f *flow) (*sharenetworks.ShareNetwork, error) {
		service, err := f.session.SharedFileSystem(ctx)
		if err != nil {
			return nil, err
		}
		return client.Extracted(sharenetworks.Create(ctx, service, sharenetworks.CreateOpts{
			Name:            f.owner.Name(),
			Description:     f.owner.Description(),
			NeutronNetID:    f.observed.network.ID,
			NeutronSubnetID: f.observed.subnet.ID,
		}).Extract())
	},
	update: func(ctx context.Context, f *flow, n *sharenetworks.ShareNetwork) (*sharenetworks.ShareNetwork, error) {
		service, err := f.session.SharedFileSystem(ctx)
		if err != nil || n.NeutronSubnetID == f.observed.subnet.ID {
			return n, err
		}
		return client.Extracted(sharenetworks.Update(ctx, service, n.ID, sharenetworks.UpdateOpts{
			NeutronNetID:    f.observed.network.ID,
			NeutronSubnetID: f.observed.subnet.ID,
		}).Extract())
	},
}

func wantsShareNetwork(f *flow) bool {
	wanted := f.config().ShareNetwork
	return wanted != nil && wanted.Enabled
}

// observeShareNetwork sends a request only if a share network is wanted.
func observeShareNetwork(ctx context.Context, f *flow) error {
	if !wantsShareNetwork(f) {
		return nil
	}
	if err := shareNetworkKind.observe(ctx, f); err != nil {
		return fmt.Errorf("openstack.shareNetwork: %w", err)
	}
	return nil
}

// ensureShareNetwork ensures the share network in the nodes' subnet, or deletes one that is no longer wanted.
func ensureShareNetwork(ctx context.Context, f *flow) error {
	if !wantsShareNetwork(f) {
		if f.State().ShareNetwork == nil {
			return nil
		}
		return shareNetworkKind.delete(ctx, f)
	}
	n, err := &f.observed.shareNetwork, error(nil)
	if *n == nil {
		*n, err = shareNetworkKind.create(ctx, f)
	} else {
		*n, err = shareNetworkKind.update(ctx, f, *n)
	}
	if err != nil {
		return fmt.Errorf("openstack.shareNetwork: %w", err)
	}
	return shareNetworkKind.adopt(ctx, f, shareNetworkKind.describe(*n))
}

// listShareNetworks lists share networks by ID or name. The API has no filter for the ID.
func listShareNetworks(ctx context.Context, f *flow, by filter) ([]sharenetworks.ShareNetwork, error) {
	service, err := f.session.SharedFileSystem(ctx)
	if err != nil {
		return nil, err
	}
	if by.id == "" {
		return client.List(ctx, sharenetworks.ListDetail(service, sharenetworks.ListOpts{Name: by.name}), sharenetworks.ExtractShareNetworks)
	}
	found, err := client.Extracted(sharenetworks.Get(ctx, service, by.id).Extract())
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return []sharenetworks.ShareNetwork{*found}, nil
}
