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
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// validation is what the checks of a site need.
type validation struct {
	*flow
	// open returns the flow, and is called by the first check.
	open func(context.Context) (*flow, error)
	site *site.Site
	// path is that of the site's vsphere block in the InfrastructureConfig.
	path *field.Path
	// refused is the error of the login if the vCenter has refused the credentials.
	refused error
	// demands are those of the shoot's pools.
	demands []platform.Demand
	// zones have the resolved names, once these are checked.
	zones []zone
	// places are the properties of the objects of the zones, once the hosts are checked.
	places *places
	// templates are those of the pools, once these are checked.
	templates []template
	// pool compares the pool of addresses with the site.
	pool         ipam.Check
	controlPlane v1alpha1.ControlPlaneSite
}

// Checks implements platform.Infrastructure.
func (i *infrastructure) Checks() []platform.Check {
	return checks.List()
}

// Validate implements platform.Infrastructure. It resolves all names of the zones, and checks the privileges on the objects.
func (i *infrastructure) Validate(ctx context.Context, s *site.Site, request platform.ValidationRequest) (_ platform.Findings, err error) {
	defer platform.NameSite(s.Name, &err)
	v := &validation{site: s, path: request.Path.Child("vsphere"), demands: request.Demands, controlPlane: request.ControlPlane}
	v.open = func(ctx context.Context) (*flow, error) { return i.forProfile(ctx, s, nil) }
	return checks.Run(ctx, v, request.Skip)
}

// profile returns the path of a field in the site's vsphere block of the CloudProfile.
func (v *validation) profile(name string) *field.Path {
	return v.site.ProfilePath().Child("vsphere", name)
}

// connect logs in. That the credentials are refused is another check.
func (v *validation) connect(ctx context.Context, result *platform.Result) (err error) {
	result.At(v.profile("server"))
	v.flow, err = v.open(ctx)
	switch {
	case platform.ClassOf(err) == platform.ClassUnauthenticated:
		v.refused = err
		return nil
	case transport.IsUntrusted(err):
		result.At(v.site.ProfilePath().Child("tls"))
	}
	return err
}

func (v *validation) authenticate(_ context.Context, result *platform.Result) error {
	result.At(v.site.SecretPath("password"))
	return v.refused
}

// missingObjects resolves the names in the zones.
func (v *validation) missingObjects(ctx context.Context, result *platform.Result) error {
	zones, err := v.findZones(ctx, v.path)
	var others []error
	for _, err := range unjoin(err) {
		var missing *unresolved
		if errors.As(err, &missing) && platform.ClassOf(err) == platform.ClassConfiguration {
			result.Invalid(missing.path, missing.name, "%v", missing.error)
		} else {
			others = append(others, err)
		}
	}
	v.zones = zones
	return errors.Join(others...)
}

// unjoin returns the errors that err joins.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}

// tagPrivilege is required on objects that get tags. Privileges on the tags themselves are global permissions, which cannot be asked for.
const tagPrivilege = "InventoryService.Tagging.ObjectAttachable"

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
		tagPrivilege,
	}
	poolPrivileges         = []string{"Resource.AssignVMToPool"}
	poolPerShootPrivileges = []string{"Resource.CreatePool", "Resource.DeletePool", tagPrivilege}
	datastorePrivileges    = []string{"Datastore.AllocateSpace"}
	networkPrivileges      = []string{"Network.Assign"}
	antiAffinityPrivileges = []string{"Host.Inventory.EditCluster"}
)

// missingPrivileges finds objects on which the credentials lack privileges.
func (v *validation) missingPrivileges(ctx context.Context, result *platform.Result) error {
	needed := v.neededPrivileges(v.zones, slices.ContainsFunc(v.demands, wantsAntiAffinity))
	entities := lists.Map(needed, func(n neededPrivilege) types.ManagedObjectReference { return n.object })
	found, err := object.NewAuthorizationManager(v.vim).FetchUserPrivilegeOnEntities(ctx, entities, v.session.UserName())
	if err != nil {
		return client.Classify(err)
	}
	for _, problem := range problemsOf(needed, found) {
		result.Forbidden(v.site.SecretPath("username"), "%s", problem)
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

func (f *flow) neededPrivileges(zones []zone, antiAffinity bool) []neededPrivilege {
	var needed []neededPrivilege
	add := func(o types.ManagedObjectReference, what string, privileges ...string) {
		i := slices.IndexFunc(needed, func(n neededPrivilege) bool { return n.object == o })
		if i < 0 {
			needed = append(needed, neededPrivilege{object: o, what: what, privileges: privileges})
			return
		}
		needed[i].privileges = slices.Concat(needed[i].privileges, without(privileges, needed[i].privileges))
	}
	profile := f.site.Profile.VSphere
	for _, z := range zones {
		add(z.parent, "folder "+z.parentPath, folderPrivileges...)
		add(z.resourcePool, "resource pool "+z.poolPath, poolPrivileges...)
		if pools := profile.ResourcePools; pools != nil && pools.PerShoot {
			add(z.resourcePool, "", poolPerShootPrivileges...)
		}
		add(z.network, "the network of zone "+z.name, networkPrivileges...)
		if z.datastore != nil {
			add(*z.datastore, "the datastore of zone "+z.name, datastorePrivileges...)
		}
		if profile.Topology != nil && profile.Topology.Create {
			add(z.datacenter, "datacenter "+z.datacenterPath, tagPrivilege)
			add(z.cluster, "the cluster of zone "+z.name, tagPrivilege)
		}
		if antiAffinity && z.cluster.Type == "ClusterComputeResource" {
			add(z.cluster, "the cluster of zone "+z.name, antiAffinityPrivileges...)
		}
	}
	return needed
}

// without returns the wanted privileges that are missing.
func without(wanted, there []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(p string) bool { return slices.Contains(there, p) })
}
