// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	// listAge is the maximum age of a list. All machines are listed once for each machine class.
	listAge = 15 * time.Second
	// keptSize is what counts of a virtual machine that is kept, in bytes: the rest of its page is garbage when the next one is read.
	keptSize = 640
)

// listed are the properties that are read of all virtual machines. They are cheap for the vCenter.
var listed = append([]string{
	"name", "config.uuid", "config.template", "config.files.vmPathName", "guest.hostName", client.ExtraConfigProperty(owner.KeyRule),
}, marks...)

// listMachines returns the machines of the virtual machines of the shoot.
func (c *call) listMachines(ctx context.Context) ([]platform.Machine, error) {
	found, err := c.list(ctx, listAge)
	if err != nil {
		return nil, err
	}
	var result []platform.Machine
	for _, vm := range found {
		name := vm.machineName(c.owner)
		if name == "" {
			// It would be deleted as an orphan.
			klog.InfoS("Ignoring virtual machine whose UUID is not that of a machine: it is a copy, or its original name is unknown",
				"site", c.request.Spec.Site, "virtualMachine", vm.Name, "id", vm.Self.Value)
			continue
		}
		result = append(result, platform.Machine{Name: name, ProviderID: vm.ProviderID()})
	}
	return result, nil
}

type listKey struct {
	owner  owner.Owner
	folder string
	marked bool
}

// list returns the shoot's virtual machines from a list that is not older than age.
func (c *call) list(ctx context.Context, age time.Duration) ([]*virtualMachine, error) {
	shared := client.Value(c.session, listKey{c.owner, c.spec.Folder, c.spec.Addresses != nil}, newCached[[]*virtualMachine])
	return shared.get(ctx, age, func(ctx context.Context) (found []*virtualMachine, err error) {
		err = c.session.Repeat(func() error {
			found, err = c.retrieve(ctx)
			return err
		})
		if err == nil && len(found) == 0 {
			err = c.session.CheckFolder(ctx, c.spec.Connection, c.spec.Folder)
		}
		if client.IsNotFound(err) {
			// It is the folder or the view that was not found, and not a virtual machine.
			return nil, platform.NewError(platform.ClassTransient, "listing virtual machines failed: %w", err)
		}
		return found, err
	})
}

// retrieve reads the virtual machines of the shoot's folder. It leaves out those without a configuration, whose owner is unknown yet.
func (c *call) retrieve(ctx context.Context) ([]*virtualMachine, error) {
	var result []*virtualMachine
	properties := []types.PropertySpec{{Type: "VirtualMachine", PathSet: c.marked(listed)}}
	err := c.session.EachBelow(ctx, reference("Folder", c.spec.Folder), properties,
		func(content types.ObjectContent) (int, error) {
			if content.Obj.Type != "VirtualMachine" {
				return 0, nil
			}
			vm, err := c.operable(client.LoadVirtualMachine(content))
			if err != nil || vm.Config == nil || vm.Config.Template || !c.owner.OwnsVM(vm.ExtraConfig) {
				return 0, err
			}
			result = append(result, vm)
			return keptSize, nil
		})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// cached is a value that calls share. Errors are not cached.
type cached[T any] struct {
	group platform.Shared[T]

	mutex sync.Mutex
	value T
	at    time.Time
}

func newCached[T any]() *cached[T] {
	return &cached[T]{}
}

// get returns the value if it is not older than age, and otherwise a new one. Concurrent calls share the request.
func (c *cached[T]) get(ctx context.Context, age time.Duration, create func(context.Context) (T, error)) (T, error) {
	if value, ok := c.current(age); ok {
		return value, nil
	}
	return c.group.Do(ctx, "", func(ctx context.Context) (T, error) {
		if value, ok := c.current(age); ok {
			return value, nil
		}
		start := time.Now()
		value, err := create(ctx)
		if err != nil {
			return value, err
		}
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.value, c.at = value, start
		return value, nil
	})
}

func (c *cached[T]) current(age time.Duration) (T, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.value, !c.at.IsZero() && time.Since(c.at) <= age
}
