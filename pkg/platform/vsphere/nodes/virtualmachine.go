// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// properties are read of a virtual machine.
var properties = []string{
	"name", "parent", "config.uuid", "config.hardware.numCPU", "config.hardware.memoryMB", "resourcePool",
	"runtime.powerState", "runtime.connectionState", "summary.runtime.bootTime", "guest.net",
	client.ExtraConfigProperty(owner.KeyShoot), client.ExtraConfigProperty(owner.KeySite),
}

// byProviderID returns the virtual machine with the node's provider ID, or nil if there is none.
func (m *machines) byProviderID(ctx context.Context, node *corev1.Node) (*client.VirtualMachine, error) {
	return m.byUUID(ctx, node, strings.TrimPrefix(node.Spec.ProviderID, client.ProviderIDPrefix))
}

// bySystemUUID returns the virtual machine whose UUID the node's operating system reports, or nil if there is none. Old firmware reports
// the first three fields with their bytes in reverse order.
func (m *machines) bySystemUUID(ctx context.Context, node *corev1.Node) (*client.VirtualMachine, error) {
	id, err := uuid.Parse(node.Status.NodeInfo.SystemUUID)
	if err != nil {
		return nil, platform.NewError(platform.ClassTransient, "node %q reports no system UUID: %w", node.Name, err)
	}
	for _, candidate := range []uuid.UUID{id, platform.ReversedUUID(id)} {
		if vm, err := m.byUUID(ctx, node, candidate.String()); err != nil || vm != nil {
			return vm, err
		}
	}
	return nil, nil
}

// byUUID returns the virtual machine with the UUID, or nil if there is none. It is an error if that does not belong to the site or the
// node, because the UUID is what the node itself reports.
func (m *machines) byUUID(ctx context.Context, node *corev1.Node, id string) (*client.VirtualMachine, error) {
	session, err := m.session(ctx)
	if err != nil {
		return nil, err
	}
	return session.FindByUUID(ctx, id, m.search(node))
}

func (m *machines) search(node *corev1.Node) client.Search {
	return client.Search{Name: node.Name, InFolder: m.inFolder, Properties: properties, Check: func(vm *client.VirtualMachine) error {
		if !m.owner.OwnsVM(vm.ExtraConfig) {
			return platform.NewError(platform.ClassConflict, "%w: virtual machine %q (%s, %s) was not made for shoot %q and site %q",
				client.ErrForeign, vm.Name, vm.Self.Value, vm.Runtime.ConnectionState, m.owner.Shoot, m.owner.Site)
		}
		// It may have been renamed.
		if vm.Name != node.Name && (vm.Config == nil || m.owner.MachineOf(vm.Config.Uuid, node.Name) == "") {
			return platform.NewError(platform.ClassConflict, "%w: virtual machine %q (%s) is not that of node %q", client.ErrForeign, vm.Name,
				vm.Self.Value, node.Name)
		}
		return nil
	}}
}

// inFolder reports whether the virtual machine is in one of the shoot's folders.
func (m *machines) inFolder(vm *client.VirtualMachine) bool {
	return vm.Parent != nil && slices.ContainsFunc(m.request.Site.VSphere.Zones, func(zone v1alpha1.VSphereCloudControllerZone) bool {
		return zone.Folder == vm.Parent.Value
	})
}

// proveAbsence returns nil if the virtual machine of the node, which was not found, does not exist. It returns an error if the credentials
// may not see it, or if it is found by its name. Without folders in the configuration, there is no such proof.
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
		vm, err := session.FindByName(ctx, zone.Folder, m.search(node))
		switch {
		case errors.Is(err, client.ErrForeign):
		case err != nil:
			return err
		case vm != nil && (node.Spec.ProviderID == "" || vm.ProviderID() == node.Spec.ProviderID):
			return platform.NewError(platform.ClassTransient,
				"zone %q: the vCenter finds the virtual machine of node %q by its name, but not by its UUID", zone.Name, node.Name)
		}
	}
	return nil
}

// zonesOf returns the zones whose resource pool the virtual machine is in or, if it was moved to another one, the zones of its cluster.
func (m *machines) zonesOf(ctx context.Context, vm *client.VirtualMachine) ([]string, error) {
	if vm.ResourcePool == nil {
		return nil, platform.NewError(platform.ClassTransient, "virtual machine %q is not in a resource pool", vm.Name)
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

// instanceType returns the size, because vSphere has no names for sizes.
func instanceType(vm *client.VirtualMachine) string {
	if vm.Config == nil {
		return ""
	}
	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dmb", vm.Config.Hardware.NumCPU, vm.Config.Hardware.MemoryMB)
}
