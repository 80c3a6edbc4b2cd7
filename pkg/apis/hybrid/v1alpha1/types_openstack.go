// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OpenStackProfile describes an OpenStack site in the CloudProfile.
type OpenStackProfile struct {
	// AuthURL is the address of Keystone's version 3 API.
	AuthURL string `json:"authURL"`
	// Region is the Keystone region.
	Region string `json:"region"`
	// EndpointType is the catalog interface that is used: public, internal or admin. Default: public.
	// +optional
	EndpointType string `json:"endpointType,omitempty"`
	// FloatingPools are the external networks that shoots may use.
	// +optional
	FloatingPools []OpenStackFloatingPool `json:"floatingPools,omitempty"`
	// LoadBalancerProviders are the Octavia providers that shoots may use.
	// +optional
	LoadBalancerProviders []string `json:"loadBalancerProviders,omitempty"`
	// ServerGroupPolicies are the server group policies that pools may use.
	// +optional
	ServerGroupPolicies []string `json:"serverGroupPolicies,omitempty"`
	// Networks are the IDs of the networks that shoots may use for their nodes. An empty list allows none. Default: all that are not marked
	// as another shoot's.
	// +optional
	Networks []string `json:"networks,omitzero"`
	// SecurityGroups are the IDs and names of the security groups that shoots may use. An empty list allows none. Default: all that are not
	// marked as another shoot's.
	// +optional
	SecurityGroups []string `json:"securityGroups,omitzero"`
	// ProviderNetworks is true if shoots may configure a provider network. Default: true.
	// +optional
	ProviderNetworks *bool `json:"providerNetworks,omitempty"`
	// FloatingNetworks are the IDs of the external networks that load balancer classes of shoots, and Services, may use, in addition to
	// those of floatingPools. An empty list allows no others. Default: all.
	// +optional
	FloatingNetworks []string `json:"floatingNetworks,omitzero"`
	// UseSNAT says whether created routers translate the addresses of nodes to their own. In most clouds, only administrators may choose it.
	// Default: chosen by Neutron.
	// +optional
	UseSNAT *bool `json:"useSNAT,omitempty"`
	// NodeVolumeAttachLimit is the maximum number of volumes of the CSI driver on a node, from 1 to 256. Default: no limit.
	// +optional
	NodeVolumeAttachLimit *int32 `json:"nodeVolumeAttachLimit,omitempty"`
}

// OpenStackFloatingPool is an external network that shoots may use.
type OpenStackFloatingPool struct {
	// Name is the name of the external network.
	Name string `json:"name"`
	// LoadBalancerClasses are the classes of load balancers in this pool.
	// +optional
	LoadBalancerClasses []OpenStackLoadBalancerClass `json:"loadBalancerClasses,omitempty"`
}

// OpenStackLoadBalancerClass is a class of load balancers.
type OpenStackLoadBalancerClass struct {
	// Name is the name of the class.
	Name string `json:"name"`
	// Purpose is default, private or empty.
	// +optional
	Purpose string `json:"purpose,omitempty"`
	// FloatingNetworkID is the external network of the floating IPs.
	// +optional
	FloatingNetworkID string `json:"floatingNetworkID,omitempty"`
	// FloatingSubnetID is the external subnet of the floating IPs.
	// +optional
	FloatingSubnetID string `json:"floatingSubnetID,omitempty"`
	// NetworkID is the network of the VIP.
	// +optional
	NetworkID string `json:"networkID,omitempty"`
	// SubnetID is the subnet of the VIP.
	// +optional
	SubnetID string `json:"subnetID,omitempty"`
}

// OpenStackZone is a zone of an OpenStack site.
type OpenStackZone struct {
	// AvailabilityZone is Nova's availability zone.
	AvailabilityZone string `json:"availabilityZone"`
}

// OpenStackStorageClass is a class of Cinder volumes.
type OpenStackStorageClass struct {
	// Type is the Cinder volume type.
	// +optional
	Type string `json:"type,omitempty"`
	// AvailabilityZone is Cinder's availability zone.
	// +optional
	AvailabilityZone string `json:"availabilityZone,omitempty"`
}

// OpenStackMachineType is a machine type on an OpenStack site.
type OpenStackMachineType struct {
	// Flavor is the name of the Nova flavor.
	Flavor string `json:"flavor"`
}

// OpenStackVolumeType is a volume type on an OpenStack site.
type OpenStackVolumeType struct {
	// Type is the Cinder volume type.
	Type string `json:"type"`
}

// OpenStackImage is a machine image on an OpenStack site. Exactly one field must be set.
type OpenStackImage struct {
	// ImageID is the ID of the Glance image.
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// ImageName is the name of the Glance image. It is resolved once, by the Worker actuator, and must be unique.
	// +optional
	ImageName string `json:"imageName,omitempty"`
}

