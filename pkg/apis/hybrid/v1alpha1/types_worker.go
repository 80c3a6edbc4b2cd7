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

	// Sites are settings of the pool for individual sites.
	// +optional
	Sites []WorkerSite `json:"sites,omitempty"`
	// DataVolumes are settings of the pool's data volumes for individual sites.
	// +optional
	DataVolumes []WorkerDataVolume `json:"dataVolumes,omitempty"`
	// NodeTemplate overrides the capacity that the cluster-autoscaler assumes for a node of the pool.
	// +optional
	NodeTemplate *NodeTemplate `json:"nodeTemplate,omitempty"`
	// ReturnHome moves machines back to sites with a higher priority once these have room again. Default: they stay where they are.
	// +optional
	ReturnHome *ReturnHome `json:"returnHome,omitempty"`
}

// Site returns the settings for a site, which are empty if there are none. The configuration may be nil.
func (c *WorkerConfig) Site(name string) WorkerSite {
	if c != nil {
		for _, site := range c.Sites {
			if site.Name == name {
				return site
			}
		}
	}
	return WorkerSite{Name: name}
}

// ReturnHome configures when and how fast machines move back to preferred sites. A machine is drained, respecting PodDisruptionBudgets,
// only after its replacement at the preferred site is ready.
type ReturnHome struct {
	// TimeWindow is the daily time window in which machines move. Default: the maintenance time window of the Shoot.
	// +optional
	TimeWindow *ReturnHomeTimeWindow `json:"timeWindow,omitempty"`
	// MachinesPerHour is the maximum number of machines of the pool that move within an hour. One machine moves at a time. Default: 1.
	// +optional
	MachinesPerHour *int32 `json:"machinesPerHour,omitempty"`
}

// ReturnHomeTimeWindow is a daily time window. The format of its times is that of the maintenance time window of a Shoot: HHMMSS+[HHMM] or
// HHMMSS-[HHMM].
type ReturnHomeTimeWindow struct {
	// Begin is the begin of the time window, such as 220000+0100.
	Begin string `json:"begin"`
	// End is the end of the time window, such as 230000+0100.
	End string `json:"end"`
}

// NodeTemplate is the capacity that the cluster-autoscaler assumes for a node that does not exist yet.
type NodeTemplate struct {
	// Capacity overrides individual resources of the machine type.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// VirtualCapacity are extended resources of the node that are not backed by hardware.
	// +optional
	VirtualCapacity corev1.ResourceList `json:"virtualCapacity,omitempty"`
}

// WorkerSite configures a pool at one site.
type WorkerSite struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Priority is the cluster-autoscaler's priority for the site's node groups; the highest is tried first. Default: 0 if another site
	// of the pool has a priority.
	// +optional
	Priority *int32 `json:"priority,omitempty"`
	// Minimum is the minimum number of machines of the pool at the site. Minimum and maximum must be set for all sites of the pool or for
	// none; if they are not set, machines are spread evenly over the zones. The minima must add up to the pool's minimum.
	// +optional
	Minimum *int32 `json:"minimum,omitempty"`
	// Maximum is the maximum number of machines of the pool at the site. It must not be greater than the pool's maximum.
	// +optional
	Maximum *int32 `json:"maximum,omitempty"`
	// ClusterAutoscaler are settings of the cluster-autoscaler for the pool's machines at the site. They override those of the pool.
	// +optional
	ClusterAutoscaler *SiteClusterAutoscaler `json:"clusterAutoscaler,omitempty"`
	// OpenStack are settings for an OpenStack site.
	// +optional
	OpenStack *OpenStackWorker `json:"openstack,omitempty"`
	// VSphere are settings for a vSphere site.
	// +optional
	VSphere *VSphereWorker `json:"vsphere,omitempty"`
	// Metal are settings for a bare-metal site.
	// +optional
	Metal  *MetalWorker `json:"metal,omitempty"`
	Blocks `json:"-"`
}

// SiteClusterAutoscaler are settings of the cluster-autoscaler for the machines of a pool at one site. Each overrides the pool's setting of
// the same name.
type SiteClusterAutoscaler struct {
	// ScaleDownUtilizationThreshold is the share of a node's requested resources below which it may be removed, from 0 to 1, such as "0.5".
	// +optional
	ScaleDownUtilizationThreshold *string `json:"scaleDownUtilizationThreshold,omitempty"`
	// ScaleDownGpuUtilizationThreshold is the share of a node's requested GPUs below which it may be removed, from 0 to 1.
	// +optional
	ScaleDownGpuUtilizationThreshold *string `json:"scaleDownGpuUtilizationThreshold,omitempty"`
	// ScaleDownUnneededTime is how long a node must be unneeded before it is removed.
	// +optional
	ScaleDownUnneededTime *metav1.Duration `json:"scaleDownUnneededTime,omitempty"`
	// ScaleDownUnreadyTime is how long an unready node must be unneeded before it is removed.
	// +optional
	ScaleDownUnreadyTime *metav1.Duration `json:"scaleDownUnreadyTime,omitempty"`
	// MaxNodeProvisionTime is how long a machine may need to become a ready node.
	// +optional
	MaxNodeProvisionTime *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
}

// WorkerDataVolume configures a data volume of the pool.
type WorkerDataVolume struct {
	// Name is the name of the data volume in the pool.
	Name string `json:"name"`
	// Sites are the settings for individual sites.
	Sites []WorkerDataVolumeSite `json:"sites"`
}

// WorkerDataVolumeSite configures a data volume at one site. The block of the site's platform must be set.
type WorkerDataVolumeSite struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// OpenStack overrides the data volume's type in the CloudProfile.
	// +optional
	OpenStack *OpenStackVolumeType `json:"openstack,omitempty"`
	// VSphere overrides the data volume's type in the CloudProfile.
	// +optional
	VSphere *VSphereVolumeType `json:"vsphere,omitempty"`
	Blocks  `json:"-"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WorkerStatus is the providerStatus of a Worker.
type WorkerStatus struct {
	metav1.TypeMeta `json:",inline"`

	// MachineImages are the images that the Worker's machines use. They are kept in case the CloudProfile drops them.
	// +optional
	MachineImages []MachineImage `json:"machineImages,omitempty"`
	// Orphans are the objects that a forced deletion left behind.
	// +optional
	Orphans []Orphan `json:"orphans,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// MachineProviderSpec is the providerSpec of a MachineClass: what the driver needs to create a machine, all references
// resolved to IDs. The block of the site's platform must be set.
type MachineProviderSpec struct {
	metav1.TypeMeta `json:",inline"`

	// Site is the name of the site.
	Site string `json:"site"`
	// Shoot is the technical ID of the shoot, the owner of the machine.
	Shoot string `json:"shoot"`
	// UserDataFormat is the format of the user data.
	// +optional
	UserDataFormat UserDataFormat `json:"userDataFormat,omitempty"`
	// NodeSettings are the settings of the site's machines, which are added to the user data.
	// +optional
	NodeSettings *NodeSettings `json:"nodeSettings,omitempty"`
	// OpenStack is the machine on an OpenStack site.
	// +optional
	OpenStack *OpenStackMachineSpec `json:"openstack,omitempty"`
	// VSphere is the machine on a vSphere site.
	// +optional
	VSphere *VSphereMachineSpec `json:"vsphere,omitempty"`
	// Metal is the machine on a bare-metal site.
	// +optional
	Metal  *MetalMachineSpec `json:"metal,omitempty"`
	Blocks `json:"-"`
}
