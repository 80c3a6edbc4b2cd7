// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/sharenetworks"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

func shareNetworkPlace(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject {
	return &s.ShareNetwork
}

func (f *flow) wantsShareNetwork() bool {
	wanted := f.config().ShareNetwork
	return wanted != nil && wanted.Enabled
}

// lookShareNetwork asks the site only if a share network is wanted.
func (f *flow) lookShareNetwork(ctx context.Context) (*sharenetworks.ShareNetwork, error) {
	if !f.wantsShareNetwork() {
		return nil, nil
	}
	found, err := find(ctx, knownID("", f.State().ShareNetwork), f.shareNetworks, f.ownsShareNetwork, f.owner.Name())
	if err != nil {
		return nil, fmt.Errorf("openstack.shareNetwork: %w", err)
	}
	return found, nil
}

func (f *flow) ownsShareNetwork(n sharenetworks.ShareNetwork) bool {
	return f.owner.Owns(n.Description, nil)
}

// shareNetworks lists share networks by ID or by name. The API has no filter for the ID.
func (f *flow) shareNetworks(ctx context.Context, by filter) ([]sharenetworks.ShareNetwork, error) {
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

// ensureShareNetwork makes the share network in the subnet of the nodes, or deletes the one that is not wanted any more.
func (f *flow) ensureShareNetwork(seen *seen) func(context.Context) error {
	return func(ctx context.Context) error {
		if !f.wantsShareNetwork() {
			if f.State().ShareNetwork == nil {
				return nil
			}
			return f.deleteShareNetworks(ctx)
		}
		service, err := f.session.SharedFileSystem(ctx)
		if err != nil {
			return fmt.Errorf("openstack.shareNetwork: %w", err)
		}
		switch {
		case seen.shareNetwork == nil:
			seen.shareNetwork, err = client.Extracted(sharenetworks.Create(ctx, service, sharenetworks.CreateOpts{
				Name:            f.owner.Name(),
				Description:     f.owner.Description(),
				NeutronNetID:    seen.network.ID,
				NeutronSubnetID: seen.subnet.ID,
			}).Extract())
		case seen.shareNetwork.NeutronSubnetID != seen.subnet.ID:
			seen.shareNetwork, err = client.Extracted(sharenetworks.Update(ctx, service, seen.shareNetwork.ID, sharenetworks.UpdateOpts{
				NeutronNetID:    seen.network.ID,
				NeutronSubnetID: seen.subnet.ID,
			}).Extract())
		}
		if err != nil {
			return fmt.Errorf("openstack.shareNetwork: %w", client.Classify(err))
		}
		return f.recordObject(ctx, seen.shareNetwork.ID, true, shareNetworkPlace)
	}
}

// deleteShareNetworks deletes the share networks that are ours. A site whose shared file system service is not there or may not
// be used has none, unless the state knows one.
func (f *flow) deleteShareNetworks(ctx context.Context) error {
	found, err := f.ownedShareNetworks(ctx)
	if err != nil {
		return err
	}
	for i := range found {
		service, err := f.session.SharedFileSystem(ctx)
		if err != nil {
			return err
		}
		if err := client.IgnoreNotFound(sharenetworks.Delete(ctx, service, found[i].ID).ExtractErr()); err != nil {
			return err
		}
	}
	return f.forget(ctx, shareNetworkPlace)
}

func (f *flow) ownedShareNetworks(ctx context.Context) ([]sharenetworks.ShareNetwork, error) {
	known := f.State().ShareNetwork
	found, err := owned(ctx, f.shareNetworks, known, f.owner.Name(),
		func(n sharenetworks.ShareNetwork) (string, bool) { return n.ID, f.ownsShareNetwork(n) })
	if known == nil && (errors.Is(err, client.ErrNoService) || platform.ClassOf(err) == platform.ClassForbidden) {
		return nil, nil
	}
	return found, err
}

func (f *flow) orphanedShareNetworks(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownedShareNetworks(ctx)
	return orphansOf(f, "share network", found, func(n sharenetworks.ShareNetwork) (string, string) { return n.ID, n.Name }), err
}