// OpenStackInfrastructure configures an OpenStack site of a shoot. Objects given by ID are used and checked, but never
// changed or deleted.
type OpenStackInfrastructure struct {
	// FloatingPoolName is the external network of the router. Required unless a router is given.
	// +optional
	FloatingPoolName string `json:"floatingPoolName,omitempty"`
	// FloatingSubnet is the subnet of the external network that the created router gets its address from. Default: chosen by Neutron.
	// +optional
	FloatingSubnet *OpenStackFloatingSubnet `json:"floatingSubnet,omitempty"`
	// Network is the network of the nodes. Default: a tenant network is created.
	// +optional
	Network *OpenStackNetwork `json:"network,omitempty"`
	// Subnet is the subnet of the nodes. Requires network.id. Default: a subnet is created.
	// +optional
	Subnet *OpenStackReference `json:"subnet,omitempty"`
	// Router is the router of the nodes. Default: a router is created.
	// +optional
	Router *OpenStackReference `json:"router,omitempty"`
	// SecurityGroup is the security group of the nodes. Default: a security group is created.
	// +optional
	SecurityGroup *OpenStackReference `json:"securityGroup,omitempty"`
	// ShareNetwork configures a share network of the shared file system service in the subnet of the nodes.
	// +optional
	ShareNetwork *OpenStackShareNetwork `json:"shareNetwork,omitempty"`
}

// OpenStackFloatingSubnet names a subnet of an external network. Exactly one field must be set.
type OpenStackFloatingSubnet struct {
	// ID is the ID of the subnet.
	// +optional
	ID string `json:"id,omitempty"`
	// Name is the name of the subnet. It must be unique in the external network.
	// +optional
	Name string `json:"name,omitempty"`
}

// OpenStackShareNetwork configures the network of the shared file system service (Manila).
type OpenStackShareNetwork struct {
	// Enabled is true if a share network is created.
	Enabled bool `json:"enabled"`
}

// OpenStackReference refers to an existing object.
type OpenStackReference struct {
	// ID is the ID of the object.
	ID string `json:"id"`
}

// OpenStackNetwork is an existing network or a provider network that is created. Exactly one field must be set.
type OpenStackNetwork struct {
	// ID is the ID of an existing network.
	// +optional
	ID string `json:"id,omitempty"`
	// Provider describes the provider network that is created. In most clouds, only administrators may create one.
	// +optional
	Provider *OpenStackProviderNetwork `json:"provider,omitempty"`
}

// OpenStackProviderNetwork are the provider attributes of a network.
type OpenStackProviderNetwork struct {
	// NetworkType is flat, vlan, vxlan, gre or geneve.
	NetworkType string `json:"networkType"`
	// PhysicalNetwork is the name of the physical network.
	// +optional
	PhysicalNetwork string `json:"physicalNetwork,omitempty"`
	// SegmentationID is the VLAN ID or tunnel key.
	// +optional
	SegmentationID *int32 `json:"segmentationID,omitempty"`
}

// OpenStackConnection is how an OpenStack site is reached. It holds no credentials.
type OpenStackConnection struct {
	// AuthURL is the address of Keystone's version 3 API.
	AuthURL string `json:"authURL"`
	// Region is the Keystone region.
	Region string `json:"region"`
	// EndpointType is the catalog interface that is used.
	// +optional
	EndpointType string `json:"endpointType,omitempty"`
	// TLS configures how the certificate of the API is verified.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
	// Proxy is the HTTP proxy through which the API is reached.
	// +optional
	Proxy *Proxy `json:"proxy,omitempty"`
	// RequestTimeout limits one request.
	// +optional
	RequestTimeout *metav1.Duration `json:"requestTimeout,omitempty"`
}

// OpenStackStatus is the observed state of the infrastructure of an OpenStack site.
type OpenStackStatus struct {
	// ProjectID is the ID of the project that the shoot is in. Machines and cloud controllers reject credentials of another project.
	// +optional
	ProjectID string `json:"projectID,omitempty"`
	// Region is the region that the shoot is in. Machines, cloud controllers and volumes reject a connection to another region.
	// +optional
	Region string `json:"region,omitempty"`
	// NetworkID is the ID of the network of the nodes.
	NetworkID string `json:"networkID"`
	// NetworkMTU is the MTU of the network in bytes.
	// +optional
	NetworkMTU int32 `json:"networkMTU,omitempty"`
	// SubnetID is the ID of the subnet of the nodes.
	SubnetID string `json:"subnetID"`
	// RouterID is the ID of the router of the nodes.
	// +optional
	RouterID string `json:"routerID,omitempty"`
	// FloatingNetworkID is the ID of the router's external network.
	// +optional
	FloatingNetworkID string `json:"floatingNetworkID,omitempty"`
	// FloatingSubnetID is the ID of the requested subnet of the external network.
	// +optional
	FloatingSubnetID string `json:"floatingSubnetID,omitempty"`
	// SecurityGroupID is the ID of the security group of the nodes.
	SecurityGroupID string `json:"securityGroupID"`
	// ShareNetworkID is the ID of the share network.
	// +optional
	ShareNetworkID string `json:"shareNetworkID,omitempty"`
	// KeyName is the name of the key pair of the nodes.
	// +optional
	KeyName string `json:"keyName,omitempty"`
}

