// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// OpenStackMachineSpec is everything that the driver needs to create a server. All references are IDs.
type OpenStackMachineSpec struct {
	// Connection is how the site is reached.
	Connection OpenStackConnection `json:"connection"`
	// ProjectID is the ID of the project that the server is in. The driver rejects credentials of another project, because the server would
	// not be found there. Default: any project.
	// +optional
	ProjectID string `json:"projectID,omitempty"`
	// Region is the region that the server is in. The driver rejects a connection to another region, because the server would not be found
	// there. Default: that of the connection.
	// +optional
	Region string `json:"region,omitempty"`
	// FlavorID is the ID of the flavor.
	FlavorID string `json:"flavorID"`
	// ImageID is the ID of the image.
	ImageID string `json:"imageID"`
	// AvailabilityZone is Nova's availability zone.
	AvailabilityZone string `json:"availabilityZone"`
	// NetworkID is the ID of the network of the machine's port.
	NetworkID string `json:"networkID"`
	// SubnetID is the ID of the subnet of the machine's port.
	SubnetID string `json:"subnetID"`
	// SecurityGroupIDs are the IDs of the security groups of the machine's port.
	SecurityGroupIDs []string `json:"securityGroupIDs"`
	// KeyName is the name of the key pair.
	// +optional
	KeyName string `json:"keyName,omitempty"`
	// RootDisk makes the server boot from a volume. Default: the flavor's disk.
	// +optional
	RootDisk *OpenStackRootDisk `json:"rootDisk,omitempty"`
	// DataDisks are further volumes that are created with the server and deleted with it.
	// +optional
	DataDisks []OpenStackDataDisk `json:"dataDisks,omitempty"`
	// ServerGroupID is the ID of the server group of the pool.
	// +optional
	ServerGroupID string `json:"serverGroupID,omitempty"`
	// FloatingNetworkID is the ID of the external network of the machine's floating IP, empty if it has none.
	// +optional
	FloatingNetworkID string `json:"floatingNetworkID,omitempty"`
	// FloatingSubnetID is the ID of the subnet of the floating IP. Default: chosen by Neutron.
	// +optional
	FloatingSubnetID string `json:"floatingSubnetID,omitempty"`
	// PodCIDRs are the ranges that the machine's port may send from in addition to its own address.
	// +optional
	PodCIDRs []string `json:"podCIDRs,omitempty"`
	// Metadata is further metadata of the server.
	// +optional
	Metadata map[string]string `json:"metadata,omitempty"`
}

// OpenStackRootDisk is the volume that a server boots from. It is deleted with the server.
type OpenStackRootDisk struct {
	// Type is the Cinder volume type. Default: the site's default type.
	// +optional
	Type string `json:"type,omitempty"`
	// Size is the size in GiB.
	Size int `json:"size"`
}

// OpenStackDataDisk is a further volume of a server.
type OpenStackDataDisk struct {
	// Name is the name of the data volume in the pool.
	Name string `json:"name"`
	// Type is the Cinder volume type. Default: the site's default type.
	// +optional
	Type string `json:"type,omitempty"`
	// Size is the size in GiB.
	Size int `json:"size"`
}

// OpenStackWorker configures a pool at an OpenStack site.
type OpenStackWorker struct {
	// ServerGroup configures a server group of the pool's servers at the site. A change rolls the pool's machines on the site.
	// +optional
	ServerGroup *OpenStackServerGroup `json:"serverGroup,omitempty"`
	// AdditionalSecurityGroups are names or IDs of security groups of the servers' ports in addition to that of the nodes.
	// +optional
	AdditionalSecurityGroups []string `json:"additionalSecurityGroups,omitempty"`
	// MachineLabels are metadata of the servers.
	// +optional
	MachineLabels []OpenStackMachineLabel `json:"machineLabels,omitempty"`
	// FloatingIP gives each machine a floating IP of the router's external network. A change applies to new machines only.
	// +optional
	FloatingIP bool `json:"floatingIP,omitempty"`
}

// OpenStackServerGroup describes the server group of a pool.
type OpenStackServerGroup struct {
	// Policy is one of the CloudProfile's serverGroupPolicies.
	Policy string `json:"policy"`
}

// OpenStackMachineLabel is an entry of the metadata of servers.
type OpenStackMachineLabel struct {
	// Name is the key.
	Name string `json:"name"`
	// Value is the value.
	Value string `json:"value"`
	// TriggerRollingOnUpdate is true if a change of the label rolls the pool's machines at the site. Otherwise a change applies to new
	// machines only.
	// +optional
	TriggerRollingOnUpdate bool `json:"triggerRollingOnUpdate,omitempty"`
}
