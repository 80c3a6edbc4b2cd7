// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// SelfHostedShootExposureStatus is the provider status of a SelfHostedShootExposure.
type SelfHostedShootExposureStatus struct {
	metav1.TypeMeta `json:",inline"`

	// Site is the name of the site that the load balancer is on. It is recorded before anything is created.
	Site string `json:"site"`
}
