// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider-openstack/pkg/util"

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
	if node.Spec.ProviderID == "" {
		id, err := m.find(ctx, node.Name)
		if err != nil {
			return platform.NodeMachine{}, m.classify(err)
		}
		node = node.DeepCopy()
		node.Spec.ProviderID = providerIDPrefix + id
	} else if err := m.check(ctx, node); err != nil {
		return platform.NodeMachine{}, m.classify(err)
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
	return platform.NodeMachine{
		ProviderID: metadata.ProviderID,
		Type:       metadata.InstanceType,
		Zones:      m.zonesOf(metadata.Zone),
		Addresses:  metadata.NodeAddresses,
	}, nil
}

// find returns the ID of the shoot's server that was created with the name. If the server was renamed, its port identifies it.
func (m *machines) find(ctx context.Context, name string) (string, error) {
	found, err := client.List(ctx, servers.List(m.compute, servers.ListOpts{Name: "^" + regexp.QuoteMeta(name) + "$"}), servers.ExtractServers)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, server := range found {
		if madeAs(&server) == name && m.owner.OwnsServer(server.Metadata) {
			ids = append(ids, server.ID)
		}
	}
	if len(ids) == 0 {
		if ids, err = m.findByPort(ctx, name); err != nil {
			return "", err
		}
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		return "", platform.NewError(platform.ClassNotFound, "no server with the name %q was made for shoot %q and site %q", name, m.owner.Shoot,
			m.owner.Site)
	default:
		return "", platform.NewError(platform.ClassConflict, "%d servers with the name %q were made for shoot %q and site %q: %q", len(ids), name,
			m.owner.Shoot, m.owner.Site, ids)
	}
}

func (m *machines) findByPort(ctx context.Context, name string) ([]string, error) {
	found, err := client.List(ctx, ports.List(m.network, ports.ListOpts{Name: name, Description: m.owner.Description()}), ports.ExtractPorts)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, port := range found {
		if port.DeviceID == "" {
			continue
		}
		server, err := client.Extracted(servers.Get(ctx, m.compute, port.DeviceID).Extract())
		if err != nil && !client.IsNotFound(err) {
			return nil, err
		}
		if err == nil && m.owner.OwnsServer(server.Metadata) && cmp.Or(server.Metadata[owner.MetadataMachine], name) == name {
			ids = append(ids, server.ID)
		}
	}
	return ids, nil
}

// madeAs returns the name that a server was created with. Servers of version 0.1 report their current name.
func madeAs(server *servers.Server) string {
	return cmp.Or(server.Metadata[owner.MetadataMachine], server.Name)
}

// check returns an error unless the server with the node's provider ID belongs to the node. If the server does not record its original
// name, its current name counts only until the node is initialized: it may be renamed later.
func (m *machines) check(ctx context.Context, node *corev1.Node) error {
	server, err := client.Extracted(servers.Get(ctx, m.compute, serverID(node)).Extract())
	if err != nil {
		return err
	}
	_, initialized := node.Labels[v1alpha1.LabelInitializedBy]
	renamed := initialized && server.Metadata[owner.MetadataMachine] == ""
	if madeAs(server) != node.Name && !renamed || !m.owner.OwnsServer(server.Metadata) {
		return platform.NewError(platform.ClassConflict, "server %s is not that of node %q, or was not made for shoot %q and site %q",
			serverID(node), node.Name, m.owner.Shoot, m.owner.Site)
	}
	return nil
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
