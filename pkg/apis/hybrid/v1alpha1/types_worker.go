// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WorkerConfig is the providerConfig of a worker pool.
type WorkerConfig struct {
	metav1.TypeMeta `json:",inline"`

	// Sites are settings of the pool for single sites.
	// +optional
	Sites []WorkerSite `json:"sites,omitempty"`
	// DataVolumes are settings of the pool's data volumes for single sites.
	// +optional
	DataVolumes []WorkerDataVolume `json:"dataVolumes,omitempty"`
	// NodeTemplate overrides the capacity that the cluster-autoscaler assumes for a node of the pool.
	// +optional
	NodeTemplate *NodeTemplate `json:"nodeTemplate,omitempty"`
}

// NodeTemplate is the capacity that the cluster-autoscaler assumes for a node that does not exist yet.
type NodeTemplate struct {
	// Capacity overrides single resources of the machine type.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// VirtualCapacity are extended resources that exist on the node without hardware behind them.
	// +optional
	VirtualCapacity corev1.ResourceList `json:"virtualCapacity,omitempty"`
}

// WorkerSite are the settings of a pool for one site.
type WorkerSite struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Priority is the cluster-autoscaler's priority for the site's node groups; the highest is tried first. It is set for all
	// sites of the pool or for none.
	// +optional
	Priority *int32 `json:"priority,omitempty"`
	// Minimum is how many machines the pool has at least on the site. Minimum and maximum are set for all sites of the pool or
	// for none; then machines are spread evenly over the zones. The minima add up to the pool's minimum.
	// +optional
	Minimum *int32 `json:"minimum,omitempty"`
	// Maximum is how many machines the pool has at most on the site, not more than the pool's maximum.
	// +optional
	Maximum *int32 `json:"maximum,omitempty"`
	// OpenStack are settings for an OpenStack site.
	// +optional
	OpenStack *OpenStackWorker `json:"openstack,omitempty"`
	// VSphere are settings for a vSphere site.
	// +optional
	VSphere *VSphereWorker `json:"vsphere,omitempty"`
	// Metal are settings for a bare-metal site.
	// +optional
	Metal *MetalWorker `json:"metal,omitempty"`
}

// WorkerDataVolume are the settings of one data volume of the pool.
type WorkerDataVolume struct {
	// Name is the name of the data volume in the pool.
	Name string `json:"name"`
	// Sites are the settings for single sites.
	Sites []WorkerDataVolumeSite `json:"sites"`
}

// WorkerDataVolumeSite are the settings of a data volume for one site. The block of the site's platform is set.
type WorkerDataVolumeSite struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// OpenStack replaces what the CloudProfile says about the data volume's type.
	// +optional
	OpenStack *OpenStackVolumeType `json:"openstack,omitempty"`
	// VSphere replaces what the CloudProfile says about the data volume's type.
	// +optional
	VSphere *VSphereVolumeType `json:"vsphere,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WorkerStatus is the providerStatus of a Worker.
type WorkerStatus struct {
	metav1.TypeMeta `json:",inline"`

	// MachineImages are the images that the Worker's machines use, so that they are still known when the CloudProfile has
	// dropped them.
	// +optional
	MachineImages []MachineImage `json:"machineImages,omitempty"`
	// Orphans are what a forced deletion had to leave behind.
	// +optional
	Orphans []Orphan `json:"orphans,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// MachineProviderSpec is the providerSpec of a MachineClass: what the driver needs to create a machine, all references
// resolved to IDs. The block of the site's platform is set.
type MachineProviderSpec struct {
	metav1.TypeMeta `json:",inline"`

	// Site is the name of the site.
	Site string `json:"site"`
	// Shoot is the technical ID of the shoot, the owner of the machine.
	Shoot string `json:"shoot"`
	// UserDataFormat says how the driver wraps the user data.
	// +optional
	UserDataFormat UserDataFormat `json:"userDataFormat,omitempty"`
	// OpenStack is the machine on an OpenStack site.
	// +optional
	OpenStack *OpenStackMachineSpec `json:"openstack,omitempty"`
	// VSphere is the machine on a vSphere site.
	// +optional
	VSphere *VSphereMachineSpec `json:"vsphere,omitempty"`
	// Metal is the machine on a bare-metal site.
	// +optional
	Metal *MetalMachineSpec `json:"metal,omitempty"`
}
