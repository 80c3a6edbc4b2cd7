// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// ProviderIDPrefix and the UUID of a virtual machine are the provider ID of its machine and node.
const ProviderIDPrefix = "vsphere://"

const extraConfigPrefix = "config.extraConfig["

// virtualNetworkCard is the device of network interfaces that the guest created itself, such as those of pods.
const virtualNetworkCard = -1

// ExtraConfigProperty returns the property for one entry of a virtual machine's extra configuration. Reading all of it is expensive,
// because it contains the user data.
func ExtraConfigProperty(key string) string {
	return fmt.Sprintf("%s%q]", extraConfigPrefix, key)
}

// VirtualMachine contains the properties of a virtual machine that were requested.
type VirtualMachine struct {
	mo.VirtualMachine

	// ExtraConfig contains the requested entries of the extra configuration.
	ExtraConfig map[string]string
}

// LoadVirtualMachine decodes a virtual machine. Properties that it does not have yet are empty. Errors are classified.
func LoadVirtualMachine(content types.ObjectContent) (*VirtualMachine, error) {
	vm := &VirtualMachine{ExtraConfig: map[string]string{}}
	var fields []types.DynamicProperty
	for _, p := range content.PropSet {
		if !strings.HasPrefix(p.Name, extraConfigPrefix) {
			fields = append(fields, p)
			continue
		}
		if option, ok := p.Val.(types.OptionValue); ok {
			vm.ExtraConfig[option.Key] = fmt.Sprint(option.Value)
		}
	}
	content.PropSet, content.MissingSet = fields, nil
	return vm, Classify(mo.LoadObjectContent([]types.ObjectContent{content}, &vm.VirtualMachine))
}

// ProviderID returns the provider ID, or an empty string if the virtual machine has no configuration yet.
func (v *VirtualMachine) ProviderID() string {
	if v.Config == nil {
		return ""
	}
	return ProviderIDPrefix + strings.ToLower(v.Config.Uuid)
}

