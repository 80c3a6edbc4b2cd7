// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"strings"
	"time"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	// listAge is how old a list may be. All machines are asked for once for each machine class.
	listAge = 15 * time.Second
	// pageSize is how many virtual machines one answer has at most.
	pageSize = 1000
)

// listed are the properties of all virtual machines: only such that the vCenter has at hand.
var listed = append([]string{
	"name", "config.uuid", "config.template", "config.files.vmPathName", "guest.hostName", client.ExtraConfigProperty(owner.KeyRule),
}, marks...)

// List implements platform.Machines. The virtual machines are those below the shoot's folder in the datacenter of the machine class.
func (m *machines) List(ctx context.Context, request platform.MachineRequest) ([]platform.Machine, error) {
	c, err := m.call(ctx, request)
	if err != nil {
		return nil, platform.InSite(request.Spec.Site, err)
	}
	found, err := c.list(ctx, listAge)
	if err != nil {
		return nil, platform.InSite(request.Spec.Site, err)
	}
	var result []platform.Machine
	for _, vm := range found {
		name := vm.machineName(c.owner)
		if name == "" {
			// It would be taken for one without a machine, and deleted.
			klog.InfoS("Virtual machine is not listed, its UUID is not that of a machine: it is a copy, or its name is not known any more",
				"site", request.Spec.Site, "virtualMachine", vm.Name, "id", vm.reference.Value)
			continue
		}
		result = append(result, platform.Machine{Name: name, ProviderID: providerIDPrefix + strings.ToLower(vm.Config.Uuid)})
	}
	return result, nil
}

// ListScope implements platform.ListScoper. The shoot has a folder in each datacenter.
func (m *machines) ListScope(spec *v1alpha1.MachineProviderSpec) string {
	if spec.VSphere == nil {
		return ""
	}
	return spec.VSphere.Folder
}

type listKey struct {
	owner  owner.Owner
	folder string
}

// list returns the shoot's virtual machines, from a list that is not older than age.
func (c *call) list(ctx context.Context, age time.Duration) ([]*virtualMachine, error) {
	shared := c.session.Value(listKey{c.owner, c.spec.Folder}, func() any { return &cached[[]*virtualMachine]{} }).(*cached[[]*virtualMachine])
	return shared.get(ctx, age, func(ctx context.Context) (found []*virtualMachine, err error) {
		err = c.session.Repeat(func() error {
			found, err = c.retrieve(ctx)
			return err
		})
		if err == nil && len(found) == 0 {
			err = c.session.CheckFolder(ctx, c.spec.Connection, c.spec.Folder)
		}
		if client.IsNotFound(err) {
			// What is not found is the folder or the view, which says nothing about a virtual machine.
			return nil, platform.NewError(platform.ClassTransient, "virtual machines cannot be listed: %w", err)
		}
		return found, err
	})
}

// retrieve reads the virtual machines of a container view page by page. One that has no configuration yet is not listed: nothing
// says whose it is.
func (c *call) retrieve(ctx context.Context) (_ []*virtualMachine, err error) {
	vim := c.session.VIM()
	container, err := view.NewManager(vim).CreateContainerView(ctx, reference("Folder", c.spec.Folder), []string{"VirtualMachine"}, true)
	if err != nil {
		return nil, client.Classify(err)
	}
	defer func() {
		if destroyErr := client.IgnoreNotFound(container.Destroy(ctx)); err == nil {
			err = destroyErr
		}
	}()

	response, err := methods.RetrievePropertiesEx(ctx, vim, &types.RetrievePropertiesEx{
		This: vim.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{
				Obj:       container.Reference(),
				SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}},
			}},
			// An answer without the view is none.
			PropSet: []types.PropertySpec{{Type: "ContainerView", PathSet: []string{"recursive"}}, {Type: "VirtualMachine", PathSet: listed}},
		}},
		Options: types.RetrieveOptions{MaxObjects: pageSize},
	})
	if err != nil {
		return nil, client.Classify(err)
	}
	var result []*virtualMachine
	for page := response.Returnval; page != nil; {
		for _, content := range page.Objects {
			if content.Obj.Type != "VirtualMachine" {
				continue
			}
			vm, err := newVirtualMachine(content)
			if err != nil {
				return nil, err
			}
			if vm.Config != nil && !vm.Config.Template && c.owner.OwnsVM(vm.extraConfig) {
				result = append(result, vm)
			}
		}
		if page.Token == "" {
			break
		}
		next, err := methods.ContinueRetrievePropertiesEx(ctx, vim, &types.ContinueRetrievePropertiesEx{
			This:  vim.ServiceContent.PropertyCollector,
			Token: page.Token,
		})
		if err != nil {
			return nil, client.Classify(err)
		}
		page = &next.Returnval
	}
	return result, nil
}
