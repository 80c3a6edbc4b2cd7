// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

// AvailabilityZones returns the availability zones of Nova or Cinder. Errors are classified.
func AvailabilityZones(ctx context.Context, pager pagination.Pager) ([]availabilityzones.AvailabilityZone, error) {
	return List(ctx, pager.WithPageCreator(newZonePage), extractZones)
}

// zonePage is the only page of availability zones. The library's page type expects a list.
type zonePage struct {
	availabilityzones.AvailabilityZonePage
}

func newZonePage(r pagination.PageResult) pagination.Page {
	return zonePage{availabilityzones.AvailabilityZonePage{SinglePageBase: pagination.SinglePageBase(r)}}
}

// IsEmpty implements pagination.Page.
func (p zonePage) IsEmpty() (bool, error) {
	zones, err := extractZones(p)
	return len(zones) == 0, err
}

func extractZones(page pagination.Page) ([]availabilityzones.AvailabilityZone, error) {
	if p, ok := page.(zonePage); ok {
		page = p.AvailabilityZonePage
	}
	return availabilityzones.ExtractAvailabilityZones(page)
}
