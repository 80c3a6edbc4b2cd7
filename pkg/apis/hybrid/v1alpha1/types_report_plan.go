// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PlanReport is what the next reconciliation of a shoot would change.
type PlanReport struct {
	metav1.TypeMeta `json:",inline"`

	// Shoot is the technical ID of the shoot.
	Shoot string `json:"shoot"`
	// Errors are why sites are missing in Sites.
	// +optional
	Errors []string `json:"errors,omitempty"`
	// Sites is what would change at each site: first the sites of the shoot in their order, then those that were removed from it.
	// +optional
	Sites []SitePlan `json:"sites,omitempty"`
	// Pools is what would change in each pool: first those of the shoot in their order, then those that were removed from it.
	// +optional
	Pools []PoolPlan `json:"pools,omitempty"`
	// Services is what changes for Services and volumes of the shoot, once all machines that the shoot no longer has are gone. Which Services
	// and volumes exist is not known.
	// +optional
	Services []PlannedService `json:"services,omitempty"`
}

// SiteOperation is what a reconciliation does with a site.
type SiteOperation string

const (
	// SiteOperationReconcile means that the site's objects are created and updated.
	SiteOperationReconcile SiteOperation = "Reconcile"
	// SiteOperationDelete means that the site's objects are deleted.
	SiteOperationDelete SiteOperation = "Delete"
)

// SitePlan is what the next reconciliation would change at a site.
type SitePlan struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Platform is the platform of the site.
	Platform Platform `json:"platform"`
	// Operation is what is done with the site.
	Operation SiteOperation `json:"operation"`
	// Changes are the objects of the site in the order in which they are changed, and then those that stay as they are.
	// +optional
	Changes []PlannedChange `json:"changes,omitempty"`
	// Quotas are the resources that the pools need, and what the site has of them. Those that the site does not limit or tell are missing.
	// +optional
	Quotas []PlannedQuota `json:"quotas,omitempty"`
	// Notes are problems that do not stop the reconciliation of the site, such as quotas that do not suffice for the pools' maxima, and what
	// the deletion of a removed site waits for.
	// +optional
	Notes []string `json:"notes,omitempty"`
	// Error is why the reconciliation of the site would fail, after the changes, or why the site could not be accessed. The changes are
	// incomplete.
	// +optional
	Error string `json:"error,omitempty"`
}

// PlannedAction is what happens to an object.
type PlannedAction string

const (
	// PlannedActionCreate means that the object is created.
	PlannedActionCreate PlannedAction = "Create"
	// PlannedActionAdopt means that the object exists, is the shoot's, and is recorded in the state, which lacks it.
	PlannedActionAdopt PlannedAction = "Adopt"
	// PlannedActionChange means that the object is changed.
	PlannedActionChange PlannedAction = "Change"
	// PlannedActionDelete means that the object is deleted.
	PlannedActionDelete PlannedAction = "Delete"
	// PlannedActionKeep means that the object stays as it is.
	PlannedActionKeep PlannedAction = "Keep"
)

// PlannedChange is what happens to an object of a site.
type PlannedChange struct {
	// Action is what happens to the object.
	Action PlannedAction `json:"action"`
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Name is the name of the object, if known.
	// +optional
	Name string `json:"name,omitempty"`
	// ID is the ID of the object, which begins with "planned:" if the object does not exist yet.
	ID string `json:"id"`
	// Fields are the fields that are changed.
	// +optional
	Fields []PlannedField `json:"fields,omitempty"`
	// Requests are the requests that change the object.
	// +optional
	Requests []PlannedRequest `json:"requests,omitempty"`
}

// PlannedField is a field of an object that is changed.
type PlannedField struct {
	// Name is the name of the field in the API of the site.
	Name string `json:"name"`
	// From is the value before, empty if there is none.
	// +optional
	From string `json:"from,omitempty"`
	// To is the value afterwards, empty if there is none.
	// +optional
	To string `json:"to,omitempty"`
}

// PlannedRequest is a request that changes an object.
type PlannedRequest struct {
	// Service is the service of the site that gets the request.
	Service string `json:"service"`
	// Method is the method of the request.
	Method string `json:"method"`
	// Path is the path of the request, or the object of the method. IDs of objects that do not exist yet begin with "planned:".
	Path string `json:"path"`
}
