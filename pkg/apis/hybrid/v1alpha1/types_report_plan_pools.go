// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// PoolPlan is what the next reconciliation would do to a worker pool.
type PoolPlan struct {
	// Name is the name of the pool.
	Name string `json:"name"`
	// Zones are the zones of the pool: first those of the Shoot in their order, then those that were removed from it. All of them are
	// changed at the same time.
	Zones []ZonePlan `json:"zones"`
}

// ZoneAction is what happens to the machines of a pool in a zone.
type ZoneAction string

const (
	// ZoneActionCreate means that the zone gets its first machine deployment.
	ZoneActionCreate ZoneAction = "Create"
	// ZoneActionDelete means that all machines are deleted.
	ZoneActionDelete ZoneAction = "Delete"
	// ZoneActionRoll means that all machines are replaced, because the zone gets another machine class.
	ZoneActionRoll ZoneAction = "Roll"
	// ZoneActionUpdateInPlace means that all machines are updated in place, because the zone gets another machine class.
	ZoneActionUpdateInPlace ZoneAction = "UpdateInPlace"
	// ZoneActionScale means that the number of machines or its limits change, and perhaps what does not replace machines.
	ZoneActionScale ZoneAction = "Scale"
	// ZoneActionUpdate means that the machine deployment or the machine class change without replacing machines.
	ZoneActionUpdate ZoneAction = "Update"
	// ZoneActionKeep means that nothing changes.
	ZoneActionKeep ZoneAction = "Keep"
	// ZoneActionWait means that the zone gets no machines or another machine class, because of its error.
	ZoneActionWait ZoneAction = "Wait"
	// ZoneActionUnknown means that it is not known whether the zone gets another machine class. A note says why.
	ZoneActionUnknown ZoneAction = "Unknown"
)

// ZonePlan is what the next reconciliation would do to a worker pool in a zone.
type ZonePlan struct {
	// Name is the name of the zone, empty if it is not known.
	// +optional
	Name string `json:"name,omitempty"`
	// Site is the name of the site of the zone, empty if it is not known.
	// +optional
	Site string `json:"site,omitempty"`
	// Action is what happens to the machines.
	Action ZoneAction `json:"action"`
	// MachineDeployment is the name of the machine deployment.
	MachineDeployment string `json:"machineDeployment"`
	// MachineClass is the name of the machine class. It is empty if the machine deployment does not exist.
	MachineClass PlannedName `json:"machineClass"`
	// Strategy is how machines are replaced or updated.
	// +optional
	Strategy *PlannedStrategy `json:"strategy,omitempty"`
	// Priority is the priority of the zone for the cluster-autoscaler. Zones are rolled at the same time whatever their priority.
	// +optional
	Priority *int32 `json:"priority,omitempty"`
	// Minimum and Maximum are the limits of the number of machines.
	Minimum PlannedNumber `json:"minimum"`
	Maximum PlannedNumber `json:"maximum"`
	// Replicas is the number of machines that the machine deployment has.
	Replicas PlannedNumber `json:"replicas"`
	// Machines is what happens to the machines.
	Machines PlannedMachines `json:"machines"`
	// Causes are the fields whose change alone makes the name of the machine class another one.
	// +optional
	Causes []PlanCause `json:"causes,omitempty"`
	// Changes are the fields of the machine deployment and the machine class that change.
	// +optional
	Changes []string `json:"changes,omitempty"`
	// Notes are what is not known, and why.
	// +optional
	Notes []string `json:"notes,omitempty"`
	// Error is why the zone cannot be resolved. It keeps its machine class.
	// +optional
	Error string `json:"error,omitempty"`
}

// PlannedName is a name before and after the change. It is empty if there is none or it is not known.
type PlannedName struct {
	// Before and After are the names before and after the change.
	// +optional
	Before string `json:"before,omitempty"`
	// +optional
	After string `json:"after,omitempty"`
}

// PlannedNumber is a number before and after the change. It is nil if there is none or it is not known.
type PlannedNumber struct {
	// Before and After are the numbers before and after the change.
	// +optional
	Before *int32 `json:"before,omitempty"`
	// +optional
	After *int32 `json:"after,omitempty"`
}

// PlannedStrategy is how the machines of a machine deployment are replaced or updated.
type PlannedStrategy struct {
	// Type is the type of the strategy, as in a MachineDeployment.
	Type string `json:"type"`
	// MaxSurge is how many machines may exist above the number of replicas.
	MaxSurge int32 `json:"maxSurge"`
	// MaxUnavailable is how many machines may be missing from the number of replicas.
	MaxUnavailable int32 `json:"maxUnavailable"`
}

// PlannedMachines are numbers of machines. A replaced machine is created and deleted.
type PlannedMachines struct {
	// Existing is the number of machines that are not being deleted.
	Existing int32 `json:"existing"`
	// Created is the number of machines that are created.
	Created int32 `json:"created"`
	// Deleted is the number of machines that are deleted.
	Deleted int32 `json:"deleted"`
	// Updated is the number of machines that are updated in place.
	Updated int32 `json:"updated"`
}

// PlanCause is a field whose change alone makes the name of a machine class another one.
type PlanCause struct {
	// Kind is the kind of the object: Shoot or CloudProfile.
	Kind string `json:"kind"`
	// Field is the path of the field in the object. Pools are named instead of counted.
	Field string `json:"field"`
	// Before and After are the values, as JSON, which may be truncated. They are empty if there is none.
	// +optional
	Before string `json:"before,omitempty"`
	// +optional
	After string `json:"after,omitempty"`
}

// PlannedQuota is what the pools need of a resource of a site, and what the site has of it.
type PlannedQuota struct {
	// Resource is the name of the resource.
	Resource string `json:"resource"`
	// Minimum and Maximum are what the pools need for their minima and maxima.
	Minimum PlannedNumber `json:"minimum"`
	Maximum PlannedNumber `json:"maximum"`
	// Available is what the site has for the pools, including what the shoot has already.
	Available int32 `json:"available"`
}

// PlannedService is what Services and volumes of the shoot gain, lose, or get in another way.
type PlannedService struct {
	// Action is what happens.
	Action PlannedAction `json:"action"`
	// Kind is LoadBalancers, DefaultSite, StorageClass, or VolumeSnapshotClass.
	Kind string `json:"kind"`
	// Name is the name of the class, or of the site.
	Name string `json:"name"`
	// Fields are the fields that are changed.
	// +optional
	Fields []PlannedField `json:"fields,omitempty"`
}
