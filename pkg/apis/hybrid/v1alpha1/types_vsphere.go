// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// VSphereProfile describes a vSphere site in the CloudProfile.
type VSphereProfile struct {
	// Server is the address of the vCenter.
	Server string `json:"server"`
	// Datacenter is the name or inventory path of the datacenter.
	Datacenter string `json:"datacenter"`
	// Folder is the VM folder below which each shoot has its own.
	// +optional
	Folder string `json:"folder,omitempty"`
	// Topology names the tag categories that the CSI driver reads.
	// +optional
	Topology *VSphereTopology `json:"topology,omitempty"`
}

// VSphereTopology names the tag categories that the CSI driver reads.
type VSphereTopology struct {
	// RegionCategory is the category of the region's tag.
	RegionCategory string `json:"regionCategory"`
	// ZoneCategory is the category of the zones' tags.
	ZoneCategory string `json:"zoneCategory"`
}

// VSphereZone is a zone of a vSphere site.
type VSphereZone struct {
	// ComputeCluster is the name or inventory path of the cluster.
	ComputeCluster string `json:"computeCluster"`
	// ResourcePool is the resource pool of the machines.
	// +optional
	ResourcePool string `json:"resourcePool,omitempty"`
	// Datastore is the datastore of the machines' disks. Either it or storagePolicy is set.
	// +optional
	Datastore string `json:"datastore,omitempty"`
	// StoragePolicy is the storage policy of the machines' disks.
	// +optional
	StoragePolicy string `json:"storagePolicy,omitempty"`
	// Network is the network of the nodes.
	// +optional
	Network string `json:"network,omitempty"`
	// TopologyTag is the tag of the zone's category on the cluster.
	// +optional
	TopologyTag string `json:"topologyTag,omitempty"`
}

// VSphereStorageClass is a class of First Class Disks.
type VSphereStorageClass struct {
	// StoragePolicy is the storage policy of the disks.
	StoragePolicy string `json:"storagePolicy"`
}

// VSphereMachineType is a machine type on a vSphere site; its size is that of the CloudProfile's machine type.
type VSphereMachineType struct {
	// MemoryReservationLockedToMax reserves all of the machine's memory.
	// +optional
	MemoryReservationLockedToMax bool `json:"memoryReservationLockedToMax,omitempty"`
}

// VSphereVolumeType is a volume type on a vSphere site.
type VSphereVolumeType struct {
	// StoragePolicy is the storage policy of the disks.
	StoragePolicy string `json:"storagePolicy"`
}

// VSphereImage is a machine image on a vSphere site.
type VSphereImage struct {
	// Template is the inventory path of the template.
	Template string `json:"template"`
}

// VSphereInfrastructure configures a vSphere site of a shoot.
type VSphereInfrastructure struct {
	// Network is the network of the nodes. Default: that of the zone.
	// +optional
	Network string `json:"network,omitempty"`
}
