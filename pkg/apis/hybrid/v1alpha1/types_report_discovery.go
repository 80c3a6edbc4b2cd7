// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DiscoveryReport is what hybridctl discover found at sites.
type DiscoveryReport struct {
	metav1.TypeMeta `json:",inline"`

	// Sites are the sites.
	Sites []DiscoveredSite `json:"sites"`
	// CloudProfile is a CloudProfile that offers what the sites offer. It is not set if a CloudProfile was compared.
	// +optional
	CloudProfile *runtime.RawExtension `json:"cloudProfile,omitempty"`
	// Differences are the differences between the CloudProfile that was compared and the sites, the most important first.
	// +optional
	Differences []CloudProfileDifference `json:"differences,omitempty"`
}

// DiscoveredSite is what was found at a site.
type DiscoveredSite struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Platform is the platform of the site.
	Platform Platform `json:"platform"`
	// Error is why nothing was found.
	// +optional
	Error string `json:"error,omitempty"`
	// Objects are what the site offers.
	// +optional
	Objects []DiscoveredObject `json:"objects,omitempty"`
	// Quotas are the quotas of the account.
	// +optional
	Quotas []DiscoveredQuota `json:"quotas,omitempty"`
	// LeftOut is what the CloudProfile does not have, and why.
	// +optional
	LeftOut []DiscoveryOmission `json:"leftOut,omitempty"`
}

// DiscoveredObject is an object of a site. Fields are empty if the site does not tell.
type DiscoveredObject struct {
	// Kind is the kind of the object, such as zone, machine type or image.
	Kind string `json:"kind"`
	// Name is how a CloudProfile refers to the object.
	Name string `json:"name"`
	// ID is another name of the object.
	// +optional
	ID string `json:"id,omitempty"`
	// Labels are the labels of hosts.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Count is the number of hosts.
	// +optional
	Count int `json:"count,omitempty"`
	// Free is the number of hosts that can be claimed.
	// +optional
	Free int `json:"free,omitempty"`
	// Capacity is the size of machines.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Architecture is amd64 or arm64.
	// +optional
	Architecture string `json:"architecture,omitempty"`
	// OS is the operating system of an image.
	// +optional
	OS string `json:"os,omitempty"`
	// Version is the version of the operating system.
	// +optional
	Version string `json:"version,omitempty"`
	// Unusable is why machines cannot use the object.
	// +optional
	Unusable string `json:"unusable,omitempty"`
	// Deprecated is how the site says that the object should no longer be used.
	// +optional
	Deprecated string `json:"deprecated,omitempty"`
}

// DiscoveredQuota is a quota of an account.
type DiscoveredQuota struct {
	// Resource is servers, cores or memory_bytes.
	Resource string `json:"resource"`
	// Used is how much is used.
	Used resource.Quantity `json:"used"`
	// Limit is the maximum.
	Limit resource.Quantity `json:"limit"`
}

// DiscoveryOmission is something that a CloudProfile does not have.
type DiscoveryOmission struct {
	// Kind is the kind of the objects.
	Kind string `json:"kind"`
	// Name is the name of the object, empty if it is not known which objects exist.
	// +optional
	Name string `json:"name,omitempty"`
	// Reason is why.
	Reason string `json:"reason"`
}

// DifferenceState is the kind of a difference between a CloudProfile and a site.
type DifferenceState string

const (
	// DifferenceMissing means that the CloudProfile refers to what the site does not have.
	DifferenceMissing DifferenceState = "Missing"
	// DifferenceChanged means that the site has it, but it is not what the CloudProfile says, or cannot be used.
	DifferenceChanged DifferenceState = "Changed"
	// DifferenceDeprecated means that the site or the CloudProfile says that it should no longer be used.
	DifferenceDeprecated DifferenceState = "Deprecated"
	// DifferenceUnknown means that it is not known whether the site has it.
	DifferenceUnknown DifferenceState = "Unknown"
	// DifferenceUnused means that the site has it and the CloudProfile does not.
	DifferenceUnused DifferenceState = "Unused"
)

// CloudProfileDifference is a difference between a CloudProfile and a site.
type CloudProfileDifference struct {
	// Site is the name of the site.
	Site string `json:"site"`
	// State is the kind of the difference.
	State DifferenceState `json:"state"`
	// Drift is true if the difference should be removed.
	Drift bool `json:"drift"`
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Name is the name of the object.
	Name string `json:"name"`
	// Entry is what in the CloudProfile refers to the object.
	// +optional
	Entry string `json:"entry,omitempty"`
	// Field is the path of the reference in the CloudProfileConfig.
	// +optional
	Field string `json:"field,omitempty"`
	// Is is what the site has.
	// +optional
	Is string `json:"is,omitempty"`
	// Want is what the CloudProfile says.
	// +optional
	Want string `json:"want,omitempty"`
}
