// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	"context"
	"errors"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// findTemplate returns the template with the inventory path. It must not be a virtual machine, which may belong to someone else, as may the
// content of its disks.
func findTemplate(ctx context.Context, session *client.Session, path string) (types.ManagedObjectReference, error) {
	reference, err := inventory.Find(ctx, session.VIM(), inventory.Template, path)
	if err != nil {
		return reference, err
	}
	vm, err := session.ReadVirtualMachine(ctx, reference,
		[]string{"config.template", "config.hardware.device", client.ExtraConfigProperty(owner.KeyShoot)})
	switch {
	case err != nil:
		return reference, err
	case vm == nil || vm.Config == nil:
		return reference, platform.NewError(platform.ClassTransient, "template %q has no configuration", path)
	case !vm.Config.Template, vm.ExtraConfig[owner.KeyShoot] != "":
		return reference, platform.NewError(platform.ClassConfiguration,
			"%q is a virtual machine, not a template; convert it to a template", path)
	}
	if err := machines.CheckDisks(vm.Config.Hardware.Device); err != nil {
		return reference, platform.NewError(platform.ClassOf(err), "template %q: %w", path, err)
	}
	return reference, nil
}

// findTags returns the IDs of tags, which are named <category>/<tag>.
func findTags(ctx context.Context, session *client.Session, names []string) ([]string, error) {
	var (
		manager = session.Tags()
		ids     []string
		errs    []error
	)
	for _, name := range names {
		categoryName, tagName, _ := strings.Cut(name, "/")
		category, err := inventory.LookupCategory(ctx, manager, categoryName)
		if err != nil {
			return nil, err
		}
		if category == "" {
			errs = append(errs, platform.NewError(platform.ClassConfiguration,
				"tag %q: category %q does not exist or is not visible to the credentials", name, categoryName))
			continue
		}
		id, err := inventory.LookupTag(ctx, manager, category, tagName)
		if err != nil {
			return nil, err
		}
		if id == "" {
			errs = append(errs, platform.NewError(platform.ClassConfiguration, "tag %q does not exist or is not visible to the credentials", name))
			continue
		}
		ids = append(ids, id)
	}
	return ids, errors.Join(errs...)
}
