// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// FindTemplate returns the template with the inventory path, with its version and disks. It must not be a virtual machine, which may belong
// to someone else, as may the content of its disks.
func FindTemplate(ctx context.Context, session *client.Session, path string) (*client.VirtualMachine, error) {
	reference, err := inventory.Find(ctx, session.VIM(), inventory.Template, path)
	if err != nil {
		return nil, err
	}
	vm, err := session.ReadVirtualMachine(ctx, reference,
		[]string{"config.template", "config.version", "config.hardware.device", client.ExtraConfigProperty(owner.KeyShoot)})
	switch {
	case err != nil:
		return nil, err
	case vm == nil || vm.Config == nil:
		return nil, platform.NewError(platform.ClassTransient, "template %q has no configuration", path)
	case !vm.Config.Template, vm.ExtraConfig[owner.KeyShoot] != "":
		return nil, platform.NewError(platform.ClassConfiguration,
			"%q is a virtual machine, not a template; convert it to a template", path)
	}
	if err := CheckDisks(vm.Config.Hardware.Device); err != nil {
		return nil, platform.NewError(platform.ClassOf(err), "template %q: %w", path, err)
	}
	vm.Self = reference
	return vm, nil
}

// RootDiskGiB returns the size of the first disk of a template, rounded up, zero if it has none.
func RootDiskGiB(template *client.VirtualMachine) int64 {
	disks := disksOf(template.Config.Hardware.Device)
	if len(disks) == 0 {
		return 0
	}
	return (disks[0].CapacityInKB + kibPerGiB - 1) / kibPerGiB
}
