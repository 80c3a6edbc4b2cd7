// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VSphereProfile describes a vSphere site in the CloudProfile.
type VSphereProfile struct {
	// Server is the address of the vCenter.
	Server string `json:"server"`
	// Datacenter is the name or inventory path of the default datacenter of the zones.
	Datacenter string `json:"datacenter"`
	// Folder is the VM folder below which a folder is created for each shoot.
	// +optional
	Folder string `json:"folder,omitempty"`
	// Topology names the tag categories that the CSI driver reads.
	// +optional
	Topology *VSphereTopology `json:"topology,omitempty"`
	// ResourcePools configures resource pools for each shoot in each zone, below the zone's resource pool.
	// +optional
	ResourcePools *VSphereResourcePools `json:"resourcePools,omitempty"`
	// TemplateFolder is the path, below the VM folder of the datacenters, that templates in NamespacedCloudProfiles must be in. Default: any.
	// +optional
	TemplateFolder string `json:"templateFolder,omitempty"`
	// Allowed limits what Shoots may choose. Shoots keep what they already use.
	// +optional
	Allowed *VSphereAllowed `json:"allowed,omitempty"`
	// IPAM describes the Kubernetes API with the address pools that machines may get their addresses from. Default: none, so that
	// machines use DHCP.
	// +optional
	IPAM *VSphereIPAMProfile `json:"ipam,omitempty"`
}

// VSphereIPAMProfile describes the Kubernetes API with the address pools of a vSphere site. It is reached through the proxy of the site.
type VSphereIPAMProfile struct {
	// Server is the address of the Kubernetes API.
	Server string `json:"server"`
	// Namespace is the namespace of the address claims, and of pools that have one.
	Namespace string `json:"namespace"`
	// TLS configures how the certificate of the Kubernetes API is verified.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
	// AddressPools are the address pools that shoots may use. Default: any.
	// +optional
	AddressPools []corev1.TypedLocalObjectReference `json:"addressPools,omitempty"`
}

// VSphereAllowed limits what Shoots may choose at a vSphere site. An empty list allows nothing.
type VSphereAllowed struct {
	// ExtraConfig are the keys of extraConfig that pools may set, in any case. Default: none.
	// +optional
	ExtraConfig []string `json:"extraConfig,omitzero"`
	// Networks are the networks that Shoots may choose instead of those of the zones. Default: any.
	// +optional
	Networks []string `json:"networks,omitzero"`
	// StoragePolicies are the storage policies that data volumes of pools may have in addition to those of volume types. Default: any.
	// +optional
	StoragePolicies []string `json:"storagePolicies,omitzero"`
	// Tags are the tags, as <category>/<tag>, that pools may give to virtual machines. Default: any.
	// +optional
	Tags []string `json:"tags,omitzero"`
}

// VSphereResourcePools configures the resource pools of shoots.
type VSphereResourcePools struct {
	// PerShoot is true if a resource pool is created for each shoot in each zone.
	PerShoot bool `json:"perShoot"`
}

// VSphereTopology names the tag categories that the CSI driver reads.
type VSphereTopology struct {
	// RegionCategory is the category of the region's tag.
	RegionCategory string `json:"regionCategory"`
	// ZoneCategory is the category of the zones' tags.
	ZoneCategory string `json:"zoneCategory"`
	// Create is true if missing categories and tags are created and attached to datacenters and clusters. They are shared by all shoots and
	// never deleted. Otherwise they must exist.
	// +optional
	Create bool `json:"create,omitempty"`
}

