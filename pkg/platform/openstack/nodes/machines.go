// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider-openstack/pkg/util"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

const providerIDPrefix = "openstack:///"

var serverIDRegexp = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// machines are the servers of the site. The library describes them; whose they are and whether they are gone is asked for here.
type machines struct {
	owner     owner.Owner
	zones     []v1alpha1.OpenStackCloudControllerZone
	compute   *gophercloud.ServiceClient
	instances cloudprovider.InstancesV2
}

// HasProviderID implements platform.NodeMachines.
func (*machines) HasProviderID(providerID string) bool {
	id, ok := strings.CutPrefix(providerID, providerIDPrefix)
	return ok && serverIDRegexp.MatchString(id)
}

// Exists implements platform.NodeMachines. The library takes any 404 for an answer of Nova. So it is asked for again by the session,
// which tells it from that of a proxy.
func (m *machines) Exists(ctx context.Context, node *corev1.Node) (bool, error) {
	exists, err := m.instances.InstanceExists(ctx, node)
	if err != nil || exists {
		return exists, m.classify(err)
	}
	_, err = servers.Get(ctx, m.compute, serverID(node)).Extract()
	if client.IsNotFound(err) {
		return false, nil
	}
	return err == nil, m.classify(err)
}

// ShutDown implements platform.NodeMachines.
func (m *machines) ShutDown(ctx context.Context, node *corev1.Node) (bool, error) {
	off, err := m.instances.InstanceShutdown(ctx, node)
	return off, m.classify(err)
}

// Describe implements platform.NodeMachines. What a node says of itself is checked until it is initialized.
func (m *machines) Describe(ctx context.Context, node *corev1.Node) (platform.NodeMachine, error) {
	switch _, initialized := node.Labels[v1alpha1.LabelInitializedBy]; {
	case node.Spec.ProviderID == "":
		id, err := m.find(ctx, node.Name)
		if err != nil {
			return platform.NodeMachine{}, m.classify(err)
		}
		node = node.DeepCopy()
		node.Spec.ProviderID = providerIDPrefix + id
	case !initialized:
		if err := m.check(ctx, node); err != nil {
			return platform.NodeMachine{}, m.classify(err)
		}
	}
	metadata, err := m.instances.InstanceMetadata(ctx, node)
	if err != nil {
		return platform.NodeMachine{}, m.classify(err)
	}
	return platform.NodeMachine{
		ProviderID: metadata.ProviderID,
		Type:       metadata.InstanceType,
		Zones:      m.zonesOf(metadata.Zone),
		Addresses:  metadata.NodeAddresses,
	}, nil
}

// find returns the ID of the shoot's server with the name.
func (m *machines) find(ctx context.Context, name string) (string, error) {
	found, err := client.List(ctx, servers.List(m.compute, servers.ListOpts{Name: "^" + regexp.QuoteMeta(name) + "$"}), servers.ExtractServers)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, server := range found {
		if server.Name == name && m.owner.OwnsServer(server.Metadata) {
			ids = append(ids, server.ID)
		}
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		return "", platform.NewError(platform.ClassNotFound, "no server with the name %q was made for shoot %q and site %q", name, m.owner.Shoot, m.owner.Site)
	default:
		return "", platform.NewError(platform.ClassConflict, "%d servers with the name %q were made for shoot %q and site %q: %q", len(ids), name, m.owner.Shoot, m.owner.Site, ids)
	}
}

// check returns an error unless the server with the node's provider ID is that of the node.
func (m *machines) check(ctx context.Context, node *corev1.Node) error {
	server, err := servers.Get(ctx, m.compute, serverID(node)).Extract()
	if err != nil {
		return err
	}
	if server.Name != node.Name || !m.owner.OwnsServer(server.Metadata) {
		return platform.NewError(platform.ClassConflict, "server %q (%s) is not that of node %q, or was not made for shoot %q and site %q",
			server.Name, server.ID, node.Name, m.owner.Shoot, m.owner.Site)
	}
	return nil
}

// zonesOf returns the zones with an availability zone whose name the library has made a label of.
func (m *machines) zonesOf(availabilityZone string) []string {
	var zones []string
	for _, zone := range m.zones {
		if util.SanitizeLabel(zone.AvailabilityZone) == availabilityZone {
			zones = append(zones, zone.Name)
		}
	}
	return zones
}

// classify names the site. The library says that a server does not exist with an error of its own.
func (m *machines) classify(err error) error {
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		err = platform.NewError(platform.ClassNotFound, "the server does not exist: %w", err)
	}
	return platform.InSite(m.owner.Site, client.Classify(err))
}

func serverID(node *corev1.Node) string {
	return strings.TrimPrefix(node.Spec.ProviderID, providerIDPrefix)
}
