// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

// Reasons of events.
const (
	reasonSiteFailed  = "SiteFailed"
	reasonSiteReady   = "SiteReady"
	reasonSiteWarning = "SiteWarning"
	reasonSiteStays   = "SiteStays"
	reasonSiteDeleted = "SiteDeleted"
	reasonSiteInUse   = "SiteInUse"
	reasonOrphansLeft = "OrphansLeft"
	actionReconcile   = "Reconcile"
	actionDelete      = "Delete"
	actionLookUp      = "LookUp"
)