// VSphereZone is a zone of a vSphere site.
type VSphereZone struct {
	// Datacenter is the datacenter of the zone. Default: that of the site.
	// +optional
	Datacenter string `json:"datacenter,omitempty"`
	// ComputeCluster is the name or inventory path of the cluster.
	ComputeCluster string `json:"computeCluster"`
	// ResourcePool is the resource pool of the machines.
	// +optional
	ResourcePool string `json:"resourcePool,omitempty"`
	// Datastore is the datastore of the machines' disks. Exactly one of datastore and storagePolicy must be set.
	// +optional
	Datastore string `json:"datastore,omitempty"`
	// StoragePolicy is the storage policy of the machines' disks.
	// +optional
	StoragePolicy string `json:"storagePolicy,omitempty"`
	// Network is the network of the nodes.
	// +optional
	Network string `json:"network,omitempty"`
	// TopologyTag is the tag of the zone's category on the cluster. Default: the name of the zone, if the site has topology.
	// +optional
	TopologyTag string `json:"topologyTag,omitempty"`
}

// VSphereStorageClass is a class of First Class Disks.
type VSphereStorageClass struct {
	// StoragePolicy is the storage policy of the disks.
	StoragePolicy string `json:"storagePolicy"`
}

// VSphereMachineType is a machine type on a vSphere site; its size is that of the CloudProfile's machine type, or the capacity of the
// site's entry.
type VSphereMachineType struct {
	// MemoryReservationLockedToMax reserves all of the machine's memory.
	// +optional
	MemoryReservationLockedToMax bool `json:"memoryReservationLockedToMax,omitempty"`
	// ExtraConfig are further settings of the virtual machines. Keys that begin with guestinfo. or gardener. are reserved.
	// +optional
	ExtraConfig map[string]string `json:"extraConfig,omitempty"`
}

// VSphereVolumeType is a volume type on a vSphere site.
type VSphereVolumeType struct {
	// StoragePolicy is the storage policy of the disks.
	StoragePolicy string `json:"storagePolicy"`
}

// VSphereImage is a machine image on a vSphere site.
type VSphereImage struct {
	// Template is the name of the template or its inventory path below the VM folder of the zone's datacenter.
	Template string `json:"template"`
	// Zones are other templates for individual zones, for example one on each datastore.
	// +optional
	Zones []VSphereImageZone `json:"zones,omitempty"`
}

// VSphereImageZone is the template for one zone.
type VSphereImageZone struct {
	// Name is the name of a zone of the site.
	Name string `json:"name"`
	// Template is the name of the template or its inventory path below the VM folder of the zone's datacenter.
	Template string `json:"template"`
}

// VSphereInfrastructure configures a vSphere site of a shoot.
type VSphereInfrastructure struct {
	// Network is the network of the nodes. Default: that of the zone.
	// +optional
	Network string `json:"network,omitempty"`
	// IPAM configures the pool that the machines' addresses come from. Default: DHCP.
	// +optional
	IPAM *IPAM `json:"ipam,omitempty"`
}

// VSphereWorker configures a pool at a vSphere site.
type VSphereWorker struct {
	// AntiAffinity keeps the machines of the pool in a zone on different hosts, as far as the cluster allows it.
	// +optional
	AntiAffinity bool `json:"antiAffinity,omitempty"`
	// ExtraConfig are further settings of the virtual machines, besides those of the machine type; the pool's take precedence. Only keys that
	// the CloudProfile allows may be set.
	// +optional
	ExtraConfig map[string]string `json:"extraConfig,omitempty"`
	// Tags are names of tags, as <category>/<tag>, that the virtual machines have. The category gardener-shoot is reserved.
	// +optional
	Tags []string `json:"tags,omitempty"`
}

// VSphereConnection is how a vSphere site is reached. It holds no credentials.
type VSphereConnection struct {
	// Server is the address of the vCenter.
	Server string `json:"server"`
	// TLS configures how the certificate of the vCenter is verified.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
	// Proxy is the HTTP proxy through which the vCenter is reached.
	// +optional
	Proxy *Proxy `json:"proxy,omitempty"`
	// RequestTimeout limits one request.
	// +optional
	RequestTimeout *metav1.Duration `json:"requestTimeout,omitempty"`
	// InstanceUUID is the UUID of the vCenter that has the shoot's objects. Another vCenter at the address is rejected, because no object
	// would be found there. Default: any vCenter.
	// +optional
	InstanceUUID string `json:"instanceUUID,omitempty"`
	// IPAM is how the address pools are reached, nil if no machine has its address from one.
	// +optional
	IPAM *VSphereIPAMConnection `json:"ipam,omitempty"`
}

