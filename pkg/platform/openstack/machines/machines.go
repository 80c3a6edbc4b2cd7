// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machines creates, finds and deletes the servers of an OpenStack site.
package machines

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

const (
	providerIDPrefix = "openstack:///"
	cinderDriver     = "cinder.csi.openstack.org"

	statusBuild = "BUILD"
	statusError = "ERROR"
)

type machines struct {
	sessions *client.Sessions
}

// New returns the Machines part of the OpenStack platform.
func New(sessions *client.Sessions) platform.Machines {
	return &machines{sessions: sessions}
}

// call is one operation on the servers of one shoot on one site.
type call struct {
	request  platform.MachineRequest
	owner    owner.Owner
	session  *client.Session
	snapshot *snapshot
	compute  *gophercloud.ServiceClient
	network  *gophercloud.ServiceClient
}

func (m *machines) call(ctx context.Context, request platform.MachineRequest) (*call, error) {
	spec := request.Spec
	if spec.OpenStack == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the provider spec has no openstack block")
	}
	session, err := m.sessions.Get(ctx, spec.Site, spec.OpenStack.Connection, request.Credentials)
	if err != nil {
		return nil, err
	}
	compute, computeErr := session.Compute(ctx)
	network, networkErr := session.Network(ctx)
	if err := errors.Join(computeErr, networkErr); err != nil {
		return nil, err
	}
	o := owner.Owner{Shoot: spec.Shoot, Site: spec.Site}
	return &call{
		request:  request,
		owner:    o,
		session:  session,
		snapshot: snapshotOf(session, compute, o),
		compute:  compute,
		network:  network,
	}, nil
}

// Get implements platform.Machines.
func (m *machines) Get(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	c, err := m.call(ctx, request)
	if err != nil {
		return platform.Machine{}, platform.InSite(request.Spec.Site, err)
	}
	server, err := c.find(ctx, statusAge)
	if err != nil {
		return platform.Machine{}, platform.InSite(request.Spec.Site, err)
	}
	if server.Status == statusError && server.Fault.Message == "" {
		// The fault is stored after the status, so the snapshot may have one without the other.
		if server, err = servers.Get(ctx, c.compute, server.ID).Extract(); err != nil {
			return platform.Machine{}, platform.InSite(request.Spec.Site, client.Classify(err))
		}
	}
	if err := faultOf(server); err != nil {
		return platform.Machine{}, platform.InSite(request.Spec.Site, err)
	}
	return machineOf(server), nil
}

// find returns the server of the request from the shared snapshot. A server that has an ID is missing only if the API says
// so when it is asked for that ID.
func (c *call) find(ctx context.Context, age maxAge) (*servers.Server, error) {
	view, err := c.snapshot.get(ctx, age)
	if err != nil {
		return nil, err
	}
	id := serverID(c.request.ProviderID)
	if id == "" {
		if server := view.byName(c.request.Name); server != nil {
			return server, nil
		}
		return nil, platform.NewError(platform.ClassNotFound, "server %q does not exist", c.request.Name)
	}
	if server := view.byID(id); server != nil {
		return server, nil
	}
	server, err := servers.Get(ctx, c.compute, id).Extract()
	if err != nil {
		return nil, client.Classify(err)
	}
	if gone(server) {
		return nil, platform.NewError(platform.ClassNotFound, "server %s is in status %s", id, server.Status)
	}
	if !c.owner.OwnsServer(server.Metadata) {
		return nil, platform.NewError(platform.ClassConflict, "server %s is not ours: its metadata does not name shoot %q and site %q", id, c.owner.Shoot, c.owner.Site)
	}
	return server, nil
}

// findByName asks the API itself, past the snapshot.
func (c *call) findByName(ctx context.Context) (*servers.Server, error) {
	found, err := listServers(ctx, c.compute, servers.ListOpts{Name: "^" + regexp.QuoteMeta(c.request.Name) + "$"})
	if err != nil {
		return nil, err
	}
	for i := range found {
		if found[i].Name == c.request.Name && c.owner.OwnsServer(found[i].Metadata) {
			return &found[i], nil
		}
	}
	return nil, nil
}

// List implements platform.Machines.
func (m *machines) List(ctx context.Context, request platform.MachineRequest) ([]platform.Machine, error) {
	c, err := m.call(ctx, request)
	if err != nil {
		return nil, platform.InSite(request.Spec.Site, err)
	}
	view, err := c.snapshot.get(ctx, listAge)
	if err != nil {
		return nil, platform.InSite(request.Spec.Site, err)
	}
	var result []platform.Machine
	for _, server := range view {
		result = append(result, machineOf(server))
	}
	return result, nil
}

// VolumeID implements platform.Machines.
func (m *machines) VolumeID(pv *corev1.PersistentVolumeSpec) (string, bool) {
	switch {
	case pv.CSI != nil && pv.CSI.Driver == cinderDriver:
		return pv.CSI.VolumeHandle, true
	case pv.Cinder != nil:
		return pv.Cinder.VolumeID, true
	default:
		return "", false
	}
}

func machineOf(server *servers.Server) platform.Machine {
	return platform.Machine{Name: server.Name, ProviderID: providerIDPrefix + server.ID, Addresses: addressesOf(server)}
}

func serverID(providerID string) string {
	return strings.TrimPrefix(providerID, providerIDPrefix)
}

// faultOf is the error of a server that will never run. A server that is being built has none.
func faultOf(server *servers.Server) error {
	if server.Status != statusError {
		return nil
	}
	// The compute API reports what the scheduler and the volume service said as text only.
	class := platform.ClassTransient
	switch message := strings.ToLower(server.Fault.Message); {
	case strings.Contains(message, "no valid host was found"):
		class = platform.ClassExhausted
	case strings.Contains(message, "quota"):
		class = platform.ClassQuota
	}
	return platform.NewError(class, "server %q is in status ERROR: %s", server.Name, fmt.Sprintf("%d %s", server.Fault.Code, server.Fault.Message))
}

func addressesOf(server *servers.Server) []corev1.NodeAddress {
	result := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: server.Name}}
	for _, network := range slices.Sorted(maps.Keys(server.Addresses)) {
		entries, ok := server.Addresses[network].([]any)
		if !ok {
			continue
		}
		for _, entry := range entries {
			fields, ok := entry.(map[string]any)
			if !ok {
				continue
			}
			address, ok := fields["addr"].(string)
			if !ok {
				continue
			}
			addressType := corev1.NodeInternalIP
			if fields["OS-EXT-IPS:type"] == "floating" {
				addressType = corev1.NodeExternalIP
			}
			result = append(result, corev1.NodeAddress{Type: addressType, Address: address})
		}
	}
	return result
}
