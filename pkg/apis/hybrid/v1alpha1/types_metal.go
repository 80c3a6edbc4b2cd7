// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MetalInventory is the API that manages the hosts of a bare-metal site.
type MetalInventory string

const (
	// MetalInventoryMetal3 is the BareMetalHost API of Metal3.
	MetalInventoryMetal3 MetalInventory = "Metal3"
	// MetalInventoryIronCore is the ServerClaim API of IronCore.
	MetalInventoryIronCore MetalInventory = "IronCore"
	// MetalInventoryStatic is the StaticHost API of hosts that already have an operating system.
	MetalInventoryStatic MetalInventory = "Static"
)

const (
	// MetalCleaningMetadata wipes the partition tables of a host before the host is available again.
	MetalCleaningMetadata = "metadata"
	// MetalCleaningDisabled leaves the disks of a host unchanged.
	MetalCleaningDisabled = "disabled"

	// MetalNodeNameMachine names nodes after their machines.
	MetalNodeNameMachine = "Machine"
	// MetalNodeNameHost names nodes after their hosts.
	MetalNodeNameHost = "Host"

	// MetalImageFormatLiveISO is the format of an image that is booted instead of written to a disk.
	MetalImageFormatLiveISO = "live-iso"
)

// MetalProfile describes a bare-metal site in the CloudProfile.
type MetalProfile struct {
	// Inventory is Metal3, IronCore or Static.
	Inventory MetalInventory `json:"inventory"`
	// Server is the address of the Kubernetes API of the inventory.
	Server string `json:"server"`
	// Namespace is the namespace of the hosts (Metal3, Static) or of the server claims (IronCore).
	Namespace string `json:"namespace"`
	// Cleaning is what is wiped when a host is released: metadata or disabled. IronCore wipes nothing: with metadata, only servers are used
	// that IronCore retains after their release until they were cleaned. Static removes what the machine has made, and supports only
	// metadata. Default: metadata.
	// +optional
	Cleaning string `json:"cleaning,omitempty"`
	// NodeName is what a node is named after: Machine or Host. Default: Machine.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// PoolTolerations are the taints of hosts that pools of shoots may tolerate in addition to those that machine types tolerate. Default:
	// none. Only IronCore and Static have taints.
	// +optional
	PoolTolerations []corev1.Toleration `json:"poolTolerations,omitempty"`
	// AddressPools are the address pools that shoots may use. Default: any.
	// +optional
	AddressPools []corev1.TypedLocalObjectReference `json:"addressPools,omitempty"`
}

