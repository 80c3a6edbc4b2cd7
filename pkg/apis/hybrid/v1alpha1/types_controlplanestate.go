// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ControlPlaneState is the state of a ControlPlane: what is deployed for which sites. A site is removed when neither the shoot lists it
// nor machines exist there.
type ControlPlaneState struct {
	metav1.TypeMeta `json:",inline"`

	// Sites are the deployed sites.
	// +optional
	Sites []ControlPlaneSiteState `json:"sites,omitempty"`
}

// ControlPlaneSiteState is the last known configuration of a deployed site. It holds no credentials.
type ControlPlaneSiteState struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Profile is the site in the CloudProfile.
	Profile CloudProfileSite `json:"profile"`
	// Config is the site in the InfrastructureConfig.
	Config InfrastructureSite `json:"config"`
	// Settings are the settings of the site in the ControlPlaneConfig.
	Settings ControlPlaneSite `json:"settings"`
	// Status is the observed state of the site's infrastructure.
	Status SiteStatus `json:"status"`
	// Nodes is true if the site has or had nodes, so that volumes may exist.
	// +optional
	Nodes bool `json:"nodes,omitempty"`
}
