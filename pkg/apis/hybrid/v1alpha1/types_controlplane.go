// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ControlPlaneConfig is the controlPlaneConfig of a Shoot.
type ControlPlaneConfig struct {
	metav1.TypeMeta `json:",inline"`

	// DefaultSite serves Services of type LoadBalancer without a class and owns the default storage class. It is required if
	// the shoot uses several sites.
	// +optional
	DefaultSite string `json:"defaultSite,omitempty"`
	// CloudControllerManager configures the cloud-controller-manager.
	// +optional
	CloudControllerManager *CloudControllerManagerConfig `json:"cloudControllerManager,omitempty"`
	// Bastion configures the bastions through which nodes are reached by SSH.
	// +optional
	Bastion *BastionConfig `json:"bastion,omitempty"`
	// Sites are settings of sites that the shoot uses.
	// +optional
	Sites []ControlPlaneSite `json:"sites,omitempty"`
}

// Site returns the settings of the site, empty ones if there are none.
func (c *ControlPlaneConfig) Site(name string) ControlPlaneSite {
	for _, site := range c.Sites {
		if site.Name == name {
			return site
		}
	}
	return ControlPlaneSite{Name: name}
}

// ControlPlaneSite configures a site.
type ControlPlaneSite struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// LoadBalancer configures what serves Services of type LoadBalancer of the site. Default: Octavia at OpenStack sites, nothing at others.
	// +optional
	LoadBalancer *SiteLoadBalancer `json:"loadBalancer,omitempty"`
	// Storage configures volumes of the site other than those of the CloudProfile's storage classes.
	// +optional
	Storage *SiteStorage `json:"storage,omitempty"`
}

// HasShares reports whether the site has volumes that are shares.
func (s *ControlPlaneSite) HasShares() bool {
	return s.Storage != nil && s.Storage.CSIManila != nil && s.Storage.CSIManila.Enabled
}

// SiteStorage configures volumes of a site.
type SiteStorage struct {
	// CSIManila configures volumes that are shares of Manila. It is supported at OpenStack sites only.
	// +optional
	CSIManila *CSIManila `json:"csiManila,omitempty"`
}

// CSIManila configures volumes that are NFS shares of Manila, which many pods can use at the same time.
type CSIManila struct {
	// Enabled is true if the site has the storage class manila-<site>. It requires openstack.shareNetwork.enabled of the site in the
	// InfrastructureConfig.
	Enabled bool `json:"enabled"`
	// ShareType is the share type of Manila. Default: chosen by Manila.
	// +optional
	ShareType string `json:"shareType,omitempty"`
}

// ShareClass is the name of the storage class for shares of the site.
func ShareClass(site string) string {
	return "manila-" + site
}

// SiteLoadBalancer configures what serves Services of type LoadBalancer of a site. Exactly one field must be set.
type SiteLoadBalancer struct {
	// OpenStack configures Octavia. It is supported at OpenStack sites only.
	// +optional
	OpenStack *OpenStackLoadBalancerConfig `json:"openstack,omitempty"`
	Blocks    `json:"-"`
	// MetalLB configures MetalLB on the nodes of the site. It is not supported at OpenStack sites.
	// +optional
	MetalLB *MetalLB `json:"metalLB,omitempty"`
}

// OpenStackLoadBalancerConfig configures the load balancers of an OpenStack site.
type OpenStackLoadBalancerConfig struct {
	// Provider is one of the CloudProfile's loadBalancerProviders. Default: the first of them, amphora if there is none.
	// +optional
	Provider string `json:"provider,omitempty"`
	// Members are Site or All. Default: Site.
	// +optional
	Members LoadBalancerMembers `json:"members,omitempty"`
	// Classes are the classes that Services may use. Default: those of the floating pool in the CloudProfile.
	// +optional
	Classes []OpenStackLoadBalancerClass `json:"classes,omitempty"`
}

// MetalLB configures load balancers that run on the nodes of a site.
type MetalLB struct {
	// AddressPools are the addresses of the load balancers.
	AddressPools []MetalLBAddressPool `json:"addressPools"`
	// BGP is how the addresses of pools with the advertisement BGP are announced.
	// +optional
	BGP *MetalLBBGP `json:"bgp,omitempty"`
}

// MetalLBAdvertisement is how the addresses of a pool are announced.
type MetalLBAdvertisement string

const (
	// MetalLBAdvertisementL2 makes a node of the site answer for the address in the node network.
	MetalLBAdvertisementL2 MetalLBAdvertisement = "L2"
	// MetalLBAdvertisementBGP makes the nodes of the site announce the address to routers.
	MetalLBAdvertisementBGP MetalLBAdvertisement = "BGP"
)

// MetalLBAddressPool is a pool of addresses of load balancers.
type MetalLBAddressPool struct {
	// Name is the name of the pool, a DNS label that is unique at the site.
	Name string `json:"name"`
	// CIDRs are the addresses, as CIDRs or as ranges such as 192.0.2.10-192.0.2.20. They must not be used by machines.
	CIDRs []string `json:"cidrs"`
	// Advertisement is L2 or BGP.
	Advertisement MetalLBAdvertisement `json:"advertisement"`
	// AutoAssign is false if only Services that name the pool get its addresses. Default: true.
	// +optional
	AutoAssign *bool `json:"autoAssign,omitempty"`
}

// MetalLBBGP is how addresses are announced to routers.
type MetalLBBGP struct {
	// LocalASN is the number of the autonomous system of the nodes.
	LocalASN uint32 `json:"localASN"`
	// Peers are the routers.
	Peers []MetalLBPeer `json:"peers"`
}

// MetalLBPeer is a router.
type MetalLBPeer struct {
	// Address is the IP address of the router.
	Address string `json:"address"`
	// ASN is the number of the autonomous system of the router.
	ASN uint32 `json:"asn"`
	// Port is the port of the router. Default: 179.
	// +optional
	Port int32 `json:"port,omitempty"`
	// EBGPMultiHop is true if the router is more than one hop away.
	// +optional
	EBGPMultiHop bool `json:"ebgpMultiHop,omitempty"`
}

// CloudControllerManagerConfig configures the cloud-controller-manager.
type CloudControllerManagerConfig struct {
	// FeatureGates enables or disables feature gates by name.
	// +optional
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}
