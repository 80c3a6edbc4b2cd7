// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MetalInventory is the API behind which the hosts of a bare-metal site stand.
type MetalInventory string

const (
	// MetalInventoryMetal3 is the BareMetalHost API of Metal3.
	MetalInventoryMetal3 MetalInventory = "Metal3"
	// MetalInventoryIronCore is the ServerClaim API of IronCore.
	MetalInventoryIronCore MetalInventory = "IronCore"
)

// MetalProfile describes a bare-metal site in the CloudProfile.
type MetalProfile struct {
	// Inventory is Metal3 or IronCore.
	Inventory MetalInventory `json:"inventory"`
	// Server is the address of the Kubernetes API of the inventory.
	Server string `json:"server"`
	// Namespace is the namespace of the hosts.
	Namespace string `json:"namespace"`
	// Cleaning says what is wiped when a host is released: metadata or disabled. Default: metadata.
	// +optional
	Cleaning string `json:"cleaning,omitempty"`
	// NodeName says what a node is named after: Machine or Host. Default: Machine.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
}

// MetalZone is a zone of a bare-metal site.
type MetalZone struct {
	// HostSelector selects the hosts of the zone.
	// +optional
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`
}

// MetalStorageClass is a class of local volumes.
type MetalStorageClass struct{}

// MetalMachineType is a machine type on a bare-metal site.
type MetalMachineType struct {
	// HostSelector selects the hosts of the type.
	// +optional
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`
}

// MetalImage is a machine image on a bare-metal site.
type MetalImage struct {
	// URL is the address of the image.
	URL string `json:"url"`
	// Checksum is the checksum of the image or the address of a file that holds it.
	Checksum string `json:"checksum"`
	// ChecksumType is md5, sha256 or sha512. Default: sha256.
	// +optional
	ChecksumType string `json:"checksumType,omitempty"`
	// Format is raw, qcow2, vmdk or live-iso. Default: raw.
	// +optional
	Format string `json:"format,omitempty"`
}

// MetalMachineSpec is everything that the driver needs to claim a host.
type MetalMachineSpec struct {
	// HostSelector selects the hosts that the machine may be.
	// +optional
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`
	// Image is the image that is written to the host.
	Image MetalImage `json:"image"`
}

// MetalInfrastructure configures a bare-metal site of a shoot.
type MetalInfrastructure struct {
	// IPAM names the pool that the hosts' addresses come from.
	// +optional
	IPAM *MetalIPAM `json:"ipam,omitempty"`
	// NetworkDataTemplate is the template of the hosts' network data.
	// +optional
	NetworkDataTemplate string `json:"networkDataTemplate,omitempty"`
}

// MetalIPAM names an address pool of the Cluster API IPAM contract.
type MetalIPAM struct {
	// PoolRef is the pool.
	PoolRef corev1.TypedLocalObjectReference `json:"poolRef"`
}
