// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// checkRolling rejects a pool in a zone that can never be rolled: one that may only replace machines after creating additional ones, when
// even its minimum leaves no host free. It accepts a pool whose machines are not being replaced, even if a host is gone.
func checkRolling(request platform.MachineClassRequest, selected inventory.Selection, hosts int) error {
	if request.Rolling == nil || request.Minimum == 0 || hosts > int(request.Minimum) {
		return nil
	}
	surge, unavailable, err := bounds(*request.Rolling, int(request.Minimum))
	if err != nil {
		return platform.NewError(platform.ClassConfiguration, "pool %q: %w", request.Pool, err)
	}
	if surge == 0 || unavailable > 0 {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration,
		"pool %q cannot be rolled in zone %q: it has at least %d machines there and may have no less (maxUnavailable %s), "+
			"but only %d hosts match %q; set maxUnavailable to at least 1 and maxSurge to 0, lower the minimum, or add hosts",
		request.Pool, request.Zone.Name, request.Minimum, request.Rolling.MaxUnavailable.String(), hosts, selected.Selector)
}

// bounds returns the absolute maxSurge and maxUnavailable, rounded as in machine-controller-manager. It removes one machine first if both
// are zero, so that surge is zero then.
func bounds(rolling platform.Rolling, machines int) (surge, unavailable int, err error) {
	if surge, err = intstr.GetScaledValueFromIntOrPercent(&rolling.MaxSurge, machines, true); err != nil {
		return 0, 0, err
	}
	unavailable, err = intstr.GetScaledValueFromIntOrPercent(&rolling.MaxUnavailable, machines, false)
	return surge, unavailable, err
}