// VSphereIPAMConnection is how the Kubernetes API with the address pools of a vSphere site is reached. It holds no credentials.
type VSphereIPAMConnection struct {
	// Server is the address of the Kubernetes API.
	Server string `json:"server"`
	// Namespace is the namespace of the address claims.
	Namespace string `json:"namespace"`
	// TLS configures how the certificate of the Kubernetes API is verified.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
}

// VSphereStatus is the observed state of the infrastructure of a vSphere site. References are managed object IDs such as group-v42.
type VSphereStatus struct {
	// InstanceUUID is the UUID of the vCenter.
	// +optional
	InstanceUUID string `json:"instanceUUID,omitempty"`
	// OwnerTagID is the ID of the tag of the shoot's virtual machines.
	OwnerTagID string `json:"ownerTagID"`
	// Zones are the zones of the site.
	Zones []VSphereZoneStatus `json:"zones"`
}

// VSphereZoneStatus is where the machines of a zone are.
type VSphereZoneStatus struct {
	// Name is the name of the zone.
	Name string `json:"name"`
	// Datacenter is the datacenter.
	Datacenter string `json:"datacenter"`
	// ComputeCluster is the cluster.
	ComputeCluster string `json:"computeCluster"`
	// ResourcePool is the resource pool of the machines.
	ResourcePool string `json:"resourcePool"`
	// Folder is the shoot's VM folder in the datacenter.
	Folder string `json:"folder"`
	// FolderPath is the inventory path of the folder.
	FolderPath string `json:"folderPath"`
	// Network is the network of the machines.
	Network VSphereNetworkReference `json:"network"`
	// Datastore is the datastore of the machines' disks.
	// +optional
	Datastore string `json:"datastore,omitempty"`
	// StoragePolicyID is the ID of the storage policy of the machines' disks.
	// +optional
	StoragePolicyID string `json:"storagePolicyID,omitempty"`
}

// VSphereNetworkReference names a network.
type VSphereNetworkReference struct {
	// Type is Network, DistributedVirtualPortgroup or OpaqueNetwork.
	Type string `json:"type"`
	// ID is the managed object ID.
	ID string `json:"id"`
}

// VSphereState is the state of a vSphere site. An object is recorded as soon as it exists.
type VSphereState struct {
	// Connection is how the site is reached, even after it was removed from the CloudProfile.
	Connection VSphereConnection `json:"connection"`
	// OwnerTag is the tag of everything that belongs to the shoot.
	// +optional
	OwnerTag *VSphereObject `json:"ownerTag,omitempty"`
	// Folders are the shoot's VM folders, one in each datacenter.
	// +optional
	Folders []VSphereObject `json:"folders,omitempty"`
	// ResourcePools are the shoot's resource pools, one in each zone that has one.
	// +optional
	ResourcePools []VSphereObject `json:"resourcePools,omitempty"`
	// ComputeClusters are the managed object IDs of the clusters that zones of the site had at any time, which may have rules of the shoot.
	// +optional
	ComputeClusters []string `json:"computeClusters,omitempty"`
}

// VSphereObject is an object in a vSphere site.
type VSphereObject struct {
	// ID is the managed object ID, or the ID of the tag.
	ID string `json:"id"`
	// Path is the inventory path, or the name of the tag.
	Path string `json:"path"`
}

