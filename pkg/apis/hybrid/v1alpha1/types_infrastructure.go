// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// InfrastructureConfig is the infrastructureConfig of a Shoot: its node network and the sites that it uses.
type InfrastructureConfig struct {
	metav1.TypeMeta `json:",inline"`

	// Networks describes the node network as a whole.
	Networks Networks `json:"networks"`
	// Sites are the sites that the shoot uses, and their part of the node network.
	Sites []InfrastructureSite `json:"sites"`
}

// Topology is how the nodes of different sites reach each other.
type Topology string

const (
	// TopologyStretched is one L2 network over all sites, in which each site owns a disjoint address range.
	TopologyStretched Topology = "Stretched"
	// TopologyRouted is one subnet per site, routed between them.
	TopologyRouted Topology = "Routed"
)

// Networks describes the node network as a whole.
type Networks struct {
	// Topology is Stretched or Routed. It is immutable.
	Topology Topology `json:"topology"`
	// Nodes is, for Stretched, the address range of the one network, one CIDR per IP family, equal to the Shoot's
	// spec.networking.nodes. For Routed it is unset.
	// +optional
	Nodes []string `json:"nodes,omitempty"`
	// Gateway is the default gateway of a Stretched network. Default: the first address of nodes.
	// +optional
	Gateway string `json:"gateway,omitempty"`
	// MTU is the MTU of the node network in bytes. Default: the smallest of the sites.
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
}

// InfrastructureSite is a site that the shoot uses. The block of the site's platform may be set.
type InfrastructureSite struct {
	// Name is the name of the site in the CloudProfile.
	Name string `json:"name"`
	// Nodes is the site's address range: for Stretched disjoint parts of networks.nodes, for Routed the site's subnet, which is required.
	// Default with Stretched: a free part of networks.nodes, which admission chooses unless DHCP gives the addresses.
	// +optional
	Nodes []string `json:"nodes,omitempty"`
	// Gateway is the default gateway of the site's nodes if it differs from that of the network.
	// +optional
	Gateway string `json:"gateway,omitempty"`
	// DNSServers are the resolvers of the site's nodes. Default: those of the CloudProfile.
	// +optional
	DNSServers []string `json:"dnsServers,omitempty"`
	// MTU is the MTU of the site's node network in bytes. Default: that of the CloudProfile, or what the platform reports.
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
	// MaximumMachines is the maximum number of the shoot's machines on the site, over all pools. It must not be greater than that of the
	// CloudProfile. Default: that of the CloudProfile.
	// +optional
	MaximumMachines *int32 `json:"maximumMachines,omitempty"`
	// OpenStack configures an OpenStack site.
	// +optional
	OpenStack *OpenStackInfrastructure `json:"openstack,omitempty"`
	// VSphere configures a vSphere site.
	// +optional
	VSphere *VSphereInfrastructure `json:"vsphere,omitempty"`
	// Metal configures a bare-metal site.
	// +optional
	Metal  *MetalInfrastructure `json:"metal,omitempty"`
	Blocks `json:"-"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// InfrastructureStatus is the providerStatus of an Infrastructure: what the Worker and the ControlPlane need to know about each site.
type InfrastructureStatus struct {
	metav1.TypeMeta `json:",inline"`

	// Sites are the sites of the shoot that are ready for machines.
	// +optional
	Sites []SiteStatus `json:"sites,omitempty"`
	// Orphans are the objects that a forced deletion left behind.
	// +optional
	Orphans []Orphan `json:"orphans,omitempty"`
}

// Orphan is an object of the shoot that was left behind in a site.
type Orphan struct {
	// Site is the name of the site.
	Site string `json:"site"`
	// Kind is the kind of the object in the site's API, for example server, port or loadbalancer.
	Kind string `json:"kind"`
	// ID is the ID of the object in the site.
	// +optional
	ID string `json:"id,omitempty"`
	// Name is the name of the object in the site.
	// +optional
	Name string `json:"name,omitempty"`
	// Reason is why the object was left behind, or why the site could not be queried.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// SiteStatus is the observed state of a site's infrastructure. The block of the site's platform must be set.
type SiteStatus struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Validated identifies the configuration that was validated against the site, so that the validation is not repeated.
	// +optional
	Validated string `json:"validated,omitempty"`
	// Reconciled identifies the configuration that the site was last reconciled with; it is empty while changes are pending. As long as it
	// is unchanged, a site that fails does not block other sites.
	// +optional
	Reconciled string `json:"reconciled,omitempty"`
	// EgressCIDRs are the stable addresses from which the site's nodes reach other networks; empty if there are none.
	// +optional
	EgressCIDRs []string `json:"egressCIDRs,omitempty"`
	// OpenStack is the status of an OpenStack site.
	// +optional
	OpenStack *OpenStackStatus `json:"openstack,omitempty"`
	// VSphere is the status of a vSphere site.
	// +optional
	VSphere *VSphereStatus `json:"vsphere,omitempty"`
	// Metal is the status of a bare-metal site.
	// +optional
	Metal  *MetalStatus `json:"metal,omitempty"`
	Blocks `json:"-"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// InfrastructureState is the state of an Infrastructure: everything that is needed to find, adopt and delete the objects at the sites,
// even after a site was removed from the Shoot or the CloudProfile.
type InfrastructureState struct {
	metav1.TypeMeta `json:",inline"`

	// Sites are the sites that have, or may have, objects of this shoot.
	// +optional
	Sites []SiteState `json:"sites,omitempty"`
}

// SiteState is the state of one site. The block of the site's platform must be set.
type SiteState struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// OpenStack is the state of an OpenStack site.
	// +optional
	OpenStack *OpenStackState `json:"openstack,omitempty"`
	// VSphere is the state of a vSphere site.
	// +optional
	VSphere *VSphereState `json:"vsphere,omitempty"`
	// Metal is the state of a bare-metal site.
	// +optional
	Metal  *MetalState `json:"metal,omitempty"`
	Blocks `json:"-"`
}

// IPAM names an address pool of the Cluster API IPAM contract.
type IPAM struct {
	// PoolRef is the pool.
	PoolRef corev1.TypedLocalObjectReference `json:"poolRef"`
}
