// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
)

// zone contains the resolved names of a zone.
type zone struct {
	name string
	// path is that of the zone's vsphere block in the CloudProfile, and networkPath that of the field that names the network.
	path, networkPath *field.Path

	topologyTag     string
	datacenterPath  string
	datacenter      types.ManagedObjectReference
	cluster         types.ManagedObjectReference
	resourcePool    types.ManagedObjectReference
	poolPath        string
	network         types.ManagedObjectReference
	datastore       *types.ManagedObjectReference
	storagePolicyID string
	// parent is the folder that contains the shoot's folder.
	parent     types.ManagedObjectReference
	parentPath string
}

// unresolved is the error that a name of an object cannot be resolved.
type unresolved struct {
	error
	// path is the field that has the name.
	path *field.Path
	name string
}

// Error implements error.
func (u *unresolved) Error() string {
	return u.path.String() + ": " + u.error.Error()
}

// Unwrap returns the cause.
func (u *unresolved) Unwrap() error {
	return u.error
}

// findZones resolves the names in all zones of the site, each inventory path once. The error contains all that is missing. config is the
// path of the site's vsphere block in the InfrastructureConfig.
func (f *flow) findZones(ctx context.Context, config *field.Path) ([]zone, error) {
	r := resolver{flow: f, config: config, found: map[string]*types.ManagedObjectReference{}}
	for i := range f.site.Profile.Zones {
		r.addZone(ctx, &f.site.Profile.Zones[i])
	}
	return r.zones, errors.Join(r.errs...)
}

// resolver resolves the names in zones.
type resolver struct {
	*flow
	config *field.Path
	// found are the objects by inventory path, nil for those that are missing.
	found map[string]*types.ManagedObjectReference
	zones []zone
	errs  []error
}

func (r *resolver) addZone(ctx context.Context, z *v1alpha1.SiteZone) {
	path := r.site.ZonePath(z.Name).Child("vsphere")
	if z.VSphere == nil {
		r.fail(path, "", platform.NewError(platform.ClassConfiguration, "the zone has no vsphere block in the CloudProfile"))
		return
	}
	var (
		profile = r.site.ProfilePath().Child("vsphere")
		named   = inventory.Zone{Name: z.Name, Site: r.site.Profile.VSphere, Zone: z.VSphere}
		found   = zone{
			name:           z.Name,
			path:           path,
			networkPath:    path.Child("network"),
			topologyTag:    z.VSphere.TopologyTag,
			datacenterPath: inventory.Datacenter.Path("", named.Datacenter()),
			poolPath:       named.ResourcePool(),
			parentPath:     named.Folder(),
		}
		network, datacenter = z.VSphere.Network, profile.Child("datacenter")
	)
	if named.Datacenter() != r.site.Profile.VSphere.Datacenter { // that of the site is the default of zones
		datacenter = path.Child("datacenter")
	}
	if config := r.site.Config; config != nil && config.VSphere != nil && config.VSphere.Network != "" {
		network, found.networkPath = config.VSphere.Network, r.config.Child("network")
	}

	if !r.find(ctx, &found.datacenter, inventory.Datacenter, found.datacenterPath, datacenter, named.Datacenter()) {
		return
	}
	before := len(r.errs)
	if r.find(ctx, &found.cluster, inventory.ComputeCluster, named.ComputeCluster(), path.Child("computeCluster"), z.VSphere.ComputeCluster) {
		r.find(ctx, &found.resourcePool, inventory.ResourcePool, found.poolPath, path.Child("resourcePool"), z.VSphere.ResourcePool)
	}
	r.find(ctx, &found.network, inventory.Network, inventory.Network.Path(named.Datacenter(), network), found.networkPath, network)
	r.find(ctx, &found.parent, inventory.Folder, found.parentPath, profile.Child("folder"), r.site.Profile.VSphere.Folder)
	if inventoryPath := named.Datastore(); inventoryPath != "" {
		found.datastore = &types.ManagedObjectReference{}
		r.find(ctx, found.datastore, inventory.Datastore, inventoryPath, path.Child("datastore"), z.VSphere.Datastore)
	}
	if name := z.VSphere.StoragePolicy; name != "" {
		id, err := r.session.StoragePolicyID(ctx, name)
		found.storagePolicyID = id
		r.fail(path.Child("storagePolicy"), name, err)
	}
	if len(r.errs) == before {
		r.zones = append(r.zones, found)
	}
}

// find sets the reference to the object, and reports whether there is one. What is missing is an error the first time only.
func (r *resolver) find(ctx context.Context, into *types.ManagedObjectReference, kind inventory.Kind, inventoryPath string,
	path *field.Path, name string) bool {
	reference, known := r.found[inventoryPath]
	if !known {
		object, err := inventory.Find(ctx, r.vim, kind, inventoryPath)
		if err == nil {
			reference = &object
		}
		r.found[inventoryPath] = reference
		r.fail(path, name, err)
	}
	if reference != nil {
		*into = *reference
	}
	return reference != nil
}

func (r *resolver) fail(path *field.Path, name string, err error) {
	if err != nil {
		r.errs = append(r.errs, &unresolved{error: err, path: path, name: name})
	}
}

func (z *zone) status(folder v1alpha1.VSphereObject, pool types.ManagedObjectReference) v1alpha1.VSphereZoneStatus {
	status := v1alpha1.VSphereZoneStatus{
		Name:            z.name,
		Datacenter:      z.datacenter.Value,
		ComputeCluster:  z.cluster.Value,
		ResourcePool:    pool.Value,
		Folder:          folder.ID,
		FolderPath:      folder.Path,
		Network:         v1alpha1.VSphereNetworkReference{Type: z.network.Type, ID: z.network.Value},
		StoragePolicyID: z.storagePolicyID,
	}
	if z.datastore != nil {
		status.Datastore = z.datastore.Value
	}
	return status
}
