// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CloudProfileConfig is the providerConfig of a CloudProfile: the sites that shoots can use and what each of them offers.
type CloudProfileConfig struct {
	metav1.TypeMeta `json:",inline"`

	// Sites are the places where machines run.
	Sites []CloudProfileSite `json:"sites"`
	// MachineTypes maps the CloudProfile's machine types to each site. A machine type is available in a zone if and only if the zone's site
	// is listed.
	// +optional
	MachineTypes []MachineType `json:"machineTypes,omitempty"`
	// VolumeTypes maps the CloudProfile's volume types to each site.
	// +optional
	VolumeTypes []VolumeType `json:"volumeTypes,omitempty"`
	// MachineImages maps the CloudProfile's machine image versions to each site.
	// +optional
	MachineImages []MachineImage `json:"machineImages,omitempty"`
}

// CloudProfileSite is a named place where machines run: one OpenStack project in one region, one vCenter, whose zones may be in several
// datacenters, or one bare-metal inventory. Exactly one of openstack, vsphere and metal is set.
type CloudProfileSite struct {
	// Name is a DNS label of at most 20 characters, unique in the CloudProfile. The names dns, token, config and userdata
	// are reserved.
	Name string `json:"name"`
	// Region is the Gardener region that the site belongs to.
	Region string `json:"region"`
	// DNSServers are the resolvers of the site's node network.
	// +optional
	DNSServers []string `json:"dnsServers,omitempty"`
	// MTU is the MTU of the site's node network in bytes. Default: discovered if the platform reports it.
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
	// TLS configures how the certificate of the site's API is verified.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
	// Proxy is the HTTP proxy through which the site's API is reached.
	// +optional
	Proxy *Proxy `json:"proxy,omitempty"`
	// RequestTimeout limits one request to the site's API. Default: 60s.
	// +optional
	RequestTimeout *metav1.Duration `json:"requestTimeout,omitempty"`
	// Timeouts are the machine timeouts of the site's machines; a pool's own settings take precedence.
	// +optional
	Timeouts *MachineTimeouts `json:"timeouts,omitempty"`
	// Quarantine configures when the site counts as cut off, so that its machines are kept.
	// +optional
	Quarantine *Quarantine `json:"quarantine,omitempty"`
	// MaximumMachines is the maximum number of machines that one shoot may have on the site, over all of its pools. Default: no maximum.
	// +optional
	MaximumMachines *int32 `json:"maximumMachines,omitempty"`
	// NodeSettings are settings of the site's machines that hold from their first boot on. A change replaces the machines of the site.
	// +optional
	NodeSettings *NodeSettings `json:"nodeSettings,omitempty"`
	// OpenStack makes the site an OpenStack site.
	// +optional
	OpenStack *OpenStackProfile `json:"openstack,omitempty"`
	// VSphere makes the site a vSphere site.
	// +optional
	VSphere *VSphereProfile `json:"vsphere,omitempty"`
	// Metal makes the site a bare-metal site.
	// +optional
	Metal  *MetalProfile `json:"metal,omitempty"`
	Blocks `json:"-"`
	// StorageClasses are the storage classes of the site's volumes.
	// +optional
	StorageClasses []StorageClass `json:"storageClasses,omitempty"`
	// Zones are the Gardener zones of the site. A zone belongs to exactly one site.
	Zones []SiteZone `json:"zones"`
}

