// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// datastore returns the configured datastore or, if there is only a storage policy, the one with the most free space among those
// of the cluster that fit the policy. A clone stays on the datastore of its template if it is not told where to go.
func (c *call) datastore(ctx context.Context) (types.ManagedObjectReference, error) {
	if c.spec.Datastore != "" {
		return reference("Datastore", c.spec.Datastore), nil
	}
	collector := property.DefaultCollector(c.session.VIM())
	var cluster mo.ComputeResource
	if err := collector.RetrieveOne(ctx, reference("ClusterComputeResource", c.spec.ComputeCluster), []string{"datastore"},
		&cluster); err != nil {
		return types.ManagedObjectReference{}, missingObject("compute cluster", c.spec.ComputeCluster, err)
	}
	compatible, err := c.session.CompatibleDatastores(ctx, c.spec.StoragePolicyID, cluster.Datastore)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	var found []mo.Datastore
	if err := collector.Retrieve(ctx, cluster.Datastore, []string{"summary"}, &found); err != nil {
		return types.ManagedObjectReference{}, client.Classify(err)
	}
	found = slices.DeleteFunc(found, func(d mo.Datastore) bool {
		return !d.Summary.Accessible || client.InMaintenance(&d.Summary) || !slices.Contains(compatible, d.Self.Value)
	})
	if len(found) == 0 {
		return types.ManagedObjectReference{}, platform.NewError(platform.ClassExhausted,
			"no datastore of compute cluster %s fits storage policy %s", c.spec.ComputeCluster, c.spec.StoragePolicyID)
	}
	return slices.MaxFunc(found, func(a, b mo.Datastore) int {
		return int(a.Summary.FreeSpace>>20) - int(b.Summary.FreeSpace>>20)
	}).Self, nil
}
