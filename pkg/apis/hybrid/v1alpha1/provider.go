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

// Conditions that an Infrastructure has about the preflight checks of its sites.
const (
	// ConditionSitePreflightPrefix is the prefix of the types of the conditions about the checks of sites. The name of the
	// site follows.
	ConditionSitePreflightPrefix = "SitePreflight-"
	// ConditionSitePairsPreflight is the type of the Infrastructure's condition about the checks of all pairs of sites.
	ConditionSitePairsPreflight = "SitePairsPreflight"
	// ReasonPreflightPassed means that no check has failed. The message has the warnings.
	ReasonPreflightPassed = "PreflightPassed"
	// ReasonPreflightFailed means that checks have failed.
	ReasonPreflightFailed = "PreflightFailed"
	// ReasonPreflightIncomplete means that no check has failed, but some could not be made.
	ReasonPreflightIncomplete = "PreflightIncomplete"
)

const (
	// ConditionSiteQuarantinedPrefix is the prefix of the types of the Infrastructure's conditions about sites that are cut off. The name of
	// the site follows. The condition is True while the site is in quarantine.
	ConditionSiteQuarantinedPrefix = "SiteQuarantined-"
	// ReasonSiteCutOff means that the machines of the site are lost.
	ReasonSiteCutOff = "SiteCutOff"
	// ReasonSiteRecovering means that the site's machines are back, and those that are not have one health timeout left. The condition is
	// still True.
	ReasonSiteRecovering = "SiteRecovering"
	// ReasonQuarantineRecovered means that the quarantine has ended because the machines of the site are back.
	ReasonQuarantineRecovered = "QuarantineRecovered"
	// ReasonQuarantineExpired means that the quarantine has ended because its maximum duration is over.
	ReasonQuarantineExpired = "QuarantineExpired"
	// ReasonQuarantineEnded means that a person has ended the quarantine.
	ReasonQuarantineEnded = "QuarantineEnded"
)

const (
	// AnnotationQuarantinedUntil is the annotation of machine classes whose site is in quarantine. Its value is the time, in RFC 3339, after
	// which the quarantine is over in any case. Until then the driver neither creates nor deletes machines that were running.
	AnnotationQuarantinedUntil = "hybrid.provider.extensions.gardener.cloud/quarantined-until"
	// AnnotationEndQuarantine is the annotation of a Shoot that ends the quarantine of sites. Its value is a comma-separated list of their
	// names.
	AnnotationEndQuarantine = "hybrid.provider.extensions.gardener.cloud/end-quarantine"
	// AnnotationDeleteAnyway is the annotation of a Machine that is deleted although its site is in quarantine. Its value is the reason.
	AnnotationDeleteAnyway = "hybrid.provider.extensions.gardener.cloud/delete-anyway"
	// AnnotationMaximumMachines is the annotation of machine classes with the maximum number of the shoot's machines on the site.
	AnnotationMaximumMachines = "hybrid.provider.extensions.gardener.cloud/maximum-machines"
	// AnnotationBirthTimes is the annotation of a node with the times, in RFC 3339, at which it was initialized and its site did what is
	// needed for that.
	AnnotationBirthTimes = "hybrid.provider.extensions.gardener.cloud/birth-times"
	// AnnotationBirthProfile is the annotation of a Machine with the time between its creation and the end of each phase of its birth. It
	// also tells that metrics have the birth.
	AnnotationBirthProfile = "hybrid.provider.extensions.gardener.cloud/birth-profile"
)
