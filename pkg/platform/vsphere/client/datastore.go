// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"github.com/vmware/govmomi/vim25/types"
)

// InMaintenance reports whether a datastore is in maintenance, or on its way there, so that nothing should be put on it.
func InMaintenance(datastore *types.DatastoreSummary) bool {
	return datastore.MaintenanceMode != "" && datastore.MaintenanceMode != string(types.DatastoreSummaryMaintenanceModeStateNormal)
}
