// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// LabelInitializedBy is the node label with the name of the site whose cloud controllers found the node's machine when the
	// node joined. Only that site can prove that the machine is gone.
	LabelInitializedBy = GroupName + "/initialized-by"
	// AnnotationLoadBalancerSite is the annotation of a Service with the name of the site that has, or is about to have, its load
	// balancer.
	AnnotationLoadBalancerSite = GroupName + "/load-balancer-site"
	// LoadBalancerClassPrefix and the name of a site are the load balancer class that asks for that site.
	LoadBalancerClassPrefix = GroupName + "/"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CloudControllerManagerConfiguration is the configuration file of the cloud-controller-manager of a shoot. It holds no
// credentials.
type CloudControllerManagerConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// Shoot is the technical ID of the shoot, the owner of the machines.
	Shoot string `json:"shoot"`
	// Region is the Gardener region, which all nodes have as their topology region.
	Region string `json:"region"`
	// DefaultSite serves Services of type LoadBalancer without a class. Default: they are not served.
	// +optional
	DefaultSite string `json:"defaultSite,omitempty"`
	// Sites are the sites with nodes.
	Sites []CloudControllerSite `json:"sites"`
}

// CloudControllerSite is a site for the cloud-controller-manager. The block of exactly one platform is set.
type CloudControllerSite struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// CSIDrivers are the names of the CSI drivers whose node service must be registered in a node's CSINode before the node is
	// initialized. Default: none.
	// +optional
	CSIDrivers []string `json:"csiDrivers,omitempty"`
	// OpenStack is an OpenStack site.
	// +optional
	OpenStack *OpenStackCloudController `json:"openstack,omitempty"`
	// VSphere is a vSphere site.
	// +optional
	VSphere *VSphereCloudController `json:"vsphere,omitempty"`
	// Metal is a bare-metal site.
	// +optional
	Metal  *MetalCloudController `json:"metal,omitempty"`
	Blocks `json:"-"`
}

// LoadBalancerMembers says which nodes are members of the site's load balancers, and is empty if the site has none.
func (s *CloudControllerSite) LoadBalancerMembers() LoadBalancerMembers {
	if s.OpenStack == nil || s.OpenStack.LoadBalancer == nil {
		return ""
	}
	return s.OpenStack.LoadBalancer.Members
}

// OpenStackCloudController is an OpenStack site for the cloud-controller-manager.
type OpenStackCloudController struct {
	// Connection is how the site is reached.
	Connection OpenStackConnection `json:"connection"`
	// ProjectID is the ID of the project that the nodes are in. Credentials of another project are rejected, because no machine would be
	// found there. Default: any project.
	// +optional
	ProjectID string `json:"projectID,omitempty"`
	// Region is the region that the nodes are in. A connection to another region is rejected. Default: that of the connection.
	// +optional
	Region string `json:"region,omitempty"`
	// Zones are the zones of the site.
	Zones []OpenStackCloudControllerZone `json:"zones"`
	// LoadBalancer configures the load balancers. Default: the site has none.
	// +optional
	LoadBalancer *OpenStackLoadBalancer `json:"loadBalancer,omitempty"`
}

// OpenStackCloudControllerZone is a zone of an OpenStack site.
type OpenStackCloudControllerZone struct {
	// Name is the name of the Gardener zone.
	Name string `json:"name"`
	// AvailabilityZone is Nova's availability zone.
	AvailabilityZone string `json:"availabilityZone"`
}

// LoadBalancerMembers are the nodes that are members of load balancers.
type LoadBalancerMembers string

const (
	// LoadBalancerMembersSite are the nodes of the load balancer's site.
	LoadBalancerMembersSite LoadBalancerMembers = "Site"
	// LoadBalancerMembersAll are the nodes of all sites. The site must reach their addresses.
	LoadBalancerMembersAll LoadBalancerMembers = "All"
)

// OpenStackLoadBalancer configures the load balancers of an OpenStack site.
type OpenStackLoadBalancer struct {
	// Provider is the Octavia provider. Default: amphora.
	// +optional
	Provider string `json:"provider,omitempty"`
	// Members are Site or All. Default: Site.
	// +optional
	Members LoadBalancerMembers `json:"members,omitempty"`
	// SubnetID is the subnet of the VIPs and of the members: that of the nodes.
	SubnetID string `json:"subnetID"`
	// FloatingNetworkID is the external network of the floating IPs.
	// +optional
	FloatingNetworkID string `json:"floatingNetworkID,omitempty"`
	// FloatingSubnetID is the external subnet of the floating IPs. Default: chosen by Neutron.
	// +optional
	FloatingSubnetID string `json:"floatingSubnetID,omitempty"`
	// FloatingNetworks are the IDs of the external networks that Services may use, in addition to that of the floating IPs and those of the
	// classes. Default: all.
	// +optional
	FloatingNetworks []string `json:"floatingNetworks,omitzero"`
	// Classes are the classes that Services may use. Their purposes are ignored.
	// +optional
	Classes []OpenStackLoadBalancerClass `json:"classes,omitempty"`
}

// VSphereCloudController is a vSphere site for the cloud-controller-manager.
type VSphereCloudController struct {
	// Connection is how the site is reached.
	Connection VSphereConnection `json:"connection"`
	// Zones are the zones of the site.
	Zones []VSphereCloudControllerZone `json:"zones"`
}

// VSphereCloudControllerZone is a zone of a vSphere site. References are managed object IDs.
type VSphereCloudControllerZone struct {
	// Name is the name of the Gardener zone.
	Name string `json:"name"`
	// ComputeCluster is the cluster.
	ComputeCluster string `json:"computeCluster"`
	// ResourcePool is the resource pool of the zone's machines. It distinguishes zones of one cluster.
	// +optional
	ResourcePool string `json:"resourcePool,omitempty"`
	// Folder is the VM folder of the zone's machines. While it cannot be read, a machine that is not found is assumed to exist. Default: a
	// machine that is not found does not exist.
	// +optional
	Folder string `json:"folder,omitempty"`
}

// MetalCloudController is a bare-metal site for the cloud-controller-manager.
type MetalCloudController struct {
	// Connection is how the site is reached.
	Connection MetalConnection `json:"connection"`
	// Zones are the zones of the site.
	Zones []MetalCloudControllerZone `json:"zones"`
	// NamespaceUID is the UID of the namespace of the inventory. Another namespace of the same name is rejected, because no machine would be
	// found there.
	// +optional
	NamespaceUID string `json:"namespaceUID,omitempty"`
}

// MetalCloudControllerZone is a zone of a bare-metal site.
type MetalCloudControllerZone struct {
	// Name is the name of the Gardener zone.
	Name string `json:"name"`
	// HostSelector selects the hosts of the zone. Default: all hosts.
	// +optional
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`
}
