// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"net"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// marks are the properties that tell whose a virtual machine is. Single entries of the extra configuration are cheap; all of it
// holds the user data.
var marks = []string{client.ExtraConfigProperty(owner.KeyShoot), client.ExtraConfigProperty(owner.KeySite)}

// details are the properties of one virtual machine.
var details = append([]string{
	"name", "config.uuid", "config.template", "config.hardware", "config.memoryReservationLockedToMax", "config.files.vmPathName",
	"runtime.powerState", "runtime.connectionState", "guest.toolsRunningStatus", "guest.net",
}, marks...)

// virtualMachine is what the vCenter says about a virtual machine.
type virtualMachine struct {
	mo.VirtualMachine

	reference   types.ManagedObjectReference
	extraConfig map[string]string
}

func newVirtualMachine(content types.ObjectContent) (*virtualMachine, error) {
	vm := &virtualMachine{reference: content.Obj}
	var err error
	vm.VirtualMachine, vm.extraConfig, err = client.LoadVirtualMachine(content)
	return vm, err
}

func (v *virtualMachine) on() bool {
	return v.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
}

func (v *virtualMachine) devices() object.VirtualDeviceList {
	if v.Config == nil {
		return nil
	}
	return v.Config.Hardware.Device
}

func (v *virtualMachine) machine() platform.Machine {
	m := platform.Machine{
		Name:      v.Name,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: v.Name}},
	}
	if v.Config != nil {
		m.ProviderID = providerIDPrefix + strings.ToLower(v.Config.Uuid)
	}
	if v.Guest != nil {
		for _, card := range v.Guest.Net {
			for _, address := range card.IpAddress {
				if ip := net.ParseIP(address); ip != nil && ip.IsGlobalUnicast() {
					m.Addresses = append(m.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
				}
			}
		}
	}
	return m
}

// findByID returns the virtual machine with the UUID of the request, nil if there is none. One that is not ours is an error.
func (c *call) findByID(ctx context.Context) (*virtualMachine, error) {
	found, err := object.NewSearchIndex(c.session.VIM()).FindByUuid(ctx, nil, c.uuid(), true, nil)
	if err != nil || found == nil {
		return nil, searchError(err)
	}
	return c.read(ctx, found.Reference())
}

// findByName returns the virtual machine with the name of the request in the shoot's folder, wherever somebody moved that, nil if
// there is none. One that is not ours is an error.
func (c *call) findByName(ctx context.Context) (*virtualMachine, error) {
	folder := reference("Folder", c.spec.Folder)
	found, err := object.NewSearchIndex(c.session.VIM()).FindChild(ctx, folder, c.request.Name)
	if client.IsMissing(err, folder) {
		return nil, nil
	}
	if err != nil || found == nil {
		return nil, searchError(err)
	}
	return c.read(ctx, found.Reference())
}

// proveAbsence returns nil if what was not found does not exist, and an error if the credentials may just not see it.
func (c *call) proveAbsence(ctx context.Context) error {
	if err := c.session.CheckFolder(ctx, c.spec.Folder); err != nil {
		return platform.NewError(platform.ClassOf(err), "virtual machine %q was not found, but may be in %q: %w", c.request.Name, c.spec.FolderPath, err)
	}
	return nil
}

// searchError classifies an error of a search: what is not found is the search itself, and never what is searched for.
func searchError(err error) error {
	if err = client.Classify(err); client.IsNotFound(err) {
		return platform.NewError(platform.ClassTransient, "virtual machines cannot be searched for: %w", err)
	}
	return err
}

// read returns the virtual machine, nil if there is none any more.
func (c *call) read(ctx context.Context, reference types.ManagedObjectReference) (*virtualMachine, error) {
	var contents []types.ObjectContent
	err := property.DefaultCollector(c.session.VIM()).Retrieve(ctx, []types.ManagedObjectReference{reference}, details, &contents)
	if err != nil || len(contents) == 0 {
		return nil, client.IgnoreNotFound(err)
	}
	vm, err := newVirtualMachine(contents[0])
	if err != nil {
		return nil, err
	}
	if vm.Config == nil {
		return nil, platform.NewError(platform.ClassTransient,
			"virtual machine %q (%s, %s) has no configuration: it is still being made, or the vCenter or the credentials cannot read it",
			vm.Name, reference.Value, vm.Runtime.ConnectionState)
	}
	if !c.owner.OwnsVM(vm.extraConfig) {
		return nil, platform.NewError(platform.ClassConflict, "%w: virtual machine %q (%s, %s) does not name shoot %q and site %q",
			errForeign, vm.Name, reference.Value, vm.Runtime.ConnectionState, c.owner.Shoot, c.owner.Site)
	}
	return vm, nil
}