// VSphereMachineSpec is everything that the driver needs to create a virtual machine. All references are IDs.
type VSphereMachineSpec struct {
	// Connection is how the site is reached.
	Connection VSphereConnection `json:"connection"`
	// Template is the managed object ID of the template.
	Template string `json:"template"`
	// Datacenter is the managed object ID of the datacenter.
	Datacenter string `json:"datacenter"`
	// ComputeCluster is the managed object ID of the cluster.
	ComputeCluster string `json:"computeCluster"`
	// ResourcePool is the managed object ID of the resource pool.
	ResourcePool string `json:"resourcePool"`
	// Folder is the managed object ID of the folder.
	Folder string `json:"folder"`
	// FolderPath is the inventory path of the folder.
	FolderPath string `json:"folderPath"`
	// Network is the network of the machine.
	Network VSphereNetworkReference `json:"network"`
	// Datastore is the managed object ID of the datastore of the disks. Either it or storagePolicyID is set.
	// +optional
	Datastore string `json:"datastore,omitempty"`
	// StoragePolicyID is the ID of the storage policy of the disks.
	// +optional
	StoragePolicyID string `json:"storagePolicyID,omitempty"`
	// CPUs is the number of virtual CPUs.
	CPUs int32 `json:"cpus"`
	// MemoryMiB is the memory in MiB.
	MemoryMiB int64 `json:"memoryMiB"`
	// MemoryReservationLockedToMax reserves all of the memory.
	// +optional
	MemoryReservationLockedToMax bool `json:"memoryReservationLockedToMax,omitempty"`
	// RootDiskGiB is the size of the root disk in GiB. Default: that of the template.
	// +optional
	RootDiskGiB int `json:"rootDiskGiB,omitempty"`
	// DataDisks are further disks, which are deleted with the machine.
	// +optional
	DataDisks []VSphereDataDisk `json:"dataDisks,omitempty"`
	// AntiAffinityRule is the name of the cluster's rule that keeps the machines of the pool apart; empty if there is none.
	// +optional
	AntiAffinityRule string `json:"antiAffinityRule,omitempty"`
	// TagIDs are the IDs of the tags of the machine, among them that of the shoot.
	TagIDs []string `json:"tagIDs"`
	// ExtraConfig are further settings of the virtual machine.
	// +optional
	ExtraConfig map[string]string `json:"extraConfig,omitempty"`
	// Addresses says where the machine gets its address, nil if it uses DHCP.
	// +optional
	Addresses *VSphereMachineAddresses `json:"addresses,omitempty"`
}

// VSphereMachineAddresses says where a virtual machine gets its address.
type VSphereMachineAddresses struct {
	// PoolRef is the pool of the Cluster API IPAM contract that the address comes from.
	PoolRef corev1.TypedLocalObjectReference `json:"poolRef"`
	// Nodes are the ranges that the address must be in.
	Nodes []string `json:"nodes"`
	// Gateway is the default gateway if the pool has none.
	// +optional
	Gateway string `json:"gateway,omitempty"`
	// DNSServers are the resolvers.
	// +optional
	DNSServers []string `json:"dnsServers,omitempty"`
	// MTU is the MTU of the node network in bytes, zero if unknown.
	// +optional
	MTU int32 `json:"mtu,omitempty"`
}

// VSphereDataDisk is a further disk of a virtual machine.
type VSphereDataDisk struct {
	// Name is the name of the data volume in the pool.
	Name string `json:"name"`
	// SizeGiB is the size in GiB.
	SizeGiB int `json:"sizeGiB"`
	// StoragePolicyID is the ID of the storage policy. Default: that of the machine.
	// +optional
	StoragePolicyID string `json:"storagePolicyID,omitempty"`
}

// Endpoint returns the address of the vCenter.
func (p *VSphereProfile) Endpoint() string { return p.Server }

// HasZones reports whether the site has at least one zone.
func (c *VSphereCloudController) HasZones() bool { return len(c.Zones) > 0 }

// Objects calls add for each object of the shoot in the site.
func (s *VSphereState) Objects(add func(kind, id, name string)) {
	for _, folder := range s.Folders {
		add("folder", folder.ID, folder.Path)
	}
	for _, pool := range s.ResourcePools {
		add("resource pool", pool.ID, pool.Path)
	}
	if s.OwnerTag != nil {
		add("tag", s.OwnerTag.ID, s.OwnerTag.Path)
	}
}
