// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package nodes connects nodes with a bare-metal site.
package nodes

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

type nodes struct {
	sessions *client.Sessions
	open     inventory.Opener
}

// New returns the Nodes part of the bare-metal platform.
func New(sessions *client.Sessions, open inventory.Opener) platform.Nodes {
	return &nodes{sessions: sessions, open: open}
}

// Open implements platform.Nodes. An inventory has no load balancers.
func (n *nodes) Open(ctx context.Context, r platform.NodesRequest) (_ platform.NodeSite, err error) {
	defer platform.NameSite(r.Site.Name, &err)
	if r.Site.Metal == nil {
		return platform.NodeSite{}, platform.NewError(platform.ClassConfiguration, "the site has no metal block")
	}
	m := &machines{nodes: n, owner: owner.Owner{Shoot: r.Shoot, Site: r.Site.Name}}
	m.request = inventory.Request{
		Options:      inventory.Options{Owner: m.owner},
		Connection:   r.Site.Metal.Connection,
		Credentials:  r.Credentials,
		NamespaceUID: r.Site.Metal.NamespaceUID,
	}
	if m.zones, err = newZones(r.Shoot, r.Site.Metal.Zones); err != nil {
		return platform.NodeSite{}, err
	}
	_, hosts, err := m.hosts(ctx)
	if err != nil {
		return platform.NodeSite{}, err
	}
	m.hasProviderID = hosts.HasProviderID
	return platform.NodeSite{Machines: m}, hosts.Check(ctx)
}

// machines are the hosts of the site that are machines of the shoot. They are read without a cache, so that what is not found does not
// exist.
type machines struct {
	*nodes
	request       inventory.Request
	owner         owner.Owner
	zones         zones
	hasProviderID func(string) bool
}

// hosts opens the inventory of the site. Each call does so, because sessions that are idle are closed.
func (m *machines) hosts(ctx context.Context) (*kubernetes.Session, inventory.Inventory, error) {
	return m.open.Open(ctx, m.sessions, m.request)
}

// HasProviderID implements platform.NodeMachines.
func (m *machines) HasProviderID(providerID string) bool {
	return m.hasProviderID(providerID)
}

// Exists implements platform.NodeMachines.
func (m *machines) Exists(ctx context.Context, node *corev1.Node) (bool, error) {
	found, err := m.find(ctx, node)
	return found != nil, platform.InSite(m.owner.Site, err)
}

// ShutDown implements platform.NodeMachines.
func (m *machines) ShutDown(ctx context.Context, node *corev1.Node) (_ bool, err error) {
	defer platform.NameSite(m.owner.Site, &err)
	found, err := m.find(ctx, node)
	if err != nil {
		return false, err
	}
	if found == nil {
		return false, missing(node)
	}
	return found.Off, nil
}

// Describe implements platform.NodeMachines.
func (m *machines) Describe(ctx context.Context, node *corev1.Node) (_ platform.NodeMachine, err error) {
	defer platform.NameSite(m.owner.Site, &err)
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
	addresses, err := m.addresses(ctx, node, found)
	if err != nil {
		return platform.NodeMachine{}, err
	}
	machine := platform.NodeMachine{
		ProviderID: found.ProviderID,
		Type:       instanceType(found),
		Zones:      m.zones.of(found, node),
		Addresses:  addresses,
	}
	if !found.Provisioned.IsZero() {
		machine.Birth = platform.BirthTimes{platform.BirthProvisioned: found.Provisioned}
	}
	return machine, nil
}

// find returns the host with the node's provider ID, nil if the inventory says that the machine of that ID has none. A host of another
// node or site is an error.
func (m *machines) find(ctx context.Context, node *corev1.Node) (*inventory.Host, error) {
	if !m.HasProviderID(node.Spec.ProviderID) {
		return nil, platform.NewError(platform.ClassConflict, "node %q: provider ID %q is not one of the inventory", node.Name,
			node.Spec.ProviderID)
	}
	_, hosts, err := m.hosts(ctx)
	if err != nil {
		return nil, err
	}
	found, err := hosts.Find(ctx, "", node.Spec.ProviderID)
	if found == nil || err != nil {
		return nil, err
	}
	if site := found.Labels[owner.LabelSite]; site != "" && site != m.owner.Site {
		return nil, platform.NewError(platform.ClassConflict, "host %q of machine %q belongs to site %q", found.Name, found.Machine, site)
	}
	if nodeName(found) != node.Name {
		return nil, platform.NewError(platform.ClassConflict, "host %q of machine %q is node %q, not %q", found.Name, found.Machine,
			nodeName(found), node.Name)
	}
	return found, nil
}

// findJoining returns the host whose machine was given the name of the node, nil if there is none. It must have the system UUID that the
// node reports, if the inventory knows it.
func (m *machines) findJoining(ctx context.Context, node *corev1.Node) (*inventory.Host, error) {
	_, hosts, err := m.hosts(ctx)
	if err != nil {
		return nil, err
	}
	candidates, err := hosts.FindByNodeName(ctx, node.Name)
	if err != nil {
		return nil, err
	}
	var found *inventory.Host
	for i := range candidates {
		candidate := &candidates[i]
		switch {
		case nodeName(candidate) != node.Name:
		case found != nil && found.ProviderID != candidate.ProviderID:
			return nil, platform.NewError(platform.ClassConflict, "node %q: hosts %q and %q both have that name", node.Name, found.Name,
				candidate.Name)
		default:
			found = candidate
		}
	}
	if found != nil && !mayHave(found, &node.Status.NodeInfo) {
		return nil, platform.NewError(platform.ClassConflict, "node %q reports the system UUID %q, but its host %q has %q",
			node.Name, node.Status.NodeInfo.SystemUUID, found.Name, found.SystemUUID)
	}
	return found, nil
}

func missing(node *corev1.Node) error {
	return platform.NewError(platform.ClassNotFound, "no host is the machine of node %q (provider ID %q)", node.Name, node.Spec.ProviderID)
}
