// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"
)

// Object is an object in the vCenter.
type Object struct {
	// Kind is virtual machine, folder, ...
	Kind string `json:"kind"`
	// ID is the managed object ID, or what else names the object.
	ID string `json:"id"`
	// Name is the name of the object.
	Name string `json:"name"`
}

// String describes the object in one line.
func (o Object) String() string {
	return fmt.Sprintf("vCenter: %s %s (%s)", o.Kind, o.Name, o.ID)
}

// Objects returns everything in the vCenter whose name begins with that of the shoot: virtual machines, folders, resource pools,
// rules of clusters, disks and tags.
func (v *VCenter) Objects(ctx context.Context, shoot string) ([]Object, error) {
	client, err := v.Client(ctx)
	if err != nil {
		return nil, err
	}
	var objects []Object
	for _, list := range []func(context.Context, *vim25.Client) ([]Object, error){entities, rules, disks, tagObjects} {
		found, err := list(ctx, client)
		if err != nil {
			return nil, fmt.Errorf("list objects of the vCenter: %w", err)
		}
		for _, o := range found {
			if strings.HasPrefix(o.Name, shoot) {
				objects = append(objects, o)
			}
		}
	}
	return objects, nil
}

// entities are the objects of the inventory.
func entities(ctx context.Context, client *vim25.Client) ([]Object, error) {
	var objects []Object
	for _, kind := range []struct{ name, kind string }{{"virtual machine", "VirtualMachine"}, {"folder", "Folder"},
		{"resource pool", "ResourcePool"}} {
		found, err := retrieve[mo.ManagedEntity](ctx, client, kind.kind, "name")
		if err != nil {
			return nil, err
		}
		for _, entity := range found {
			objects = append(objects, Object{Kind: kind.name, ID: entity.Self.Value, Name: entity.Name})
		}
	}
	return objects, nil
}

func rules(ctx context.Context, client *vim25.Client) ([]Object, error) {
	clusters, err := retrieve[mo.ClusterComputeResource](ctx, client, "ClusterComputeResource", "configurationEx")
	var objects []Object
	for _, cluster := range clusters {
		configuration, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
		if !ok {
			continue
		}
		for _, rule := range configuration.Rule {
			info := rule.GetClusterRuleInfo()
			objects = append(objects, Object{Kind: "rule", ID: fmt.Sprintf("%s/%d", cluster.Self.Value, info.Key), Name: info.Name})
		}
	}
	return objects, err
}

// disks are the First Class Disks.
func disks(ctx context.Context, client *vim25.Client) ([]Object, error) {
	datastores, err := retrieve[mo.Datastore](ctx, client, "Datastore", "name")
	if err != nil {
		return nil, err
	}
	var (
		manager = vslm.NewObjectManager(client)
		objects []Object
	)
	for _, datastore := range datastores {
		ids, err := manager.List(ctx, datastore.Self)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			disk, err := manager.Retrieve(ctx, datastore.Self, id.Id)
			if err != nil {
				return nil, err
			}
			objects = append(objects, Object{Kind: "disk", ID: id.Id, Name: disk.Config.Name})
		}
	}
	return objects, nil
}

func tagObjects(ctx context.Context, client *vim25.Client) ([]Object, error) {
	r := rest.NewClient(client)
	if err := r.Login(ctx, url.UserPassword(Username, Password)); err != nil {
		return nil, err
	}
	defer func() { _ = r.Logout(ctx) }()
	all, err := tags.NewManager(r).GetTags(ctx)
	var objects []Object
	for _, tag := range all {
		objects = append(objects, Object{Kind: "tag", ID: tag.ID, Name: tag.Name})
	}
	return objects, err
}

// Settle puts a virtual machine that is nobody's into the folder whose name begins with that of a shoot. It returns a function
// that deletes it.
func (v *VCenter) Settle(ctx context.Context, shoot string) (func(context.Context) error, error) {
	client, err := v.Client(ctx)
	if err != nil {
		return nil, err
	}
	finder := find.NewFinder(client)
	folders, err := retrieve[mo.Folder](ctx, client, "Folder", "name")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(folders, func(f mo.Folder) bool { return strings.HasPrefix(f.Name, shoot) })
	if i < 0 {
		return nil, fmt.Errorf("the vCenter has no folder of %q", shoot)
	}
	pools, err := finder.ResourcePoolList(ctx, "/*/host/*/Resources")
	if err != nil {
		return nil, err
	}
	stores, err := finder.DatastoreList(ctx, "/*/datastore/*")
	if err != nil {
		return nil, err
	}
	task, err := object.NewFolder(client, folders[i].Self).CreateVM(ctx, types.VirtualMachineConfigSpec{
		Name: "somebody-elses", GuestId: string(types.VirtualMachineGuestOsIdentifierOtherGuest64),
		Files: &types.VirtualMachineFileInfo{VmPathName: "[" + stores[0].Name() + "]"},
	}, pools[0], nil)
	if err != nil {
		return nil, err
	}
	made, err := task.WaitForResult(ctx, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		task, err := object.NewVirtualMachine(client, made.Result.(types.ManagedObjectReference)).Destroy(ctx)
		if err != nil {
			return err
		}
		return task.Wait(ctx)
	}, nil
}
