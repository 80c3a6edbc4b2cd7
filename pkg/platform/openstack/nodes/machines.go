// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider-openstack/pkg/util"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

const providerIDPrefix = "openstack:///"

var serverIDRegexp = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// machines are the servers of the site. The library describes them; ownership and existence are checked here.
type machines struct {
	owner     owner.Owner
	zones     []v1alpha1.OpenStackCloudControllerZone
	compute   *gophercloud.ServiceClient
	network   *gophercloud.ServiceClient
	instances cloudprovider.InstancesV2
}

// HasProviderID implements platform.NodeMachines.
func (*machines) HasProviderID(providerID string) bool {
	id, ok := strings.CutPrefix(providerID, providerIDPrefix)
	return ok && serverIDRegexp.MatchString(id)
}

// Exists implements platform.NodeMachines.
func (m *machines) Exists(ctx context.Context, node *corev1.Node) (bool, error) {
	exists, err := m.instances.InstanceExists(ctx, node)
	return exists, m.classify(err)
}

// ShutDown implements platform.NodeMachines.
func (m *machines) ShutDown(ctx context.Context, node *corev1.Node) (bool, error) {
	off, err := m.instances.InstanceShutdown(ctx, node)
	return off, m.classify(err)
}

// Describe implements platform.NodeMachines. The node's own claims are verified.
func (m *machines) Describe(ctx context.Context, node *corev1.Node) (platform.NodeMachine, error) {
	find := m.byProviderID
	if node.Spec.ProviderID == "" {
		find = m.byName
	}
	server, err := find(ctx, node)
	if err != nil {
		return platform.NodeMachine{}, m.classify(err)
	}
	if node.Spec.ProviderID == "" {
		node = node.DeepCopy()
		node.Spec.ProviderID = providerIDPrefix + server.ID
	}
	metadata, err := m.instances.InstanceMetadata(transport.OneOperation(ctx), node)
	if err != nil {
		return platform.NodeMachine{}, m.classify(err)
	}
	for i := range metadata.NodeAddresses {
		if address := &metadata.NodeAddresses[i]; address.Type == corev1.NodeHostName {
			address.Address = node.Name // the library reports the current name of the server
		}
	}
	machine := platform.NodeMachine{
		ProviderID: metadata.ProviderID,
		Type:       metadata.InstanceType,
		Zones:      m.zonesOf(metadata.Zone),
		Addresses:  metadata.NodeAddresses,
	}
	if !server.LaunchedAt.IsZero() {
		machine.Birth = platform.BirthTimes{platform.BirthPowered: server.LaunchedAt}
	}
	return machine, nil
}

// byName returns the shoot's server that was created with the name of the node. If the server was renamed, its port identifies it.
func (m *machines) byName(ctx context.Context, node *corev1.Node) (*servers.Server, error) {
	name := node.Name
	found, err := client.List(ctx, servers.List(m.compute, servers.ListOpts{Name: "^" + regexp.QuoteMeta(name) + "$"}), servers.ExtractServers)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(found, func(server servers.Server) bool {
		return madeAs(&server) != name || !m.owner.OwnsServer(server.Metadata)
	})
	if len(own) == 0 {
		if own, err = m.byPort(ctx, name); err != nil {
			return nil, err
		}
	}
	switch len(own) {
	case 1:
		return &own[0], nil
	case 0:
		return nil, platform.NewError(platform.ClassNotFound, "no server with the name %q was made for shoot %q and site %q", name, m.owner.Shoot,
			m.owner.Site)
	default:
		ids := lists.Map(own, func(server servers.Server) string { return server.ID })
		return nil, platform.NewError(platform.ClassConflict, "%d servers with the name %q were made for shoot %q and site %q: %q", len(ids),
			name, m.owner.Shoot, m.owner.Site, ids)
	}
}

func (m *machines) byPort(ctx context.Context, name string) ([]servers.Server, error) {
	found, err := client.List(ctx, ports.List(m.network, ports.ListOpts{Name: name, Description: m.owner.Description()}), ports.ExtractPorts)
	if err != nil {
		return nil, err
	}
	var own []servers.Server
	for _, port := range found {
		if port.DeviceID == "" {
			continue
		}
		server, err := client.Extracted(servers.Get(ctx, m.compute, port.DeviceID).Extract())
		if err != nil && !client.IsNotFound(err) {
			return nil, err
		}
		if err == nil && m.owner.OwnsServer(server.Metadata) && cmp.Or(server.Metadata[owner.MetadataMachine], name) == name {
			own = append(own, *server)
		}
	}
	return own, nil
}

// madeAs returns the name that a server was created with. Servers of version 0.1 report their current name.
func madeAs(server *servers.Server) string {
	return cmp.Or(server.Metadata[owner.MetadataMachine], server.Name)
}

// byProviderID returns the server with the node's provider ID, and an error unless it belongs to the node. If the server does not record
// its original name, its current name counts only until the node is initialized: it may be renamed later.
func (m *machines) byProviderID(ctx context.Context, node *corev1.Node) (*servers.Server, error) {
	server, err := client.Extracted(servers.Get(ctx, m.compute, serverID(node)).Extract())
	if err != nil {
		return nil, err
	}
	_, initialized := node.Labels[v1alpha1.LabelInitializedBy]
	renamed := initialized && server.Metadata[owner.MetadataMachine] == ""
	if madeAs(server) != node.Name && !renamed || !m.owner.OwnsServer(server.Metadata) {
		return nil, platform.NewError(platform.ClassConflict, "server %s is not that of node %q, or was not made for shoot %q and site %q",
			serverID(node), node.Name, m.owner.Shoot, m.owner.Site)
	}
	return server, nil
}

// zonesOf returns the zones whose availability zone matches the label that the library derived.
func (m *machines) zonesOf(availabilityZone string) []string {
	var zones []string
	for _, zone := range m.zones {
		if util.SanitizeLabel(zone.AvailabilityZone) == availabilityZone {
			zones = append(zones, zone.Name)
		}
	}
	return zones
}

// classify adds the site. The library has its own error for missing servers.
func (m *machines) classify(err error) error {
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		err = platform.NewError(platform.ClassNotFound, "the server does not exist: %w", err)
	}
	return platform.InSite(m.owner.Site, client.Classify(err))
}

func serverID(node *corev1.Node) string {
	return strings.TrimPrefix(node.Spec.ProviderID, providerIDPrefix)
}
