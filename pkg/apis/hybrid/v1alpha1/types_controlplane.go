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
}

// CloudControllerManagerConfig configures the cloud-controller-manager.
type CloudControllerManagerConfig struct {
	// FeatureGates are switched on or off.
	// +optional
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}