// MetalZone is a zone of a bare-metal site.
type MetalZone struct {
	// HostSelector selects the hosts of the zone.
	// +optional
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`
}

// MetalStorageClass is a class of local volumes: folders on a host, which no other host can use.
type MetalStorageClass struct {
	// Path is the folder on the hosts that contains the volumes. It is created if it does not exist. Default: /var/lib/local-volumes.
	// +optional
	Path string `json:"path,omitempty"`
}

// MetalMachineType is a machine type on a bare-metal site.
type MetalMachineType struct {
	// HostSelector selects the hosts of the type.
	// +optional
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`
	// Tolerations are the taints of hosts that machines of the type tolerate. Only IronCore and Static have taints.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// MetalImage is a machine image on a bare-metal site.
type MetalImage struct {
	// URL is the address of the image; with IronCore the reference of an OCI image. Required with Metal3 and IronCore.
	// +optional
	URL string `json:"url,omitempty"`
	// Checksum is the checksum of the image or the address of a file that holds it. Required with Metal3, unless the format is live-iso
	// or the URL begins with oci://. IronCore has none, as the reference of an OCI image can hold its digest.
	// +optional
	Checksum string `json:"checksum,omitempty"`
	// ChecksumType is md5, sha256 or sha512. Default: sha256.
	// +optional
	ChecksumType string `json:"checksumType,omitempty"`
	// Format is raw, qcow2, vmdk or live-iso. Default: raw.
	// +optional
	Format string `json:"format,omitempty"`
	// OSRelease is the operating system that hosts must have. Required with Static, which writes no image and therefore has none of the
	// other fields.
	// +optional
	OSRelease *MetalOSRelease `json:"osRelease,omitempty"`
}

// MetalOSRelease is an operating system as os-release(5) names it.
type MetalOSRelease struct {
	// ID is the ID of the operating system, such as debian.
	ID string `json:"id"`
	// VersionID is the version of the operating system, such as 12.
	VersionID string `json:"versionID"`
}

// MetalInfrastructure configures a bare-metal site of a shoot.
type MetalInfrastructure struct {
	// IPAM configures the pool that the hosts' addresses come from. It requires $ADDRESS in the template.
	// +optional
	IPAM *IPAM `json:"ipam,omitempty"`
	// NetworkDataTemplate is the template of the hosts' network data: with Metal3 that of cloud-init's config drive, with
	// IronCore a file of systemd-networkd. These variables are replaced in the form $NAME or ${NAME}: MACHINE, HOST, MAC, ADDRESS, PREFIX,
	// GATEWAY, DNS_SERVERS (separated by spaces), DNS_SERVERS_JSON (a list) and MTU. $$ is a dollar sign. At most 16 KiB.
	// +optional
	NetworkDataTemplate string `json:"networkDataTemplate,omitempty"`
}

// MetalWorker configures a pool at a bare-metal site.
type MetalWorker struct {
	// HostSelector restricts the hosts that the zone and the machine type select.
	// +optional
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`
	// Tolerations are further taints of hosts that the pool's machines tolerate. Only IronCore and Static have taints.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// MetalConnection is how a bare-metal site is reached. It holds no credentials.
type MetalConnection struct {
	// Inventory is Metal3, IronCore or Static.
	Inventory MetalInventory `json:"inventory"`
	// Server is the address of the Kubernetes API of the inventory.
	Server string `json:"server"`
	// Namespace is the namespace of the hosts (Metal3, Static) or of the server claims (IronCore).
	Namespace string `json:"namespace"`
	// TLS configures how the certificate of the inventory is verified.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
	// Proxy is the HTTP proxy through which the inventory is reached.
	// +optional
	Proxy *Proxy `json:"proxy,omitempty"`
	// RequestTimeout limits one request.
	// +optional
	RequestTimeout *metav1.Duration `json:"requestTimeout,omitempty"`
}

// MetalStatus is the observed state of the infrastructure of a bare-metal site.
type MetalStatus struct {
	// Hosts are the numbers of hosts for the shoot's pools at the last reconciliation.
	// +optional
	Hosts []MetalHosts `json:"hosts,omitempty"`
	// NamespaceUID is the UID of the namespace of the inventory, which distinguishes it from others of the same name. It is empty if the
	// credentials may not get the namespace.
	// +optional
	NamespaceUID string `json:"namespaceUID,omitempty"`
}

// MetalHosts are the hosts of a zone that a machine type selects.
type MetalHosts struct {
	// Zone is the name of the zone.
	Zone string `json:"zone"`
	// MachineType is the name of the machine type.
	MachineType string `json:"machineType"`
	// Total is the number of hosts.
	Total int32 `json:"total"`
	// Free is the number of available hosts.
	Free int32 `json:"free"`
}

// MetalState is the state of a bare-metal site.
type MetalState struct {
	// Connection is how the site is reached, even after it was removed from the CloudProfile.
	Connection MetalConnection `json:"connection"`
	// Cleaning is what is wiped when a host is released.
	// +optional
	Cleaning string `json:"cleaning,omitempty"`
	// NamespaceUID is the UID of the namespace of the inventory, which distinguishes it from others of the same name. It is empty if the
	// credentials may not get the namespace.
	// +optional
	NamespaceUID string `json:"namespaceUID,omitempty"`
	// AddressClaims reports whether machines of the shoot may have address claims, also if it no longer configures an address pool.
	// +optional
	AddressClaims bool `json:"addressClaims,omitempty"`
}

// MetalMachineSpec is everything that the driver needs to claim a host.
type MetalMachineSpec struct {
	// Connection is how the site is reached.
	Connection MetalConnection `json:"connection"`
	// HostSelector selects the hosts that the machine may be: those that zone, machine type and pool select.
	// +optional
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`
	// Tolerations are the taints of hosts that the machine tolerates.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Image is the image that is written to the host, or the operating system that it must have.
	Image MetalImage `json:"image"`
	// Cleaning is what is wiped when the host is released.
	Cleaning string `json:"cleaning"`
	// NodeName is what the node is named after.
	NodeName string `json:"nodeName"`
	// Network is the machine's network configuration, nil if the host uses DHCP.
	// +optional
	Network *MetalMachineNetwork `json:"network,omitempty"`
	// NamespaceUID is the UID of the namespace that the host is in. The driver rejects another namespace of the same name, because the host
	// would not be found there.
	// +optional
	NamespaceUID string `json:"namespaceUID,omitempty"`
}

// MetalMachineNetwork is the network configuration of a machine on a bare-metal site.
type MetalMachineNetwork struct {
	// PoolRef is the pool of the Cluster API IPAM contract that the address comes from, nil if there is none.
	// +optional
	PoolRef *corev1.TypedLocalObjectReference `json:"poolRef,omitempty"`
	// Template is the template of the network data.
	// +optional
	Template string `json:"template,omitempty"`
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

// Endpoint returns the address of the API of the inventory.
func (p *MetalProfile) Endpoint() string { return p.Server }

// Scope returns the inventory and its namespace.
func (p *MetalProfile) Scope() map[string]string { return metalScope(p.Inventory, p.Namespace) }

// Scope returns the inventory and its namespace.
func (s *MetalState) Scope() map[string]string {
	return metalScope(s.Connection.Inventory, s.Connection.Namespace)
}

func metalScope(inventory MetalInventory, namespace string) map[string]string {
	return map[string]string{"metal.inventory": string(inventory), "metal.namespace": namespace}
}

// HasZones reports whether the site has at least one zone.
func (c *MetalCloudController) HasZones() bool { return len(c.Zones) > 0 }
