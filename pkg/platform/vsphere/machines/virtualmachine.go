// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	// shutdownGrace is how long a guest, which is drained already, has to shut down before it is powered off.
	shutdownGrace = 20 * time.Second
	// shutdownPoll is the time between two polls for its power state.
	shutdownPoll = time.Second
)

// numbered matches what a vCenter appends to the name of a virtual machine to make the name of its folder unique.
var numbered = regexp.MustCompile(`^(_[0-9]+)?$`)

// virtualMachine is a virtual machine and the session to operate it.
type virtualMachine struct {
	*client.VirtualMachine
	session *client.Session
}

func (v *virtualMachine) isOn() bool {
	return v.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
}

func (v *virtualMachine) devices() object.VirtualDeviceList {
	if v.Config == nil {
		return nil
	}
	return v.Config.Hardware.Device
}

// machineName returns the name of the machine that the virtual machine was created for, even if it was renamed. It is empty for one that
// does not belong to a machine of the owner: a copy has all marks, but a UUID of its own. Older versions did not write the name, but the
// path of the files and the guest have it.
func (v *virtualMachine) machineName(o owner.Owner) string {
	if v.Config == nil || !o.OwnsVM(v.ExtraConfig) {
		return ""
	}
	var home object.DatastorePath
	home.FromString(v.Config.Files.VmPathName)
	names := []string{v.ExtraConfig[owner.KeyMachine], v.Name, path.Base(path.Dir(home.Path))}
	if v.Guest != nil {
		names = append(names, v.Guest.HostName)
	}
	return o.MachineOf(v.Config.Uuid, names...)
}

// machine returns the virtual machine as the machine with the name.
func (v *virtualMachine) machine(name string) platform.Machine {
	return platform.Machine{
		Name:       name,
		ProviderID: v.ProviderID(),
		Addresses:  append([]corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}, v.Addresses()...),
	}
}

func (v *virtualMachine) object() *object.VirtualMachine {
	return object.NewVirtualMachine(v.session.VIM(), v.Self)
}

func (v *virtualMachine) powerOn(ctx context.Context) error {
	if _, err := v.session.Run(ctx, v.object().PowerOn); err != nil && !client.IsInvalidPowerState(err) {
		return err
	}
	return nil
}

func (v *virtualMachine) powerOff(ctx context.Context) error {
	if !v.isOn() {
		return nil
	}
	_, err := v.session.Run(ctx, v.object().PowerOff)
	if client.IsInvalidPowerState(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

func (v *virtualMachine) reconfigure(ctx context.Context, spec types.VirtualMachineConfigSpec) error {
	_, err := v.session.Run(ctx, func(ctx context.Context) (*object.Task, error) { return v.object().Reconfigure(ctx, spec) })
	return err
}

// shutDown lets the guest shut down if its tools are running. It is best effort.
func (v *virtualMachine) shutDown(ctx context.Context) {
	if !v.isOn() || v.Guest == nil || v.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
		return
	}
	if err := v.object().ShutdownGuest(ctx); err != nil {
		klog.V(2).ErrorS(client.Classify(err), "Shutdown of guest failed, powering it off", "site", v.session.Site, "machine", v.Name)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownGrace)
	defer cancel()
	ticker := time.NewTicker(shutdownPoll)
	defer ticker.Stop()
	for v.isOn() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		current, err := v.session.ReadVirtualMachine(ctx, v.Self, []string{"runtime.powerState"})
		if err != nil || current == nil {
			return
		}
		v.Runtime.PowerState = current.Runtime.PowerState
	}
}

// remove powers the virtual machine off, detaches the disks that are not its own, and deletes it with all others.
func (v *virtualMachine) remove(ctx context.Context) error {
	if err := v.powerOff(ctx); err != nil {
		return err
	}
	if err := v.detachForeign(ctx); err != nil {
		return err
	}
	return v.destroy(ctx)
}

// destroy deletes the virtual machine with all its disks.
func (v *virtualMachine) destroy(ctx context.Context) error {
	_, err := v.session.Run(ctx, v.object().Destroy)
	return client.IgnoreNotFound(err)
}

// detachForeign detaches the disks that are not the virtual machine's own, such as persistent volumes, because destroy would delete them.
func (v *virtualMachine) detachForeign(ctx context.Context) error {
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, disk := range disksOf(v.devices()) {
		if v.isForeign(disk) {
			changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: disk})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return client.IgnoreNotFound(v.reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: changes}))
}

// isForeign reports whether the virtual machine was created without the disk: a First Class Disk, as are all volumes of the CSI driver, an
// independent disk, or one whose file is in another folder.
func (v *virtualMachine) isForeign(disk *types.VirtualDisk) bool {
	if disk.VDiskId != nil {
		return true
	}
	mode, file := backingOf(disk)
	if isIndependent(mode) {
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

// isHome reports whether the virtual machine has a folder of this name on its datastores: it is the first name of the virtual machine, with
// a number if such a folder existed already.
func (v *virtualMachine) isHome(folder string) bool {
	return slices.ContainsFunc([]string{v.Name, v.ExtraConfig[owner.KeyMachine]}, func(name string) bool {
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

func isIndependent(mode string) bool {
	return mode == string(types.VirtualDiskModeIndependent_persistent) || mode == string(types.VirtualDiskModeIndependent_nonpersistent)
}

// disksOf returns the disks in the order of their keys, the root disk first.
func disksOf(devices object.VirtualDeviceList) []*types.VirtualDisk {
	disks := devicesOf[*types.VirtualDisk](devices)
	slices.SortFunc(disks, func(a, b *types.VirtualDisk) int { return int(a.Key) - int(b.Key) })
	return disks
}

func cardsOf(devices object.VirtualDeviceList) []types.BaseVirtualEthernetCard {
	return devicesOf[types.BaseVirtualEthernetCard](devices)
}

func devicesOf[T any](devices object.VirtualDeviceList) []T {
	var found []T
	for _, device := range devices {
		if d, ok := device.(T); ok {
			found = append(found, d)
		}
	}
	return found
}
