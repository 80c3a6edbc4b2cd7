// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"fmt"
	"math/rand/v2"
	"strings"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// counts say how many hosts match a selection, and how many of them have which obstacle.
type counts struct {
	total, matching, free int
	obstacles             map[obstacle]int
}

// candidates returns the free hosts that the selection selects, in random order.
func candidates(hosts []metal3v1alpha1.BareMetalHost, selection *inventory.Selection) ([]*metal3v1alpha1.BareMetalHost, counts) {
	var (
		free   []*metal3v1alpha1.BareMetalHost
		result = counts{total: len(hosts), obstacles: map[obstacle]int{}}
	)
	for index := range hosts {
		host := &hosts[index]
		if !matches(host, selection) {
			continue
		}
		result.matching++
		if found := obstacleTo(host); found != obstacleNone {
			result.obstacles[found]++
			continue
		}
		free = append(free, host)
	}
	result.free = len(free)
	rand.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
	return free, result
}

// exhausted returns the error that there is no free host. Those that looked free are being claimed by others.
func (c counts) exhausted() error {
	text := fmt.Sprintf("%d of %d hosts match, 0 are free", c.matching, c.total)
	var details []string
	for _, o := range obstacles {
		number := c.obstacles[o]
		if o == obstacleTaken {
			number += c.free
		}
		if number > 0 {
			details = append(details, fmt.Sprintf("%d %s", number, o))
		}
	}
	if len(details) > 0 {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	return platform.NewError(platform.ClassExhausted, "%s", text)
}