// OpenStackState is the state of an OpenStack site. An ID is recorded as soon as the object exists.
type OpenStackState struct {
	// Connection is how the site is reached, even after it was removed from the CloudProfile. Its region is that of the objects: a
	// connection to another region is rejected, because no object would be found there.
	Connection OpenStackConnection `json:"connection"`
	// ProjectID is the ID of the project that the objects are in. Credentials of another project are rejected, because no object would be
	// found there.
	// +optional
	ProjectID string `json:"projectID,omitempty"`
	// NodeRanges are the ranges of the site's nodes. Objects that Services left behind belong to the site if they refer to these ranges.
	// +optional
	NodeRanges []string `json:"nodeRanges,omitempty"`
	// PodRanges are the shoot's pod ranges. Routes to them via the site's nodes belong to the shoot.
	// +optional
	PodRanges []string `json:"podRanges,omitempty"`
	// Network is the network of the nodes.
	// +optional
	Network *OpenStackObject `json:"network,omitempty"`
	// Subnet is the subnet of the nodes.
	// +optional
	Subnet *OpenStackObject `json:"subnet,omitempty"`
	// Router is the router of the nodes.
	// +optional
	Router *OpenStackObject `json:"router,omitempty"`
	// RouterInterface is the subnet whose interface was added to the router.
	// +optional
	RouterInterface *OpenStackObject `json:"routerInterface,omitempty"`
	// FloatingNetwork is the external network of the router.
	// +optional
	FloatingNetwork *OpenStackObject `json:"floatingNetwork,omitempty"`
	// SecurityGroup is the security group of the nodes.
	// +optional
	SecurityGroup *OpenStackObject `json:"securityGroup,omitempty"`
	// KeyPair is the key pair of the nodes; its ID is its name.
	// +optional
	KeyPair *OpenStackObject `json:"keyPair,omitempty"`
	// FormerKeyPair is the key pair before the last rotation; its ID is its name. Machine classes may still refer to it.
	// +optional
	FormerKeyPair *OpenStackObject `json:"formerKeyPair,omitempty"`
	// ShareNetwork is the share network of the nodes' subnet.
	// +optional
	ShareNetwork *OpenStackObject `json:"shareNetwork,omitempty"`
}

// OpenStackObject is an object in an OpenStack site.
type OpenStackObject struct {
	// ID is the ID of the object.
	ID string `json:"id"`
	// Managed is true for objects that were created for the shoot. Other objects are never changed or deleted.
	// +optional
	Managed bool `json:"managed,omitempty"`
}

// Endpoint returns the address of Keystone.
func (p *OpenStackProfile) Endpoint() string { return p.AuthURL }

// Scope returns the region.
func (p *OpenStackProfile) Scope() map[string]string { return openStackScope(p.Region) }

// LoadBalancerProvider returns the Octavia provider for the settings.
func (p *OpenStackProfile) LoadBalancerProvider(settings OpenStackLoadBalancerConfig) string {
	switch {
	case settings.Provider != "":
		return settings.Provider
	case len(p.LoadBalancerProviders) > 0:
		return p.LoadBalancerProviders[0]
	default:
		return "amphora"
	}
}

// LoadBalancerClasses returns the classes of load balancers in the floating pool.
func (p *OpenStackProfile) LoadBalancerClasses(floatingPool string) []OpenStackLoadBalancerClass {
	for _, pool := range p.FloatingPools {
		if pool.Name == floatingPool {
			return pool.LoadBalancerClasses
		}
	}
	return nil
}

// Scope returns the region.
func (s *OpenStackState) Scope() map[string]string { return openStackScope(s.Connection.Region) }

func openStackScope(region string) map[string]string {
	return map[string]string{"openstack.region": region}
}

// DiscoveredMTU returns what Neutron says that the network carries, in bytes; zero if it says nothing.
func (s *OpenStackStatus) DiscoveredMTU() int32 { return s.NetworkMTU }

// HasZones reports whether the site has at least one zone.
func (c *OpenStackCloudController) HasZones() bool { return len(c.Zones) > 0 }

// Objects calls add for each object of the shoot in the site, except for those that were given.
func (s *OpenStackState) Objects(add func(kind, id, name string)) {
	for _, o := range []struct {
		kind   string
		object *OpenStackObject
	}{
		{"network", s.Network},
		{"subnet", s.Subnet},
		{"router", s.Router},
		{"security group", s.SecurityGroup},
		{"key pair", s.KeyPair},
		{"share network", s.ShareNetwork},
	} {
		if o.object != nil && o.object.Managed {
			add(o.kind, o.object.ID, "")
		}
	}
}
