// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const extraConfigPrefix = "config.extraConfig["

// ExtraConfigProperty is the property with one entry of the extra configuration of a virtual machine.
func ExtraConfigProperty(key string) string {
	return fmt.Sprintf("%s%q]", extraConfigPrefix, key)
}

// LoadVirtualMachine returns the properties of a virtual machine, and the single entries of its extra configuration, which are no
// fields of a virtual machine. Errors are classified.
func LoadVirtualMachine(content types.ObjectContent) (vm mo.VirtualMachine, extraConfig map[string]string, err error) {
	extraConfig = map[string]string{}
	var fields []types.DynamicProperty
	for _, p := range content.PropSet {
		if !strings.HasPrefix(p.Name, extraConfigPrefix) {
			fields = append(fields, p)
			continue
		}
		if option, ok := p.Val.(types.OptionValue); ok {
			extraConfig[option.Key] = fmt.Sprint(option.Value)
		}
	}
	content.PropSet = fields
	content.MissingSet = nil // what a virtual machine does not have yet is no error
	err = Classify(mo.LoadObjectContent([]types.ObjectContent{content}, &vm))
	return vm, extraConfig, err
}

// FindMachines returns the virtual machines with the UUID. Errors are classified: what is not found is the search itself, and never what
// is searched for.
func (s *Session) FindMachines(ctx context.Context, uuid string) ([]types.ManagedObjectReference, error) {
	found, err := methods.FindAllByUuid(ctx, s.vim, &types.FindAllByUuid{This: *s.vim.ServiceContent.SearchIndex, Uuid: uuid, VmSearch: true})
	if err != nil {
		return nil, searchError(err)
	}
	for _, reference := range found.Returnval {
		if reference.Type != "VirtualMachine" {
			return nil, platform.NewError(platform.ClassTransient, "the vCenter finds %s and no virtual machine",
				platform.Printable(reference.String()))
		}
	}
	return found.Returnval, nil
}

// FindChild returns the object with the name in the folder, wherever somebody moved that, nil if there is none. Errors are those of
// FindMachines.
func (s *Session) FindChild(ctx context.Context, folder, name string) (*types.ManagedObjectReference, error) {
	in := types.ManagedObjectReference{Type: "Folder", Value: folder}
	found, err := methods.FindChild(ctx, s.vim, &types.FindChild{This: *s.vim.ServiceContent.SearchIndex, Entity: in, Name: name})
	if IsMissing(err, in) {
		return nil, nil
	}
	if err != nil {
		return nil, searchError(err)
	}
	return found.Returnval, nil
}

func searchError(err error) error {
	if err = Classify(err); IsNotFound(err) {
		return platform.NewError(platform.ClassTransient, "virtual machines cannot be searched for: %w", err)
	}
	return err
}

// Choose returns the one of the virtual machines that all have the UUID and the marks of one machine that is the machine: the only one
// that is where the machine should be, or else the only one with its name. Copies that are kept for disaster recovery have the same UUID
// and marks. Where it cannot be told nothing may be done to any of them.
func Choose[T any](candidates []T, inPlace, named func(T) bool) (chosen T, ok bool) {
	if len(candidates) == 1 {
		return candidates[0], true
	}
	for _, fits := range []func(T) bool{inPlace, named} {
		fitting := slices.DeleteFunc(slices.Clone(candidates), func(candidate T) bool { return !fits(candidate) })
		if len(fitting) == 1 {
			return fitting[0], true
		}
	}
	return chosen, false
}
