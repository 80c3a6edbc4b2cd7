// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BastionConfig configures the bastions of a shoot.
type BastionConfig struct {
	// Site is the name of the site that bastions are created on. It must support bastions, and is required with machineType or image.
	// Default: defaultSite if it supports bastions, otherwise the first site whose bastions are reached from outside its node network,
	// otherwise the first site that supports bastions. A bastion stays on its site.
	// +optional
	Site string `json:"site,omitempty"`
	// MachineType is the name of a machine type that the site has in the CloudProfile. Default: that of the CloudProfile's bastion, or the
	// machine type of the site with the fewest CPUs.
	// +optional
	MachineType string `json:"machineType,omitempty"`
	// Image is a machine image that the site has in the CloudProfile. Default: that of the CloudProfile's bastion, or the first image that
	// fits the machine type.
	// +optional
	Image *BastionImage `json:"image,omitempty"`
}

// BastionImage is the machine image of a bastion.
type BastionImage struct {
	// Name is the name of the image in the CloudProfile.
	Name string `json:"name"`
	// Version is the version in the CloudProfile. Default: the latest supported version of the site.
	// +optional
	Version string `json:"version,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BastionStatus is the provider status of a Bastion.
type BastionStatus struct {
	metav1.TypeMeta `json:",inline"`

	// Site is the name of the site that the bastion is on. It is recorded before anything is created.
	Site string `json:"site"`
}
