// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/servergroup"
)

var serverKind = kind[servers.Server]{
	name:     "server",
	own:      ownServers,
	describe: func(s *servers.Server) object { return object{id: s.ID, name: s.Name} },
}

var portKind = kind[ports.Port]{
	name:     "port",
	own:      ownPorts,
	describe: func(p *ports.Port) object { return object{id: p.ID, name: p.Name} },
	remove:   networking(ports.Delete),
}

// machineFloatingIPKind are the floating IPs of the site's machines.
var machineFloatingIPKind = kind[floatingips.FloatingIP]{
	name: "floating IP",
	own: func(ctx context.Context, f *flow) ([]floatingips.FloatingIP, error) {
		found, err := floatingIPsOfProject(ctx, f)
		return slices.DeleteFunc(found, func(ip floatingips.FloatingIP) bool { return !f.owner.OwnsForMachine(ip.Description) }), err
	},
	describe: func(ip *floatingips.FloatingIP) object { return object{id: ip.ID, name: ip.FloatingIP} },
	remove:   networking(floatingips.Delete),
}

// floatingIPsOfProject lists all floating IPs in the project.
func floatingIPsOfProject(ctx context.Context, f *flow) ([]floatingips.FloatingIP, error) {
	project, err := f.session.ProjectID()
	if err != nil {
		return nil, err
	}
	return client.List(ctx, floatingips.List(f.network, floatingips.ListOpts{ProjectID: project}), floatingips.ExtractFloatingIPs)
}

var volumeKind = kind[volumes.Volume]{
	name:     "volume",
	own:      ownVolumes,
	describe: func(v *volumes.Volume) object { return object{id: v.ID, name: v.Name} },
}

var serverGroupKind = kind[servergroup.ServerGroup]{
	name: "server group",
	own: func(ctx context.Context, f *flow) ([]servergroup.ServerGroup, error) {
		return servergroup.List(ctx, f.compute, f.owner)
	},
	describe: func(g *servergroup.ServerGroup) object { return object{id: g.ID, name: g.Name} },
	remove:   func(ctx context.Context, f *flow, id string) error { return servergroup.Delete(ctx, f.compute, id) },
}

// ownVolumes lists the volumes of the site's servers and those of the shoot's Cinder CSI driver.
func ownVolumes(ctx context.Context, f *flow) ([]volumes.Volume, error) {
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
	own, err := ownServers(ctx, f)
	if err != nil {
		return nil, err
	}
	ids := idsOf(own)
	return slices.DeleteFunc(found, func(v volumes.Volume) bool { return !f.owner.OwnsVolume(v.Metadata) && !attachedTo(&v, ids) }), nil
}

// deletePorts deletes unused ports of machines. One is left behind if the response to its creation was lost and its machine was deleted
// before the port appeared.
func deletePorts(ctx context.Context, f *flow) error {
	found, err := ownPorts(ctx, f)
	if err != nil {
		return err
	}
	return portKind.deleteAll(ctx, f, slices.DeleteFunc(found, func(p ports.Port) bool { return p.DeviceID != "" }))
}

// firstPoll and lastPoll are the minimum and maximum interval for polling deletions.
const (
	firstPoll = 500 * time.Millisecond
	lastPoll  = 5 * time.Second
)

// serversTimeout limits how long a deletion waits for servers. The next deletion continues.
const serversTimeout = time.Minute

// softDeleted is the status of a server that the site retains for a while after its deletion.
const softDeleted = "SOFT_DELETED"

// ownServers lists the servers of the shoot on the site: those named like the shoot, and those with a port of the shoot, which may have
// been renamed or be retained after their deletion.
func ownServers(ctx context.Context, f *flow) ([]servers.Server, error) {
	options := servers.ListOpts{Name: "^" + regexp.QuoteMeta(f.owner.Shoot) + "-"}
	found, err := client.List(ctx, servers.List(f.compute, options), servers.ExtractServers)
	if err != nil {
		return nil, err
	}
	own, known := []servers.Server{}, map[string]bool{}
	add := func(s servers.Server) {
		known[s.ID] = true
		// Administrators also see servers that no longer exist.
		if s.Status != "DELETED" && f.owner.OwnsServer(s.Metadata) {
			own = append(own, s)
		}
	}
	for _, s := range found {
		add(s)
	}
	used, err := ownPorts(ctx, f)
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

// deleteServers deletes the servers that are left after the machines are gone, and waits until they are gone because their ports block the
// subnet. A server is left behind if the response to its creation was lost and its machine got another one: orphans are collected per
// machine class, and the last class may be deleted before the server appears.
func deleteServers(ctx context.Context, f *flow) error {
	ctx, cancel := context.WithTimeout(ctx, serversTimeout)
	defer cancel()

	var (
		accepted = map[string]bool{}
		refused  = map[string]error{}
		late     error
	)
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		left, err := ownServers(ctx, f)
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

// ownPorts lists the ports of the site's machines.
func ownPorts(ctx context.Context, f *flow) ([]ports.Port, error) {
	return client.List(ctx, ports.List(f.network, ports.ListOpts{Description: f.owner.Description()}), ports.ExtractPorts)
}

func idsOf(found []servers.Server) sets.Set[string] {
	return sets.New(lists.Map(found, func(s servers.Server) string { return s.ID })...)
}

func attachedTo(volume *volumes.Volume, serverIDs sets.Set[string]) bool {
	return slices.ContainsFunc(volume.Attachments, func(a volumes.Attachment) bool { return serverIDs.Has(a.ServerID) })
}

// deleteMachines deletes the remains of machines.
var deleteMachines = sequence(deleteServers, deletePorts)
