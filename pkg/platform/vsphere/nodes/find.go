// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// byProviderID returns the virtual machine with the node's provider ID, nil if there is none.
func (m *machines) byProviderID(ctx context.Context, node *corev1.Node) (*virtualMachine, error) {
	return m.byUUID(ctx, node, strings.TrimPrefix(node.Spec.ProviderID, providerIDPrefix))
}

// bySystemUUID returns the virtual machine whose UUID the node's operating system reports, nil if there is none. Old firmware reports
// the first three fields with their bytes in reverse order.
func (m *machines) bySystemUUID(ctx context.Context, node *corev1.Node) (*virtualMachine, error) {
	id, err := uuid.Parse(node.Status.NodeInfo.SystemUUID)
	if err != nil {
		return nil, platform.NewError(platform.ClassTransient, "node %q reports no system UUID: %w", node.Name, err)
	}
	for _, candidate := range []uuid.UUID{id, reversed(id)} {
		if vm, err := m.byUUID(ctx, node, candidate.String()); err != nil || vm != nil {
			return vm, err
		}
	}
	return nil, nil
}

func reversed(id uuid.UUID) uuid.UUID {
	binary.LittleEndian.PutUint32(id[0:4], binary.BigEndian.Uint32(id[0:4]))
	binary.LittleEndian.PutUint16(id[4:6], binary.BigEndian.Uint16(id[4:6]))
	binary.LittleEndian.PutUint16(id[6:8], binary.BigEndian.Uint16(id[6:8]))
	return id
}

// byUUID returns the virtual machine with the UUID, nil if there is none. One that was not made for the site, or has another name
// than the node, is an error: a node says by itself which UUID it has.
func (m *machines) byUUID(ctx context.Context, node *corev1.Node, id string) (*virtualMachine, error) {
	session, err := m.session(ctx)
	if err != nil {
		return nil, err
	}
	found, err := session.FindMachines(ctx, id)
	if err != nil {
		return nil, err
	}
	var (
		ours    []*virtualMachine
		foreign error
	)
	for _, reference := range found {
		vm, err := m.read(ctx, session, reference, node)
		switch {
		case platform.ClassOf(err) == platform.ClassConflict:
			foreign = err
		case err != nil:
			return nil, err
		case vm != nil:
			ours = append(ours, vm)
		}
	}
	if len(ours) == 0 {
		return nil, foreign
	}
	vm, ok := client.Choose(ours, m.inPlace, func(vm *virtualMachine) bool { return vm.Name == node.Name })
	if !ok {
		return nil, platform.NewError(platform.ClassConflict, "%d virtual machines have the UUID %s and the marks of node %q", len(ours), id,
			node.Name)
	}
	return vm, nil
}

// read returns the virtual machine, nil if there is none any more. One that is not that of the node is an error, whose class is
// ClassConflict.
func (m *machines) read(ctx context.Context, session *client.Session, reference types.ManagedObjectReference,
	node *corev1.Node) (*virtualMachine, error) {
	var contents []types.ObjectContent
	err := property.DefaultCollector(session.VIM()).Retrieve(ctx, []types.ManagedObjectReference{reference}, properties, &contents)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	vm := &virtualMachine{}
	vm.VirtualMachine, vm.extraConfig, err = client.LoadVirtualMachine(contents[0])
	if err != nil {
		return nil, err
	}
	if !m.owner.OwnsVM(vm.extraConfig) {
		return nil, platform.NewError(platform.ClassConflict, "virtual machine %q (%s, %s) was not made for shoot %q and site %q",
			vm.Name, reference.Value, vm.Runtime.ConnectionState, m.owner.Shoot, m.owner.Site)
	}
	// Somebody may have renamed it.
	if vm.Name != node.Name && (vm.Config == nil || m.owner.MachineOf(vm.Config.Uuid, node.Name) == "") {
		return nil, platform.NewError(platform.ClassConflict, "virtual machine %q (%s) is not that of node %q", vm.Name, reference.Value,
			node.Name)
	}
	return vm, nil
}

// inPlace reports whether the virtual machine is in one of the shoot's folders.
func (m *machines) inPlace(vm *virtualMachine) bool {
	return vm.Parent != nil && slices.ContainsFunc(m.request.Site.VSphere.Zones, func(zone v1alpha1.VSphereCloudControllerZone) bool {
		return zone.Folder == vm.Parent.Value
	})
}

// proveAbsence returns nil if the virtual machine of the node, which was not found, does not exist, and an error if the credentials
// may just not see it, or if it is there by its name. Without folders in the configuration there is no such proof.
func (m *machines) proveAbsence(ctx context.Context, node *corev1.Node) error {
	session, err := m.session(ctx)
	if err != nil {
		return err
	}
	var folders []string
	for _, zone := range m.request.Site.VSphere.Zones {
		if zone.Folder == "" || slices.Contains(folders, zone.Folder) {
			continue
		}
		folders = append(folders, zone.Folder)
		if err := session.CheckFolder(ctx, m.request.Site.VSphere.Connection, zone.Folder); err != nil {
			return platform.NewError(platform.ClassOf(err), "zone %q: the virtual machine of node %q was not found, but may exist: %w", zone.Name,
				node.Name, err)
		}
		found, err := session.FindChild(ctx, zone.Folder, node.Name)
		if err != nil {
			return err
		}
		if found == nil {
			continue
		}
		vm, err := m.read(ctx, session, *found, node)
		switch {
		case platform.ClassOf(err) == platform.ClassConflict:
		case err != nil:
			return err
		case vm != nil && (node.Spec.ProviderID == "" || vm.providerID() == node.Spec.ProviderID):
			return platform.NewError(platform.ClassTransient,
				"zone %q: the vCenter finds the virtual machine of node %q by its name, but not by its UUID", zone.Name, node.Name)
		}
	}
	return nil
}

// zonesOf returns the zones whose resource pool the virtual machine is in or, if somebody moved it to another one, whose cluster.
func (m *machines) zonesOf(ctx context.Context, vm *virtualMachine) ([]string, error) {
	if vm.ResourcePool == nil {
		return nil, platform.NewError(platform.ClassTransient, "virtual machine %q is in no resource pool", vm.Name)
	}
	var zones []string
	for _, zone := range m.request.Site.VSphere.Zones {
		if zone.ResourcePool == vm.ResourcePool.Value {
			zones = append(zones, zone.Name)
		}
	}
	if len(zones) > 0 {
		return zones, nil
	}

	session, err := m.session(ctx)
	if err != nil {
		return nil, err
	}
	var pool mo.ResourcePool
	if err := property.DefaultCollector(session.VIM()).RetrieveOne(ctx, *vm.ResourcePool, []string{"owner"}, &pool); err != nil {
		return nil, client.Classify(err)
	}
	for _, zone := range m.request.Site.VSphere.Zones {
		if zone.ComputeCluster == pool.Owner.Value {
			zones = append(zones, zone.Name)
		}
	}
	return zones, nil
}
