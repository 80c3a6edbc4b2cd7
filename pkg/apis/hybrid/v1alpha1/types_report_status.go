// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// StatusReport is the output of hybridctl status: the state of a shoot and of its sites.
type StatusReport struct {
	metav1.TypeMeta `json:",inline"`

	// Shoot is the shoot.
	Shoot StatusShoot `json:"shoot"`
	// Conditions are the conditions of the Shoot, the Infrastructure, the ControlPlane, and the Worker that concern several sites.
	// +optional
	Conditions []StatusCondition `json:"conditions,omitempty"`
	// Sites are the sites of the shoot, and those that were removed from it and are not deleted.
	// +optional
	Sites []StatusSite `json:"sites,omitempty"`
	// Errors are the last errors of the Shoot, of its objects in the seed, and of its machines.
	// +optional
	Errors []StatusError `json:"errors,omitempty"`
	// Unknown is what could not be found out, and why.
	// +optional
	Unknown []string `json:"unknown,omitempty"`
}

// StatusShoot is a shoot in a report.
type StatusShoot struct {
	// Namespace is the namespace of the Shoot in the garden.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the Shoot.
	Name string `json:"name"`
	// TechnicalID is the technical ID of the shoot, the name of its namespace in the seed.
	TechnicalID string `json:"technicalID"`
	// Hibernated is set if the shoot is hibernated. Its sites are not probed.
	// +optional
	Hibernated bool `json:"hibernated,omitempty"`
	// LastOperation is the last operation of the Shoot, such as "Reconcile Succeeded (100 %)".
	// +optional
	LastOperation string `json:"lastOperation,omitempty"`
	// LastOperationTime is when the last operation was updated.
	// +optional
	LastOperationTime *metav1.Time `json:"lastOperationTime,omitempty"`
}

// StatusCondition is a condition in a report.
type StatusCondition struct {
	// Object is the kind of the object that has the condition. It is omitted for conditions of a site.
	// +optional
	Object string `json:"object,omitempty"`
	// Type is the type of the condition, without the name of the site.
	Type string `json:"type"`
	// Status is True, False, Progressing, or Unknown.
	Status string `json:"status"`
	// Reason is the reason of the status.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is the message of the condition.
	// +optional
	Message string `json:"message,omitempty"`
	// Since is when the status changed.
	Since metav1.Time `json:"since"`
}

// StatusSite is a site in a report.
type StatusSite struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Platform is the platform of the site. It is omitted if it is not known.
	// +optional
	Platform Platform `json:"platform,omitempty"`
	// Removed is set if the site was removed from the shoot, and is not deleted.
	// +optional
	Removed bool `json:"removed,omitempty"`
	// Conditions are the conditions of the Infrastructure that concern the site, such as SiteAvailable and SiteQuarantined.
	// +optional
	Conditions []StatusCondition `json:"conditions,omitempty"`
	// QuarantinedUntil is when the quarantine of the site is over in any case. It is omitted if the site is not in quarantine.
	// +optional
	QuarantinedUntil *metav1.Time `json:"quarantinedUntil,omitempty"`
	// Pools are the machines of the pools on the site. They are omitted if there are none, or the seed is not known.
	// +optional
	Pools []StatusPool `json:"pools,omitempty"`
	// Room is what the site has for machines. It is omitted if it is not known.
	// +optional
	Room []StatusRoom `json:"room,omitempty"`
	// Requests are the requests to the site. They are omitted if they are not known.
	// +optional
	Requests *StatusRequests `json:"requests,omitempty"`
}

// StatusPool are the machines of a pool on a site.
type StatusPool struct {
	// Name is the name of the pool.
	Name string `json:"name"`
	// Wanted is the number of machines that the pool wants on the site.
	Wanted int32 `json:"wanted"`
	// Phases are the machines that exist, by their phases.
	// +optional
	Phases map[string]int32 `json:"phases,omitempty"`
	// Births is how long births of the machines took. It is omitted if that is not known of any of them.
	// +optional
	Births *StatusBirths `json:"births,omitempty"`
}

// StatusBirths is how long births of machines took.
type StatusBirths struct {
	// Machines is the number of machines whose birth is known.
	Machines int64 `json:"machines"`
	// Seconds are the medians of the seconds between the creation of a Machine and the end of a phase, by phases: claimed, powered,
	// provisioned, registered, initialized, and ready.
	// +optional
	Seconds map[string]int64 `json:"seconds,omitempty"`
}

// StatusRoom is the amount of a resource.
type StatusRoom struct {
	// Resource is the name of the resource: servers, cores, memory_bytes, cpu_hertz, storage_bytes, hosts, or machines for the maximum of
	// the shoot's machines on the site.
	Resource string `json:"resource"`
	// Zone is the zone that has the resource. It is omitted for resources of the whole site.
	// +optional
	Zone string `json:"zone,omitempty"`
	// MachineType is the machine type that hosts are for.
	// +optional
	MachineType string `json:"machineType,omitempty"`
	// Free is the unused amount.
	Free int64 `json:"free"`
	// Total is the total amount.
	Total int64 `json:"total"`
}

// StatusRequests are the requests of the extension and of the driver to a site since these were started. They include those for other
// shoots.
type StatusRequests struct {
	// Total is the number of requests.
	Total int64 `json:"total"`
	// Failed is the number of requests without an answer, or with status 5xx.
	Failed int64 `json:"failed"`
	// Throttled is the number of requests that were answered with status 429.
	Throttled int64 `json:"throttled"`
}

// StatusError is an error in a report.
type StatusError struct {
	// Object is the kind and, for machines, the name of the object that has the error.
	Object string `json:"object"`
	// Message is the message of the error.
	Message string `json:"message"`
	// Time is when the error was written.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Machines is the number of machines that have the error.
	// +optional
	Machines int32 `json:"machines,omitempty"`
}