// TLS configures how the certificate of a site's API is verified. At most one field may be set.
type TLS struct {
	// CACert is a PEM bundle of the certificate authorities that sign the API's certificate.
	// +optional
	CACert string `json:"caCert,omitempty"`
	// Thumbprint is the SHA-1 or SHA-256 fingerprint of the API's certificate, in hexadecimal bytes separated by colons.
	// +optional
	Thumbprint string `json:"thumbprint,omitempty"`
	// InsecureSkipVerify disables the verification of the certificate, and allows the scheme http for an OpenStack site. Use it for test
	// environments only.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// Proxy is an HTTP proxy.
type Proxy struct {
	// URL is the proxy's address with the scheme http or https.
	URL string `json:"url"`
	// NoProxy lists hosts, domains and CIDRs that are reached directly.
	// +optional
	NoProxy []string `json:"noProxy,omitempty"`
}

// NodeSettings are settings of the operating system of a site's machines. At least one field must be set.
type NodeSettings struct {
	// NTPServers are the names or IP addresses of the time servers, for systemd-timesyncd and chrony.
	// +optional
	NTPServers []string `json:"ntpServers,omitempty"`
	// RegistryMirrors are the mirrors of image registries, for containerd.
	// +optional
	RegistryMirrors []RegistryMirror `json:"registryMirrors,omitempty"`
	// Proxy is the HTTP proxy of containerd, gardener-node-init, gardener-node-agent and kubelet.
	// +optional
	Proxy *Proxy `json:"proxy,omitempty"`
	// CABundle is a PEM bundle of certificate authorities that the operating system trusts in addition to its own.
	// +optional
	CABundle string `json:"caBundle,omitempty"`
}

// RegistryMirror are the mirrors of an image registry.
type RegistryMirror struct {
	// Upstream is the host of the registry as in the names of images, with its port if there is one, or _default for all registries
	// without an entry.
	Upstream string `json:"upstream"`
	// Endpoints are the URLs of the mirrors, which are tried in this order before the registry itself. A URL with a path replaces the path
	// of the registry's API.
	Endpoints []string `json:"endpoints"`
}

// MachineTimeouts are timeouts of machine-controller-manager for the machines of a site.
type MachineTimeouts struct {
	// Creation is the time after which a machine whose node is not ready is replaced.
	// +optional
	Creation *metav1.Duration `json:"creation,omitempty"`
	// Health is the time after which the machine of an unhealthy node is replaced.
	// +optional
	Health *metav1.Duration `json:"health,omitempty"`
	// Drain is the time after which a node that cannot be drained is deleted.
	// +optional
	Drain *metav1.Duration `json:"drain,omitempty"`
}

// Quarantine configures when a site counts as cut off from the control planes of shoots. The machines of a site that is cut off are neither
// replaced nor deleted.
type Quarantine struct {
	// Share is the percentage of the shoot's machines on the site that must be lost within the window, from 0 to 100. A machine counts once
	// its node was ready, and is lost while its node's kubelet does not report. 0 disables the quarantine. Default: 60.
	// +optional
	Share *int32 `json:"share,omitempty"`
	// MinimumMachines is the number of lost machines from which on the share alone is decisive. With fewer, the API of the site must not
	// respond either, or all other sites of the shoot must be cut off, too. Default: 2.
	// +optional
	MinimumMachines *int32 `json:"minimumMachines,omitempty"`
	// Window is the maximum time between the first and the last loss. Default: 5m.
	// +optional
	Window *metav1.Duration `json:"window,omitempty"`
	// MaximumDuration is the time after which the quarantine ends even if the site is still cut off. Default: 24h.
	// +optional
	MaximumDuration *metav1.Duration `json:"maximumDuration,omitempty"`
}

// SiteZone maps a Gardener zone to its site. The block of the site's platform must be set.
type SiteZone struct {
	// Name is the name of the zone in the CloudProfile's region.
	Name string `json:"name"`
	// OpenStack is the zone of an OpenStack site.
	// +optional
	OpenStack *OpenStackZone `json:"openstack,omitempty"`
	// VSphere is the zone of a vSphere site.
	// +optional
	VSphere *VSphereZone `json:"vsphere,omitempty"`
	// Metal is the zone of a bare-metal site.
	// +optional
	Metal  *MetalZone `json:"metal,omitempty"`
	Blocks `json:"-"`
}

// StorageClass is a storage class of a site. The block of the site's platform must be set.
type StorageClass struct {
	// Name is the name of the StorageClass in the shoot.
	Name string `json:"name"`
	// Default marks the default class of the site; it becomes the shoot's default if the site is the shoot's default site.
	// +optional
	Default bool `json:"default,omitempty"`
	// ReclaimPolicy is what happens to a volume whose claim is deleted: Delete or Retain. Default: Delete.
	// +optional
	ReclaimPolicy corev1.PersistentVolumeReclaimPolicy `json:"reclaimPolicy,omitempty"`
	// Parameters are further parameters of the provisioner. They must not contain any that the platform's block or the site determines.
	// +optional
	Parameters map[string]string `json:"parameters,omitempty"`
	// Labels are further labels of the StorageClass.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are further annotations of the StorageClass.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// OpenStack is a class of Cinder volumes.
	// +optional
	OpenStack *OpenStackStorageClass `json:"openstack,omitempty"`
	// VSphere is a class of First Class Disks.
	// +optional
	VSphere *VSphereStorageClass `json:"vsphere,omitempty"`
	// Metal is a class of local volumes.
	// +optional
	Metal  *MetalStorageClass `json:"metal,omitempty"`
	Blocks `json:"-"`
}

// MachineType maps a machine type of the CloudProfile to each site.
type MachineType struct {
	// Name is the name of the machine type in the CloudProfile.
	Name string `json:"name"`
	// Sites are the sites that have the machine type.
	Sites []SiteMachineType `json:"sites"`
}

// SiteMachineType is a machine type on one site. The block of the site's platform must be set.
type SiteMachineType struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Capacity overrides the machine type's cpu, memory and gpu on this site: in the node template, and on a vSphere site cpu and
	// memory also in the size of the virtual machines.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// OpenStack is the machine type on an OpenStack site.
	// +optional
	OpenStack *OpenStackMachineType `json:"openstack,omitempty"`
	// VSphere is the machine type on a vSphere site.
	// +optional
	VSphere *VSphereMachineType `json:"vsphere,omitempty"`
	// Metal is the machine type on a bare-metal site.
	// +optional
	Metal  *MetalMachineType `json:"metal,omitempty"`
	Blocks `json:"-"`
}

