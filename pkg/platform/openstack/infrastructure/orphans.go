// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/servergroup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Orphans implements platform.Infrastructure.
func (i *infrastructure) Orphans(ctx context.Context, s *site.Site) ([]v1alpha1.Orphan, error) {
	connection, ok := deleteConnection(s)
	if !ok {
		return nil, nil
	}
	readOnly := func(context.Context, *v1alpha1.SiteState) error {
		return errors.New("nothing changes while objects are listed")
	}
	f, err := i.flow(ctx, s, connection, readOnly)
	if err != nil {
		return nil, platform.InSite(s.Name, err)
	}
	if err := f.checkPlace(); err != nil {
		return nil, platform.InSite(s.Name, err)
	}
	orphans, err := f.orphans(ctx)
	return orphans, platform.InSite(s.Name, err)
}

// orphans lists all objects at the same time. A list that fails does not keep the others from being returned.
func (f *flow) orphans(ctx context.Context) ([]v1alpha1.Orphan, error) {
	lists := []func(context.Context) ([]v1alpha1.Orphan, error){
		f.orphanedServers, f.orphanedVolumes, f.orphanedServerGroups, f.orphanedKeyPairs,
		f.orphanedLoadBalancers, f.orphanedFloatingIPs, f.orphanedPorts, f.orphanedSecurityGroups,
		f.orphanedShareNetworks, f.orphanedSubnets, f.orphanedNetworks, f.orphanedRouters,
	}
	found := make([][]v1alpha1.Orphan, len(lists))
	errs := platform.Each(len(lists), func(i int) (err error) {
		found[i], err = lists[i](ctx)
		return err
	})

	var orphans []v1alpha1.Orphan
	for i := range found {
		orphans = append(orphans, found[i]...)
	}
	return orphans, errors.Join(errs...)
}

// orphansOf turns objects into orphans.
func orphansOf[T any](f *flow, kind string, objects []T, identify func(T) (id, name string)) []v1alpha1.Orphan {
	var orphans []v1alpha1.Orphan
	for _, object := range objects {
		id, name := identify(object)
		orphans = append(orphans, v1alpha1.Orphan{Site: f.site.Name, Kind: kind, ID: id, Name: name})
	}
	return orphans
}

func (f *flow) orphanedServers(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownServers(ctx)
	return orphansOf(f, "server", found, func(s servers.Server) (string, string) { return s.ID, s.Name }), err
}

// orphanedVolumes lists the volumes of the site's servers and those of the shoot's Cinder CSI driver.
func (f *flow) orphanedVolumes(ctx context.Context) ([]v1alpha1.Orphan, error) {
	service, err := f.session.Volume(ctx)
	if errors.Is(err, client.ErrNoService) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := client.List(ctx, volumes.List(service, nil), volumes.ExtractVolumes)
	if err != nil {
		return nil, err
	}
	own, err := f.ownServers(ctx)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for i := range own {
		ids[own[i].ID] = true
	}
	var orphans []volumes.Volume
	for i := range found {
		if f.owner.OwnsVolume(found[i].Metadata) || attachedTo(&found[i], ids) {
			orphans = append(orphans, found[i])
		}
	}
	return orphansOf(f, "volume", orphans, func(v volumes.Volume) (string, string) { return v.ID, v.Name }), nil
}

func attachedTo(volume *volumes.Volume, servers map[string]bool) bool {
	for i := range volume.Attachments {
		if servers[volume.Attachments[i].ServerID] {
			return true
		}
	}
	return false
}

func (f *flow) orphanedServerGroups(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := servergroup.List(ctx, f.compute, f.owner)
	return orphansOf(f, "server group", found, func(g servergroup.ServerGroup) (string, string) { return g.ID, g.Name }), err
}

func (f *flow) orphanedKeyPairs(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownedKeyPairs(ctx)
	return orphansOf(f, "key pair", found, func(k keypairs.KeyPair) (string, string) { return k.Name, k.Name }), err
}
