// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
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

// Topology says how the nodes of different sites reach each other.
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
	// MTU is what the node network carries, in bytes. Default: the smallest of the sites.
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
}

// InfrastructureSite is a site that the shoot uses. The block of the site's platform may be set.
type InfrastructureSite struct {
	// Name is the name of the site in the CloudProfile.
	Name string `json:"name"`
	// Nodes is the site's address range: for Stretched disjoint parts of networks.nodes, for Routed the site's subnet.
	Nodes []string `json:"nodes"`
	// Gateway is the default gateway of the site's nodes where it differs from that of the network.
	// +optional
	Gateway string `json:"gateway,omitempty"`
	// DNSServers are the resolvers of the site's nodes. Default: those of the CloudProfile.
	// +optional
	DNSServers []string `json:"dnsServers,omitempty"`
	// MTU is what the site's node network carries, in bytes. Default: that of the CloudProfile, or what the platform tells.
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
	// OpenStack configures an OpenStack site.
	// +optional
	OpenStack *OpenStackInfrastructure `json:"openstack,omitempty"`
	// VSphere configures a vSphere site.
	// +optional
	VSphere *VSphereInfrastructure `json:"vsphere,omitempty"`
	// Metal configures a bare-metal site.
	// +optional
	Metal *MetalInfrastructure `json:"metal,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// InfrastructureStatus is the providerStatus of an Infrastructure: what the Worker and the ControlPlane need to know of
// each site.
type InfrastructureStatus struct {
	metav1.TypeMeta `json:",inline"`

	// Sites are the sites of the shoot that are ready for machines.
	// +optional
	Sites []SiteStatus `json:"sites,omitempty"`
	// Orphans are what a forced deletion had to leave behind.
	// +optional
	Orphans []Orphan `json:"orphans,omitempty"`
}

// Orphan is an object of the shoot that was left behind in a site.
type Orphan struct {
	// Site is the name of the site.
	Site string `json:"site"`
	// Kind is what the site's API calls such an object, for example server, port or loadbalancer.
	Kind string `json:"kind"`
	// ID is the ID of the object in the site.
	// +optional
	ID string `json:"id,omitempty"`
	// Name is the name of the object in the site.
	// +optional
	Name string `json:"name,omitempty"`
	// Reason says why the object is left, or why the site could not be looked at.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// SiteStatus is what a site's infrastructure came to. The block of the site's platform is set.
type SiteStatus struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Validated identifies the configuration for which look-ups in the site found no mistake, so that they are not repeated.
	// +optional
	Validated string `json:"validated,omitempty"`
	// Reconciled identifies the configuration that the site was last reconciled with; it is empty while something has to be done there. As
	// long as it stays the same, a site that fails keeps no other site waiting.
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
	Metal *MetalStatus `json:"metal,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// InfrastructureState is the state of an Infrastructure: everything that is needed to find, adopt and delete what exists in
// the sites, also after a site left the Shoot or the CloudProfile.
type InfrastructureState struct {
	metav1.TypeMeta `json:",inline"`

	// Sites are the sites that have, or may have, objects of this shoot.
	// +optional
	Sites []SiteState `json:"sites,omitempty"`
}

// SiteState is the state of one site. The block of the site's platform is set.
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
	Metal *MetalState `json:"metal,omitempty"`
}
