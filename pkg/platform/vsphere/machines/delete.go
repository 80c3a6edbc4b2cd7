// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

const (
	// shutdownGrace is how long a guest has to shut down before it is turned off. It is drained already.
	shutdownGrace = 20 * time.Second
	// shutdownLook is how often it is looked whether it has.
	shutdownLook = time.Second
)

// Delete implements platform.Machines.
func (m *machines) Delete(ctx context.Context, request platform.MachineRequest) error {
	c, err := m.call(ctx, request)
	if err != nil {
		return platform.InSite(request.Spec.Site, err)
	}
	return platform.InSite(request.Spec.Site, c.delete(ctx))
}

func (c *call) delete(ctx context.Context) error {
	if creation := c.creations.find(c.key()); creation != nil {
		// What is still being made would appear after it was not found.
		creation.giveUp()
		if !creation.wait(ctx, createWait) {
			return platform.NewProgress("virtual machine %q is still being made", c.request.Name)
		}
		c.creations.forget(creation)
	}
	vm, err := c.findToDelete(ctx)
	if errors.Is(err, errForeign) && c.request.ProviderID == "" {
		return nil // the name is taken by one that is not ours, so there is none of ours
	}
	if err != nil {
		return err
	}
	if vm == nil {
		return c.proveAbsence(ctx)
	}
	if vm.on() {
		c.shutDown(ctx, vm)
	}
	if err := c.destroy(ctx, vm); err != nil {
		return err
	}
	c.keepApart(ctx, types.ManagedObjectReference{})
	return nil
}

// findToDelete finds the virtual machine by its UUID or, if there is none with it, by its name.
func (c *call) findToDelete(ctx context.Context) (*virtualMachine, error) {
	if c.request.ProviderID != "" {
		if vm, err := c.findByID(ctx); err != nil || vm != nil {
			return vm, err
		}
		vm, err := c.findByName(ctx)
		if errors.Is(err, errForeign) {
			return nil, nil
		}
		return vm, err
	}
	return c.findByName(ctx)
}

// shutDown lets the guest shut down if its tools run. That it does not is no reason to keep it.
func (c *call) shutDown(ctx context.Context, vm *virtualMachine) {
	if vm.Guest == nil || vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
		return
	}
	if err := object.NewVirtualMachine(c.session.VIM(), vm.reference).ShutdownGuest(ctx); err != nil {
		klog.V(2).ErrorS(client.Classify(err), "Guest does not shut down, it is turned off", "site", c.request.Spec.Site, "machine", vm.Name)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownGrace)
	defer cancel()
	ticker := time.NewTicker(shutdownLook)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		var state mo.VirtualMachine
		if err := property.DefaultCollector(c.session.VIM()).RetrieveOne(ctx, vm.reference, []string{"runtime.powerState"}, &state); err != nil {
			return
		}
		if vm.Runtime.PowerState = state.Runtime.PowerState; !vm.on() {
			return
		}
	}
}

// destroy turns the virtual machine off, detaches the disks that are not its own, and deletes it with all others.
func (c *call) destroy(ctx context.Context, vm *virtualMachine) error {
	machine := object.NewVirtualMachine(c.session.VIM(), vm.reference)
	if vm.on() {
		task, err := machine.PowerOff(ctx)
		if err == nil {
			_, err = c.session.Wait(ctx, task.Reference())
		}
		if err = client.IgnoreNotFound(err); err != nil && !client.IsInvalidPowerState(err) {
			return err
		}
	}
	if err := c.detach(ctx, vm); err != nil {
		return err
	}
	task, err := machine.Destroy(ctx)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	_, err = c.session.Wait(ctx, task.Reference())
	return err
}

// detach detaches the disks that would otherwise be deleted with the virtual machine and are not its own, such as persistent volumes.
func (c *call) detach(ctx context.Context, vm *virtualMachine) error {
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, disk := range disksOf(vm.devices()) {
		if vm.isForeign(disk) {
			changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: disk})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return client.IgnoreNotFound(c.reconfigure(ctx, vm, types.VirtualMachineConfigSpec{DeviceChange: changes}))
}

// isForeign reports whether a disk is not one that the virtual machine was made with: a First Class Disk, as all volumes of the
// CSI driver are, one that is independent of snapshots, or one whose file is in another folder.
func (v *virtualMachine) isForeign(disk *types.VirtualDisk) bool {
	if disk.VDiskId != nil {
		return true
	}
	mode, file := backingOf(disk)
	switch types.VirtualDiskMode(mode) {
	case types.VirtualDiskModeIndependent_persistent, types.VirtualDiskModeIndependent_nonpersistent:
		return true
	}
	var disks, home object.DatastorePath
	if v.Config == nil || !disks.FromString(file) || !home.FromString(v.Config.Files.VmPathName) {
		return true
	}
	folder := path.Dir(disks.Path)
	sameFolder := disks.Datastore == home.Datastore && folder == path.Dir(home.Path)
	return !sameFolder && path.Base(folder) != v.Name
}

func backingOf(disk *types.VirtualDisk) (mode, file string) {
	switch backing := disk.Backing.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		return backing.DiskMode, backing.FileName
	case *types.VirtualDiskSeSparseBackingInfo:
		return backing.DiskMode, backing.FileName
	case *types.VirtualDiskSparseVer2BackingInfo:
		return backing.DiskMode, backing.FileName
	case types.BaseVirtualDeviceFileBackingInfo:
		return "", backing.GetVirtualDeviceFileBackingInfo().FileName
	default:
		return "", ""
	}
}