// Addresses returns the addresses of the network cards that the vCenter knows, in the order of the guest.
func (v *VirtualMachine) Addresses() []corev1.NodeAddress {
	if v.Guest == nil {
		return nil
	}
	var result []corev1.NodeAddress
	for _, card := range v.Guest.Net {
		if card.DeviceConfigId == virtualNetworkCard {
			continue
		}
		for _, address := range card.IpAddress {
			if ip, err := netip.ParseAddr(address); err == nil && ip.IsGlobalUnicast() {
				result = append(result, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
			}
		}
	}
	return result
}

// ReadVirtualMachine returns the properties of a virtual machine, or nil if it does not exist. Errors are classified.
func (s *Session) ReadVirtualMachine(ctx context.Context, reference types.ManagedObjectReference,
	properties []string) (*VirtualMachine, error) {
	var contents []types.ObjectContent
	err := property.DefaultCollector(s.vim).Retrieve(ctx, []types.ManagedObjectReference{reference}, properties, &contents)
	if err != nil {
		return nil, IgnoreNotFound(err)
	}
	return LoadVirtualMachine(contents[0])
}

// ErrForeign is the error for a virtual machine with the UUID or name that belongs to someone else.
var ErrForeign = errors.New("not ours")

// Search describes the virtual machine of a machine or node.
type Search struct {
	// Name is the name of the machine or node.
	Name string
	// InFolder reports whether the virtual machine is where it should be.
	InFolder func(*VirtualMachine) bool
	// Properties are read of each candidate.
	Properties []string
	// Check returns an error that wraps ErrForeign if a candidate is not the virtual machine.
	Check func(*VirtualMachine) error
}

// FindByUUID returns the virtual machine with the UUID, or nil if there is none. If Check rejects all candidates, it returns Check's error.
// Copies that are kept for disaster recovery have the same UUID and marks: if Check accepts several candidates, the virtual machine is the
// only one in its folder, or else the only one with the name.
func (s *Session) FindByUUID(ctx context.Context, uuid string, search Search) (*VirtualMachine, error) {
	found, err := s.findMachines(ctx, uuid)
	if err != nil {
		return nil, err
	}
	var (
		accepted []*VirtualMachine
		rejected error
		names    []string
	)
	for _, reference := range found {
		vm, err := s.ReadVirtualMachine(ctx, reference, search.Properties)
		if err != nil {
			return nil, err
		}
		if vm == nil {
			continue
		}
		switch err := search.Check(vm); {
		case errors.Is(err, ErrForeign):
			rejected = err
		case err != nil:
			return nil, err
		default:
			accepted = append(accepted, vm)
			names = append(names, fmt.Sprintf("%s (%s)", vm.Name, vm.Self.Value))
		}
	}
	switch len(accepted) {
	case 0:
		return nil, rejected
	case 1:
		return accepted[0], nil
	}
	for _, fits := range []func(*VirtualMachine) bool{search.InFolder, func(vm *VirtualMachine) bool { return vm.Name == search.Name }} {
		fitting := slices.DeleteFunc(slices.Clone(accepted), func(vm *VirtualMachine) bool { return !fits(vm) })
		if len(fitting) == 1 {
			return fitting[0], nil
		}
	}
	slices.Sort(names)
	return nil, platform.NewError(platform.ClassConflict,
		"several virtual machines have the UUID and the marks of %q: %s; remove %s and %s from the extra configuration of all but the right one",
		search.Name, strings.Join(names, ", "), owner.KeyShoot, owner.KeySite)
}

// FindByName returns the virtual machine with the name in the folder, or nil if there is none.
func (s *Session) FindByName(ctx context.Context, folder string, search Search) (*VirtualMachine, error) {
	in := types.ManagedObjectReference{Type: "Folder", Value: folder}
	found, err := methods.FindChild(ctx, s.vim, &types.FindChild{This: *s.vim.ServiceContent.SearchIndex, Entity: in, Name: search.Name})
	if IsMissing(err, in) {
		return nil, nil
	}
	if err != nil {
		return nil, searchError(err)
	}
	if found.Returnval == nil {
		return nil, nil
	}
	vm, err := s.ReadVirtualMachine(ctx, *found.Returnval, search.Properties)
	if err != nil || vm == nil {
		return nil, err
	}
	if err := search.Check(vm); err != nil {
		return nil, err
	}
	return vm, nil
}

// findMachines returns the virtual machines with the UUID. Errors are classified.
func (s *Session) findMachines(ctx context.Context, uuid string) ([]types.ManagedObjectReference, error) {
	found, err := methods.FindAllByUuid(ctx, s.vim, &types.FindAllByUuid{This: *s.vim.ServiceContent.SearchIndex, Uuid: uuid, VmSearch: true})
	if err != nil {
		return nil, searchError(err)
	}
	for _, reference := range found.Returnval {
		if reference.Type != "VirtualMachine" {
			return nil, platform.NewError(platform.ClassTransient, "the vCenter returned %s, which is not a virtual machine",
				platform.Printable(reference.String()))
		}
	}
	return found.Returnval, nil
}

// searchError classifies err. ManagedObjectNotFound is about the search itself, and never about its subject.
func searchError(err error) error {
	if err = Classify(err); IsNotFound(err) {
		return platform.NewError(platform.ClassTransient, "searching for virtual machines failed: %w", err)
	}
	return err
}

// folderProperty is a property of folders that requires System.Read, as does the search for virtual machines.
const folderProperty = "configStatus"

// CheckFolder returns nil if the credentials can see the content of a folder of virtual machines: without privileges, a vCenter answers a
// search as if the folder were empty. The error is of ClassForbidden then. A folder that does not exist is empty if the vCenter is known to
// be the one that had it, because IDs are not reused.
func (s *Session) CheckFolder(ctx context.Context, connection v1alpha1.VSphereConnection, id string) error {
	folder := types.ManagedObjectReference{Type: "Folder", Value: id}
	var contents []types.ObjectContent
	err := property.DefaultCollector(s.vim).Retrieve(ctx, []types.ManagedObjectReference{folder}, []string{folderProperty}, &contents)
	if IsMissing(err, folder) {
		if connection.InstanceUUID == "" {
			return platform.NewError(platform.ClassTransient,
				"folder %s does not exist, and it is not known which vCenter had it; reconcile the Infrastructure", id)
		}
		return nil
	}
	if err = Classify(err); IsNotFound(err) {
		return platform.NewError(platform.ClassTransient, "folder %s cannot be read: %w", id, err)
	}
	if err != nil {
		return platform.NewError(platform.ClassOf(err), "folder %s cannot be read: %w", id, err)
	}
	if len(contents[0].MissingSet) > 0 {
		return platform.NewError(platform.ClassForbidden, "folder %s cannot be read: the credentials lack System.Read", id)
	}
	return nil
}
