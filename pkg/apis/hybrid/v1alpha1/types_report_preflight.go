// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PreflightReport is what the checks of the sites of a shoot have found, or a list of all checks.
type PreflightReport struct {
	metav1.TypeMeta `json:",inline"`

	// Shoot is the technical ID of the shoot.
	// +optional
	Shoot string `json:"shoot,omitempty"`
	// Errors are why sites are missing in Sites.
	// +optional
	Errors []string `json:"errors,omitempty"`
	// Sites are the results of the sites of the shoot in their order.
	// +optional
	Sites []SitePreflight `json:"sites,omitempty"`
	// Pairs are the results of the pairs of sites.
	// +optional
	Pairs []PairPreflight `json:"pairs,omitempty"`
	// Checks are all checks that exist, if they were asked for.
	// +optional
	Checks []PreflightCheck `json:"checks,omitempty"`
}

// SitePreflight is what the checks of a site have found.
type SitePreflight struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Platform is the platform of the site.
	Platform Platform `json:"platform"`

	PreflightResult `json:",inline"`
}

// PairPreflight is what the checks of two sites have found.
type PairPreflight struct {
	// Sites are the names of the sites.
	Sites []string `json:"sites"`

	PreflightResult `json:",inline"`
}

// PreflightResult is the result of several checks.
type PreflightResult struct {
	// Fine are the IDs of the checks that have found nothing.
	// +optional
	Fine []string `json:"fine,omitempty"`
	// Findings are the results of the other checks. A check can have several.
	// +optional
	Findings []PreflightFinding `json:"findings,omitempty"`
}

// PreflightState is the result of a check.
type PreflightState string

// PreflightFinding is a result of a check that is not fine.
type PreflightFinding struct {
	// ID is the ID of the check.
	ID string `json:"id"`
	// State is Failed, Warning, Unknown or Skipped.
	State PreflightState `json:"state"`
	// Field is the path of the field in the Shoot, its InfrastructureConfig, the CloudProfile, or the Secret.
	// +optional
	Field string `json:"field,omitempty"`
	// Is says what is.
	// +optional
	Is string `json:"is,omitempty"`
	// Want says what should be, if Is does not say that.
	// +optional
	Want string `json:"want,omitempty"`
	// Remedy says what to do.
	// +optional
	Remedy string `json:"remedy,omitempty"`
	// Cause is the ID of the check because of which this one was not made.
	// +optional
	Cause string `json:"cause,omitempty"`
}

// PreflightCheck is a check.
type PreflightCheck struct {
	// ID is the ID of the check, which never changes.
	ID string `json:"id"`
	// Title says what is checked.
	Title string `json:"title"`
	// Remedy says what to do if the check fails.
	Remedy string `json:"remedy"`
	// Needs are the IDs of the checks without which this one is not made.
	// +optional
	Needs []string `json:"needs,omitempty"`
}
