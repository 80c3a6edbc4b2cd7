// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"math/rand/v2"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// candidates returns the free hosts that the selection selects, in random order.
func candidates(hosts []metal3v1alpha1.BareMetalHost, selection *inventory.Selection) ([]*metal3v1alpha1.BareMetalHost, inventory.Counts) {
	var (
		free   []*metal3v1alpha1.BareMetalHost
		result = inventory.Counts{Total: len(hosts), Obstacles: map[obstacle]int{}}
	)
	for index := range hosts {
		host := &hosts[index]
		if !selection.Matches(host.Labels) {
			continue
		}
		result.Matching++
		if found := obstacleTo(host, selection.Cleaning); found != obstacleNone {
			result.Obstacles[found]++
			continue
		}
		free = append(free, host)
	}
	result.Free = len(free)
	rand.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
	return free, result
}
