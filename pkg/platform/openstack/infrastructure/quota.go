// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"fmt"

	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
)

// resource is something that quotas limit. It is named as messages name it.
type resource string

const (
	resourceServers   resource = "servers"
	resourceCores     resource = "cores"
	resourceMemory    resource = "MiB of memory"
	resourcePorts     resource = "ports"
	resourceVolumes   resource = "volumes"
	resourceGigabytes resource = "GiB of volumes"
)

// resources has all resources in the order in which they are reported.
var resources = []resource{resourceServers, resourceCores, resourceMemory, resourcePorts, resourceVolumes, resourceGigabytes}

// amounts are how much of each resource something has.
type amounts map[resource]int

// add adds other amounts.
func (a amounts) add(other amounts) {
	for resource, amount := range other {
		a[resource] += amount
	}
}

// quota is the quota of a project.
type quota struct{ limit, used amounts }

// leaves returns what the quota leaves to somebody who has the own amounts already. What is not limited is not there.
func (q quota) leaves(own amounts) amounts {
	left := amounts{}
	for resource, limit := range q.limit {
		if limit >= 0 {
			left[resource] = limit - q.used[resource] + own[resource]
		}
	}
	return left
}

// need is what the machines of a pool need.
type need struct {
	path             *fieldpath.Path
	each             amounts
	minimum, maximum int
}

// compare reports the first pool with which a quota does not suffice: for what all pools have at least as a shortage, for what
// they have at most as a warning.
func (f *findings) compare(needs []need, left amounts) {
	for _, resource := range resources {
		available, limited := left[resource]
		if !limited {
			continue
		}
		if n, sum := exceeding(needs, available, func(n need) int { return n.each[resource] * n.minimum }); n != nil {
			f.Shortages = append(f.Shortages, fieldpath.Forbidden(n.path.Child("minimum"),
				fmt.Sprintf("the pools need at least %d %s, the quota leaves %d", sum, resource, max(0, available))))
			continue
		}
		if n, sum := exceeding(needs, available, func(n need) int { return n.each[resource] * n.maximum }); n != nil {
			f.warn(n.path.Child("maximum"), "the pools need up to %d %s, the quota leaves %d", sum, resource, max(0, available))
		}
	}
}

// exceeding returns the first pool with which the sum exceeds what is available, and the sum of all pools.
func exceeding(needs []need, available int, amount func(need) int) (*need, int) {
	var (
		first *need
		sum   int
	)
	for i := range needs {
		sum += amount(needs[i])
		if first == nil && amount(needs[i]) > 0 && sum > available {
			first = &needs[i]
		}
	}
	return first, sum
}
