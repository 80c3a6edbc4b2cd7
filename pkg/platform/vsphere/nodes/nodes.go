// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package nodes maps nodes to the virtual machines of a vSphere site.
package nodes

import (
	"context"
	"regexp"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

var uuidRegexp = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

type nodes struct {
	sessions *client.Sessions
}

// New returns the Nodes part of the vSphere platform.
func New(sessions *client.Sessions) platform.Nodes {
	return &nodes{sessions: sessions}
}

// Open implements platform.Nodes. vSphere itself has no load balancers.
func (n *nodes) Open(ctx context.Context, r platform.NodesRequest) (platform.NodeSite, error) {
	if r.Site.VSphere == nil {
		return platform.NodeSite{}, platform.InSite(r.Site.Name, platform.NewError(platform.ClassConfiguration, "the site has no vsphere block"))
	}
	m := &machines{sessions: n.sessions, request: r, owner: owner.Owner{Shoot: r.Shoot, Site: r.Site.Name}}
	if _, err := m.session(ctx); err != nil {
		return platform.NodeSite{}, err
	}
	return platform.NodeSite{Machines: m}, nil
}

// machines are the virtual machines of the site.
type machines struct {
	sessions *client.Sessions
	request  platform.NodesRequest
	owner    owner.Owner
}

// session returns the session of the site. Each call gets it again, because unused sessions are ended.
func (m *machines) session(ctx context.Context) (*client.Session, error) {
	return m.sessions.Get(ctx, m.request.Site.Name, m.request.Site.VSphere.Connection, m.request.Credentials)
}

// HasProviderID implements platform.NodeMachines.
func (*machines) HasProviderID(providerID string) bool {
	id, ok := strings.CutPrefix(providerID, client.ProviderIDPrefix)
	return ok && uuidRegexp.MatchString(id)
}

// Exists implements platform.NodeMachines.
func (m *machines) Exists(ctx context.Context, node *corev1.Node) (bool, error) {
	vm, err := m.byProviderID(ctx, node)
	if err == nil && vm == nil {
		err = m.proveAbsence(ctx, node)
	}
	return vm != nil, platform.InSite(m.owner.Site, err)
}

// ShutDown implements platform.NodeMachines.
func (m *machines) ShutDown(ctx context.Context, node *corev1.Node) (_ bool, err error) {
	defer platform.NameSite(m.owner.Site, &err)
	vm, err := m.byProviderID(ctx, node)
	if err != nil {
		return false, err
	}
	if vm == nil {
		return false, m.missing(ctx, node)
	}
	return vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff, nil
}

// Describe implements platform.NodeMachines.
func (m *machines) Describe(ctx context.Context, node *corev1.Node) (_ platform.NodeMachine, err error) {
	defer platform.NameSite(m.owner.Site, &err)
	find := m.byProviderID
	if node.Spec.ProviderID == "" {
		find = m.bySystemUUID
	}
	vm, err := find(ctx, node)
	if err != nil {
		return platform.NodeMachine{}, err
	}
	if vm == nil {
		return platform.NodeMachine{}, m.missing(ctx, node)
	}
	addresses := vm.Addresses()
	if len(addresses) == 0 {
		return platform.NodeMachine{}, platform.NewError(platform.ClassTransient, "virtual machine %q: its VMware Tools report no address yet",
			vm.Name)
	}
	zones, err := m.zonesOf(ctx, vm)
	if err != nil {
		return platform.NodeMachine{}, err
	}
	machine := platform.NodeMachine{
		ProviderID: vm.ProviderID(),
		Type:       instanceType(vm),
		Zones:      zones,
		Addresses:  append(addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: node.Name}),
	}
	if powered := vm.Summary.Runtime.BootTime; powered != nil {
		machine.Birth = platform.BirthTimes{platform.BirthPowered: *powered}
	}
	return machine, nil
}

// missing returns the error for a node whose virtual machine was not found.
func (m *machines) missing(ctx context.Context, node *corev1.Node) error {
	if err := m.proveAbsence(ctx, node); err != nil {
		return err
	}
	return platform.NewError(platform.ClassNotFound, "node %q has no virtual machine (provider ID %q, system UUID %q)",
		node.Name, node.Spec.ProviderID, node.Status.NodeInfo.SystemUUID)
}
