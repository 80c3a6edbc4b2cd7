// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ControlPlaneState is the state of a ControlPlane: what is deployed for which sites. A site stays in it until the shoot has
// neither the site nor machines there.
type ControlPlaneState struct {
	metav1.TypeMeta `json:",inline"`

	// Sites are the sites that something is deployed for.
	// +optional
	Sites []ControlPlaneSiteState `json:"sites,omitempty"`
}

// ControlPlaneSiteState is what was last known of a site that something is deployed for. It holds no credentials.
type ControlPlaneSiteState struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Profile is the site in the CloudProfile.
	Profile CloudProfileSite `json:"profile"`
	// Config is the site in the InfrastructureConfig.
	Config InfrastructureSite `json:"config"`
	// Settings are the settings of the site in the ControlPlaneConfig.
	Settings ControlPlaneSite `json:"settings"`
	// Status is what the site's infrastructure came to.
	Status SiteStatus `json:"status"`
	// Nodes is true if the site has, or once had, nodes. Volumes may be left of them.
	// +optional
	Nodes bool `json:"nodes,omitempty"`
}
