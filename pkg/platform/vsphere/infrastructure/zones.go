// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
)

// zone contains the resolved names of a zone.
type zone struct {
	name            string
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

// findZones resolves the names in all zones of the site. The error contains all that is missing.
func (f *flow) findZones(ctx context.Context) ([]zone, error) {
	var (
		zones []zone
		errs  []error
	)
	for i := range f.site.Profile.Zones {
		z := &f.site.Profile.Zones[i]
		found, err := f.findZone(ctx, z)
		if err != nil {
			errs = append(errs, &platform.Error{Class: platform.ClassOf(err), Err: fmt.Errorf("zone %q: %w", z.Name, err)})
			continue
		}
		zones = append(zones, *found)
	}
	return zones, errors.Join(errs...)
}

func (f *flow) findZone(ctx context.Context, z *v1alpha1.SiteZone) (*zone, error) {
	if z.VSphere == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the zone has no vsphere block in the CloudProfile")
	}
	var (
		named = inventory.Zone{Name: z.Name, Site: f.site.Profile.VSphere, Zone: z.VSphere}
		found = &zone{
			name:           z.Name,
			topologyTag:    z.VSphere.TopologyTag,
			datacenterPath: inventory.Datacenter.Path("", named.Datacenter()),
			poolPath:       named.ResourcePool(),
			parentPath:     named.Folder(),
		}
		errs []error
		find = func(into *types.ManagedObjectReference, kind inventory.Kind, path string) {
			reference, err := inventory.Find(ctx, f.vim, kind, path)
			*into = reference
			errs = append(errs, err)
		}
	)
	if find(&found.datacenter, inventory.Datacenter, found.datacenterPath); errs[0] != nil {
		return nil, errs[0]
	}
	find(&found.cluster, inventory.ComputeCluster, named.ComputeCluster())
	find(&found.resourcePool, inventory.ResourcePool, found.poolPath)
	find(&found.network, inventory.Network, inventory.Network.Path(named.Datacenter(), f.networkName(z)))
	find(&found.parent, inventory.Folder, found.parentPath)
	if path := named.Datastore(); path != "" {
		found.datastore = &types.ManagedObjectReference{}
		find(found.datastore, inventory.Datastore, path)
	}
	if name := z.VSphere.StoragePolicy; name != "" {
		id, err := f.session.StoragePolicyID(ctx, name)
		found.storagePolicyID = id
		errs = append(errs, err)
	}
	return found, errors.Join(errs...)
}

// networkName returns the shoot's network, or else that of the zone.
func (f *flow) networkName(z *v1alpha1.SiteZone) string {
	if config := f.site.Config; config != nil && config.VSphere != nil && config.VSphere.Network != "" {
		return config.VSphere.Network
	}
	return z.VSphere.Network
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
