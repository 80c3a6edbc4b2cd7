// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	"context"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// findTemplate returns the template with the inventory path. A virtual machine that is none is refused: it may be that of somebody else,
// with all that its disks hold.
func findTemplate(ctx context.Context, session *client.Session, path string) (types.ManagedObjectReference, error) {
	reference, err := inventory.Find(ctx, session.VIM(), inventory.Template, path)
	if err != nil {
		return reference, err
	}
	var contents []types.ObjectContent
	properties := []string{"config.template", "config.hardware.device", client.ExtraConfigProperty(owner.KeyShoot)}
	if err := property.DefaultCollector(session.VIM()).Retrieve(ctx, []types.ManagedObjectReference{reference}, properties,
		&contents); err != nil {
		return reference, client.Classify(err)
	}
	vm, marks, err := client.LoadVirtualMachine(contents[0])
	switch {
	case err != nil:
		return reference, err
	case vm.Config == nil:
		return reference, platform.NewError(platform.ClassTransient, "template %q has no configuration", path)
	case !vm.Config.Template, marks[owner.KeyShoot] != "":
		return reference, platform.NewError(platform.ClassConfiguration,
			"%q is a virtual machine and no template; convert it to a template", path)
	}
	if err := machines.CheckDisks(vm.Config.Hardware.Device); err != nil {
		return reference, platform.NewError(platform.ClassOf(err), "template %q: %w", path, err)
	}
	return reference, nil
}
