// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package nodes connects nodes with a bare-metal site.
package nodes

import (
	"context"
	"regexp"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

type nodes struct {
	sessions *client.Sessions
}

// New returns the Nodes part of the bare-metal platform.
func New(sessions *client.Sessions) platform.Nodes {
	return &nodes{sessions: sessions}
}

// Open implements platform.Nodes. An inventory has no load balancers.
func (n *nodes) Open(ctx context.Context, r platform.NodesRequest) (platform.NodeSite, error) {
	m, err := n.open(ctx, r)
	if err != nil {
		return platform.NodeSite{}, platform.InSite(r.Site.Name, err)
	}
	return platform.NodeSite{Machines: m}, nil
}

func (n *nodes) open(ctx context.Context, r platform.NodesRequest) (*machines, error) {
	if r.Site.Metal == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the site has no metal block")
	}
	m := &machines{sessions: n.sessions, request: r, owner: owner.Owner{Shoot: r.Shoot, Site: r.Site.Name}}
	var err error
	if m.zones, err = newZones(r.Shoot, r.Site.Metal.Zones); err != nil {
		return nil, err
	}
	m.providerID = owner.ProviderIDs(r.Site.Metal.Connection)
	_, found, err := m.hosts(ctx)
	if err != nil {
		return nil, err
	}
	return m, found.check(ctx)
}

// machines are the hosts of the site that are machines of the shoot.
type machines struct {
	sessions *client.Sessions
	request  platform.NodesRequest
	owner    owner.Owner
	zones    zones
	// providerID matches the provider IDs of the inventory's namespace.
	providerID *regexp.Regexp
}

// hosts returns the session of the site and what finds hosts in it. The session is asked for with each call, because sessions that
// nobody asks for are ended.
func (m *machines) hosts(ctx context.Context) (*client.Session, hosts, error) {
	connection := m.request.Site.Metal.Connection
	session, err := m.sessions.Get(ctx, m.owner.Site, connection, m.request.Credentials)
	if err != nil {
		return nil, nil, err
	}
	if err := session.CheckIdentity(ctx, m.request.Site.Metal.NamespaceUID); err != nil {
		return nil, nil, err
	}
	found, err := newHosts(session, connection.Inventory, m.owner)
	return session, found, err
}

// HasProviderID implements platform.NodeMachines.
func (m *machines) HasProviderID(providerID string) bool {
	return m.providerID.MatchString(providerID)
}

// Exists implements platform.NodeMachines.
func (m *machines) Exists(ctx context.Context, node *corev1.Node) (bool, error) {
	found, err := m.find(ctx, node)
	return found != nil, platform.InSite(m.owner.Site, err)
}

// ShutDown implements platform.NodeMachines.
func (m *machines) ShutDown(ctx context.Context, node *corev1.Node) (bool, error) {
	found, err := m.find(ctx, node)
	if err == nil && found == nil {
		err = missing(node)
	}
	if err != nil {
		return false, platform.InSite(m.owner.Site, err)
	}
	return found.off, nil
}

// Describe implements platform.NodeMachines.
func (m *machines) Describe(ctx context.Context, node *corev1.Node) (platform.NodeMachine, error) {
	machine, err := m.describe(ctx, node)
	return machine, platform.InSite(m.owner.Site, err)
}

func (m *machines) describe(ctx context.Context, node *corev1.Node) (platform.NodeMachine, error) {
	find := m.find
	if node.Spec.ProviderID == "" {
		find = m.findJoining
	}
	found, err := find(ctx, node)
	if err != nil {
		return platform.NodeMachine{}, err
	}
	if found == nil {
		return platform.NodeMachine{}, missing(node)
	}
	session, _, err := m.hosts(ctx)
	if err != nil {
		return platform.NodeMachine{}, err
	}
	addresses, err := addressesOf(ctx, session, m.owner, node, found)
	if err != nil {
		return platform.NodeMachine{}, err
	}
	return platform.NodeMachine{
		ProviderID: found.providerID,
		Type:       found.instanceType(),
		Zones:      m.zones.of(found, node),
		Addresses:  addresses,
	}, nil
}

// find returns the host with the node's provider ID, nil if the inventory says that the machine of that ID has none. A host that is
// that of another node is an error.
func (m *machines) find(ctx context.Context, node *corev1.Node) (*host, error) {
	if !m.HasProviderID(node.Spec.ProviderID) {
		return nil, platform.NewError(platform.ClassConflict, "node %q: provider ID %q is not one of the inventory", node.Name,
			node.Spec.ProviderID)
	}
	_, hosts, err := m.hosts(ctx)
	if err != nil {
		return nil, err
	}
	found, err := hosts.byProviderID(ctx, node.Spec.ProviderID)
	if found == nil || err != nil {
		return nil, err
	}
	if found.nodeName != node.Name {
		return nil, platform.NewError(platform.ClassConflict, "host %q of machine %q is node %q and not %q", found.name, found.machine,
			found.nodeName, node.Name)
	}
	return found, nil
}

// findJoining returns the host that was told the name of the node, nil if there is none. It must have the system UUID that the node
// reports, where the inventory knows that.
func (m *machines) findJoining(ctx context.Context, node *corev1.Node) (*host, error) {
	_, hosts, err := m.hosts(ctx)
	if err != nil {
		return nil, err
	}
	candidates, err := hosts.byNodeName(ctx, node.Name)
	if err != nil {
		return nil, err
	}
	var found *host
	for i := range candidates {
		candidate := &candidates[i]
		switch {
		case candidate.nodeName != node.Name:
		case found != nil && found.providerID != candidate.providerID:
			return nil, platform.NewError(platform.ClassConflict, "node %q: hosts %q and %q both are that node", node.Name, found.name,
				candidate.name)
		default:
			found = candidate
		}
	}
	if found != nil && !found.mayHave(node.Status.NodeInfo.SystemUUID) {
		return nil, platform.NewError(platform.ClassConflict, "node %q reports the system UUID %q, but its host %q has %q",
			node.Name, node.Status.NodeInfo.SystemUUID, found.name, found.systemUUID)
	}
	return found, nil
}

func missing(node *corev1.Node) error {
	return platform.NewError(platform.ClassNotFound, "no host is the machine of node %q (provider ID %q)", node.Name, node.Spec.ProviderID)
}
