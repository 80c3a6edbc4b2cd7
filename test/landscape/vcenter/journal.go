// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// Journal returns the requests that arrived since the last call, in the order of their answers, and keeps the following ones. The
// first call returns none. It waits for the requests in flight.
func (v *VCenter) Journal(ctx context.Context) ([]control.Request, error) {
	var requests []control.Request
	err := v.post(ctx, control.PathJournal, nil, &requests)
	return requests, err
}

// Populate puts virtual machines into the inventory at once.
func (v *VCenter) Populate(ctx context.Context, population control.Population) error {
	return v.post(ctx, control.PathPopulation, population, nil)
}
