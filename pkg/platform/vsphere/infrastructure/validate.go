// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// validation is what the checks of a site need.
type validation struct {
	*flow
	// open returns the flow, and is called by the first check.
	open func(context.Context) (*flow, error)
	path *field.Path
	// demands are those of the shoot's pools.
	demands []platform.Demand
	// zones have the resolved names, once these are checked.
	zones []zone
	// places are the properties of the objects of the zones, once the hosts are checked.
	places *places
	// templates are those of the pools, once these are checked.
	templates []template
}

// Checks implements platform.Infrastructure.
func (i *infrastructure) Checks() []platform.Check {
	return checks.List()
}

// Validate implements platform.Infrastructure. It resolves all names of the zones, and checks the privileges on the objects.
func (i *infrastructure) Validate(ctx context.Context, s *site.Site, request platform.ValidationRequest) (_ platform.Findings, err error) {
	defer platform.NameSite(s.Name, &err)
	v := &validation{path: request.Path.Child("vsphere"), demands: request.Demands}
	v.open = func(ctx context.Context) (*flow, error) { return i.forProfile(ctx, s, nil) }
	return checks.Run(ctx, v, request.Skip)
}

// missingObjects resolves the names in the zones.
func (v *validation) missingObjects(ctx context.Context, result *platform.Result) error {
	zones, err := v.findZones(ctx)
	if err != nil {
		missing, other := split(err)
		for _, problem := range missing {
			result.Invalid(v.path, v.site.Name, "%v", problem)
		}
		return other
	}
	v.zones = zones
	return nil
}

// split separates configuration errors from others.
func split(err error) (mistakes []error, other error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		joined = errors.Join(err).(interface{ Unwrap() []error })
	}
	var others []error
	for _, part := range joined.Unwrap() {
		if platform.ClassOf(part) == platform.ClassConfiguration {
			mistakes = append(mistakes, part)
		} else {
			others = append(others, part)
		}
	}
	return mistakes, errors.Join(others...)
}

// The required privileges of the credentials by kind of object. docs/operations/vsphere.md lists them.
var (
	folderPrivileges = []string{
		"Folder.Create", "Folder.Delete",
		"VirtualMachine.Inventory.CreateFromExisting", "VirtualMachine.Inventory.Delete",
		"VirtualMachine.Config.AddNewDisk", "VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Config.EditDevice",
		"VirtualMachine.Config.RemoveDisk", "VirtualMachine.Config.DiskExtend", "VirtualMachine.Config.CPUCount", "VirtualMachine.Config.Memory",
		"VirtualMachine.Config.Resource", "VirtualMachine.Config.AdvancedConfig", "VirtualMachine.Config.Settings",
		"VirtualMachine.Interact.PowerOn", "VirtualMachine.Interact.PowerOff",
		"VirtualMachine.Provisioning.DeployTemplate",
	}
	poolPrivileges         = []string{"Resource.AssignVMToPool"}
	poolPerShootPrivileges = []string{"Resource.CreatePool", "Resource.DeletePool"}
	datastorePrivileges    = []string{"Datastore.AllocateSpace"}
	networkPrivileges      = []string{"Network.Assign"}
)

// missingPrivileges finds objects on which the credentials lack privileges.
func (v *validation) missingPrivileges(ctx context.Context, result *platform.Result) error {
	needed := v.neededPrivileges(v.zones)
	entities := lists.Map(needed, func(n neededPrivilege) types.ManagedObjectReference { return n.object })
	found, err := object.NewAuthorizationManager(v.vim).FetchUserPrivilegeOnEntities(ctx, entities, v.session.UserName())
	if err != nil {
		return client.Classify(err)
	}
	for _, problem := range problemsOf(needed, found) {
		result.Forbidden(v.path, "%s", problem)
	}
	return nil
}

// problemsOf returns a message for each object on which privileges are missing.
func problemsOf(needed []neededPrivilege, found []types.UserPrivilegeResult) []string {
	var problems []string
	for _, n := range needed {
		i := slices.IndexFunc(found, func(r types.UserPrivilegeResult) bool { return r.Entity == n.object })
		if i < 0 {
			continue
		}
		if missing := without(n.privileges, found[i].Privileges); len(missing) > 0 {
			problems = append(problems, "the credentials lack the privileges "+strings.Join(missing, ", ")+" on "+n.what)
		}
	}
	return problems
}

type neededPrivilege struct {
	object     types.ManagedObjectReference
	what       string
	privileges []string
}

func (f *flow) neededPrivileges(zones []zone) []neededPrivilege {
	var needed []neededPrivilege
	add := func(o types.ManagedObjectReference, what string, privileges ...string) {
		if !slices.ContainsFunc(needed, func(n neededPrivilege) bool { return n.object == o }) {
			needed = append(needed, neededPrivilege{object: o, what: what, privileges: privileges})
		}
	}
	pool := poolPrivileges
	if pools := f.site.Profile.VSphere.ResourcePools; pools != nil && pools.PerShoot {
		pool = slices.Concat(poolPrivileges, poolPerShootPrivileges)
	}
	for _, z := range zones {
		add(z.parent, "folder "+z.parentPath, folderPrivileges...)
		add(z.resourcePool, "resource pool "+z.poolPath, pool...)
		add(z.network, "the network of zone "+z.name, networkPrivileges...)
		if z.datastore != nil {
			add(*z.datastore, "the datastore of zone "+z.name, datastorePrivileges...)
		}
	}
	return needed
}

// without returns the wanted privileges that are missing.
func without(wanted, there []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(p string) bool { return slices.Contains(there, p) })
}
