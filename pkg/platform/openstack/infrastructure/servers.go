// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/servergroup"
)

// firstPoll and lastPoll are the shortest and the longest time between two looks at what is being deleted.
const (
	firstPoll = 500 * time.Millisecond
	lastPoll  = 5 * time.Second
)

// serversTimeout is how long a deletion waits for servers. The next one goes on from there.
const serversTimeout = time.Minute

// softDeleted is the status of a server that the site keeps for a while after its deletion.
const softDeleted = "SOFT_DELETED"

// ownServers lists the servers of the shoot on the site: those with such a name, and those that have a port of the shoot. The latter
// have another name by now, or the site keeps them after their deletion.
func (f *flow) ownServers(ctx context.Context) ([]servers.Server, error) {
	options := servers.ListOpts{Name: "^" + regexp.QuoteMeta(f.owner.Shoot) + "-"}
	found, err := client.List(ctx, servers.List(f.compute, options), servers.ExtractServers)
	if err != nil {
		return nil, err
	}
	own, known := []servers.Server{}, map[string]bool{}
	add := func(s servers.Server) {
		known[s.ID] = true
		// An administrator is shown servers that do not exist any more.
		if s.Status != "DELETED" && f.owner.OwnsServer(s.Metadata) {
			own = append(own, s)
		}
	}
	for _, s := range found {
		add(s)
	}
	used, err := f.ownPorts(ctx)
	if err != nil {
		return nil, err
	}
	for _, port := range used {
		if port.DeviceID == "" || known[port.DeviceID] {
			continue
		}
		s, err := client.Extracted(servers.Get(ctx, f.compute, port.DeviceID).Extract())
		switch {
		case client.IsNotFound(err):
		case err != nil:
			return nil, err
		default:
			add(*s)
		}
	}
	return own, nil
}

// deleteServers deletes the servers that are left when the machines are gone, and waits until they are gone, too, because they have
// ports. One is left if the answer to its creation was lost and its machine got another one: who collects such servers asks by
// machine class, and the last class can go before it is asked for.
func (f *flow) deleteServers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serversTimeout)
	defer cancel()

	var (
		accepted = map[string]bool{}
		refused  = map[string]error{}
		late     error
	)
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		left, err := f.ownServers(ctx)
		if err != nil && ctx.Err() != nil && late != nil {
			return late
		}
		if err != nil || len(left) == 0 {
			return err
		}
		var (
			going []string
			errs  []error
		)
		for i := range left {
			id, name := left[i].ID, left[i].Name+" ("+left[i].ID+")"
			request, remove := id, servers.Delete
			if left[i].Status == softDeleted {
				request, remove = id+softDeleted, func(ctx context.Context, compute *gophercloud.ServiceClient, id string) servers.DeleteResult {
					return servers.DeleteResult{ErrResult: servers.ForceDelete(ctx, compute, id).ErrResult}
				}
			}
			if !accepted[request] && refused[id] == nil {
				if err := client.IgnoreNotFound(remove(ctx, f.compute, id).ExtractErr()); err != nil {
					refused[id] = fmt.Errorf("server %s cannot be deleted: %w", name, err)
				} else {
					accepted[request] = true
				}
			}
			if refused[id] != nil {
				errs = append(errs, refused[id])
			} else {
				going = append(going, name)
			}
		}
		if len(going) == 0 {
			return errors.Join(errs...)
		}
		late = errors.Join(append([]error{
			platform.NewError(platform.ClassTransient, "servers are not deleted yet (%d): %s", len(going), strings.Join(going, ", ")),
		}, errs...)...)
		select {
		case <-ctx.Done():
			return late
		case <-time.After(poll):
		}
	}
}

// deleteMachines deletes what is left of machines.
func (f *flow) deleteMachines(ctx context.Context) error {
	return sequence(f.deleteServers, f.deletePorts)(ctx)
}

// ownPorts lists the ports of the site's machines.
func (f *flow) ownPorts(ctx context.Context) ([]ports.Port, error) {
	return client.List(ctx, ports.List(f.network, ports.ListOpts{Description: f.owner.Description()}), ports.ExtractPorts)
}

// deletePorts deletes the ports of machines that no server uses. One is left if the answer to its creation was lost and its
// machine was deleted before it showed up.
func (f *flow) deletePorts(ctx context.Context) error {
	found, err := f.ownPorts(ctx)
	if err != nil {
		return err
	}
	for _, port := range found {
		if port.DeviceID != "" {
			continue
		}
		if err := client.IgnoreNotFound(ports.Delete(ctx, f.network, port.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}

// deleteServerGroups deletes the server groups of all pools.
func (f *flow) deleteServerGroups(ctx context.Context) error {
	found, err := servergroup.List(ctx, f.compute, f.owner)
	if err != nil {
		return err
	}
	for _, group := range found {
		if err := servergroup.Delete(ctx, f.compute, group.ID); err != nil {
			return err
		}
	}
	return nil
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

func (f *flow) orphanedPorts(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownPorts(ctx)
	return orphansOf(f, "port", found, func(p ports.Port) (string, string) { return p.ID, p.Name }), err
}
