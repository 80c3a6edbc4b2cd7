// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	// shutdownGrace is how long a guest has to shut down before it is turned off. It is drained already.
	shutdownGrace = 20 * time.Second
	// shutdownLook is how often it is looked whether it has.
	shutdownLook = time.Second
)

// numbered is what may follow the name of a virtual machine in that of its folder.
var numbered = regexp.MustCompile(`^(_[0-9]+)?$`)

// Delete implements platform.Machines.
func (m *machines) Delete(ctx context.Context, request platform.MachineRequest) error {
	c, err := m.call(ctx, request)
	if err != nil {
		return platform.InSite(request.Spec.Site, err)
	}
	return platform.InSite(request.Spec.Site, c.delete(ctx))
}

// delete begins the deletion of the virtual machine, or waits for one that goes on. A guest that takes its time, and a vCenter that does,
// keep no worker that other sites need.
func (c *call) delete(ctx context.Context) error {
	start := time.Now()
	if creation := c.creations.find(c.key()); creation != nil {
		// What is still being made would appear after it was not found.
		creation.giveUp()
		if !creation.wait(ctx, createWait) {
			return platform.NewProgress("virtual machine %q is still being made", c.request.Name)
		}
		c.creations.forget(creation)
	}
	key := deletionKey{owner: c.owner, uuid: c.uuid()}
	deletion := c.deletions.find(key)
	if deletion == nil {
		vm, err := c.findToDelete(ctx)
		if err != nil {
			return err
		}
		if vm == nil {
			return c.proveEnd(ctx)
		}
		deletion = c.deletions.begin(ctx, key, c.request.Once, func(ctx context.Context) error { return c.end(ctx, vm) })
	}
	if !deletion.wait(ctx, deleteWait-time.Since(start)) {
		return platform.NewProgress("virtual machine %q is being deleted", c.request.Name)
	}
	c.deletions.forget(key, deletion)
	return deletion.err
}

// proveEnd is proveAbsence for a machine that nobody asks for again: a clone that a former process began would appear later.
func (c *call) proveEnd(ctx context.Context) error {
	cloning, err := c.session.Cloning(ctx, c.spec.Folder)
	if err != nil {
		return err
	}
	if slices.Contains(cloning, c.request.Name) {
		return platform.NewProgress("virtual machine %q is still being made", c.request.Name)
	}
	return c.proveAbsence(ctx)
}

// findToDelete is find for which one that has the name and is not ours is none.
func (c *call) findToDelete(ctx context.Context) (*virtualMachine, error) {
	vm, err := c.findByID(ctx)
	if err != nil || vm != nil {
		return vm, err
	}
	if vm, err = c.findByName(ctx); errors.Is(err, errForeign) {
		return nil, nil
	}
	return vm, err
}

// end shuts the virtual machine down and deletes it.
func (c *call) end(ctx context.Context, vm *virtualMachine) error {
	if vm.on() {
		c.shutDown(ctx, vm)
	}
	if err := c.remove(ctx, vm); err != nil {
		return err
	}
	c.keepApart(ctx, types.ManagedObjectReference{})
	return nil
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

// remove turns the virtual machine off, detaches the disks that are not its own, and deletes it with all others.
func (c *call) remove(ctx context.Context, vm *virtualMachine) error {
	if err := c.turnOff(ctx, vm); err != nil {
		return err
	}
	if err := c.detach(ctx, vm); err != nil {
		return err
	}
	return c.destroy(ctx, vm)
}

func (c *call) turnOff(ctx context.Context, vm *virtualMachine) error {
	if !vm.on() {
		return nil
	}
	task, err := object.NewVirtualMachine(c.session.VIM(), vm.reference).PowerOff(ctx)
	if err == nil {
		_, err = c.session.Wait(ctx, task.Reference())
	}
	if err = client.IgnoreNotFound(err); client.IsInvalidPowerState(err) {
		return nil
	}
	return err
}

// destroy deletes the virtual machine with all disks that it has.
func (c *call) destroy(ctx context.Context, vm *virtualMachine) error {
	task, err := object.NewVirtualMachine(c.session.VIM(), vm.reference).Destroy(ctx)
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
	return !sameFolder && !v.isHome(path.Base(folder))
}

// isHome reports whether a folder of a datastore with the name is one of the virtual machine: a vCenter names it like the virtual
// machine was called first, and appends a number where there is such a folder already.
func (v *virtualMachine) isHome(folder string) bool {
	return slices.ContainsFunc([]string{v.Name, v.extraConfig[owner.KeyMachine]}, func(name string) bool {
		suffix, ok := strings.CutPrefix(folder, name)
		return ok && name != "" && numbered.MatchString(suffix)
	})
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
