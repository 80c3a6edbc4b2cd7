// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ProviderType is the type of CloudProfiles, Shoots and extension objects, and the provider of machine classes.
const ProviderType = "hybrid"

// ExtensionName is the name of the extension.
const ExtensionName = "provider-hybrid"

// Conditions that an Infrastructure, ControlPlane or Worker has, with status False, while something is wrong with a site that does not stop
// the others.
const (
	// ConditionRemovedSitesDeleted is the type of the condition about sites that the Shoot no longer uses and that are not
	// deleted.
	ConditionRemovedSitesDeleted = "RemovedSitesDeleted"
	// ConditionSitesReconciled is the type of the condition about sites that fail and stay as they are, because nothing about them
	// has changed.
	ConditionSitesReconciled = "SitesReconciled"
	// ReasonMachinesLeft means that removed sites wait for the end of their machines.
	ReasonMachinesLeft = "MachinesLeft"
	// ReasonDeletionFailed means that a removed site cannot be deleted.
	ReasonDeletionFailed = "DeletionFailed"
	// ReasonSitesStay means that a site stays as it is.
	ReasonSitesStay = "SitesStay"
)