// VolumeType maps a volume type of the CloudProfile to each site.
type VolumeType struct {
	// Name is the name of the volume type in the CloudProfile.
	Name string `json:"name"`
	// Sites are the sites that have the volume type.
	Sites []SiteVolumeType `json:"sites"`
}

// SiteVolumeType is a volume type on one site. The block of the site's platform must be set.
type SiteVolumeType struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// OpenStack is the volume type on an OpenStack site.
	// +optional
	OpenStack *OpenStackVolumeType `json:"openstack,omitempty"`
	// VSphere is the volume type on a vSphere site.
	// +optional
	VSphere *VSphereVolumeType `json:"vsphere,omitempty"`
	Blocks  `json:"-"`
}

// MachineImage maps the versions of a machine image of the CloudProfile to each site.
type MachineImage struct {
	// Name is the name of the machine image in the CloudProfile.
	Name string `json:"name"`
	// Versions are the versions of the image.
	Versions []MachineImageVersion `json:"versions"`
}

// MachineImageVersion is a version of a machine image.
type MachineImageVersion struct {
	// Version is the version in the CloudProfile.
	Version string `json:"version"`
	// CapabilityFlavors are the variants of the version.
	CapabilityFlavors []MachineImageFlavor `json:"capabilityFlavors"`
}

// MachineImageFlavor is the variant of an image version for machines with the given capabilities.
type MachineImageFlavor struct {
	// Capabilities are the capability values that the variant serves, as in the CloudProfile.
	// +optional
	Capabilities map[string][]string `json:"capabilities,omitempty"`
	// Sites are the sites that have the variant.
	Sites []SiteMachineImage `json:"sites"`
}

// SiteMachineImage is an image variant on one site. The block of the site's platform must be set.
type SiteMachineImage struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// UserData configures the format of the user data for this image.
	// +optional
	UserData *UserData `json:"userData,omitempty"`
	// OpenStack is the image on an OpenStack site.
	// +optional
	OpenStack *OpenStackImage `json:"openstack,omitempty"`
	// VSphere is the image on a vSphere site.
	// +optional
	VSphere *VSphereImage `json:"vsphere,omitempty"`
	// Metal is the image on a bare-metal site.
	// +optional
	Metal  *MetalImage `json:"metal,omitempty"`
	Blocks `json:"-"`
}

// UserDataFormat is the format in which a machine image expects its user data.
type UserDataFormat string

const (
	// UserDataFormatCloudInit is user data for cloud-init.
	UserDataFormatCloudInit UserDataFormat = "CloudInit"
	// UserDataFormatIgnition is user data for Ignition.
	UserDataFormatIgnition UserDataFormat = "Ignition"
	// UserDataFormatScript is user data that is executed unchanged.
	UserDataFormatScript UserDataFormat = "Script"
)

// UserData configures the format of user data.
type UserData struct {
	// Format is CloudInit, Ignition or Script. Default: CloudInit.
	// +optional
	Format UserDataFormat `json:"format,omitempty"`
}
