// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"path"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Zone is what a zone of a vSphere site names.
type Zone struct {
	Site *v1alpha1.VSphereProfile
	Zone *v1alpha1.VSphereZone
}

// Datacenter returns the name or the inventory path of the datacenter, which is that of the site by default.
func (z Zone) Datacenter() string {
	return cmp.Or(z.Zone.Datacenter, z.Site.Datacenter)
}

// ComputeCluster returns the inventory path of the cluster.
func (z Zone) ComputeCluster() string {
	return ComputeCluster.Path(z.Datacenter(), z.Zone.ComputeCluster)
}

// ResourcePool returns the inventory path of the resource pool of all shoots, which is that of the cluster by default.
func (z Zone) ResourcePool() string {
	return path.Join(z.ComputeCluster(), "Resources", z.Zone.ResourcePool)
}

// Folder returns the inventory path of the folder of all shoots.
func (z Zone) Folder() string {
	return Folder.Path(z.Datacenter(), z.Site.Folder)
}

// Datastore returns the inventory path of the datastore, empty if the zone has a storage policy instead.
func (z Zone) Datastore() string {
	if z.Zone.Datastore == "" {
		return ""
	}
	return Datastore.Path(z.Datacenter(), z.Zone.Datastore)
}
