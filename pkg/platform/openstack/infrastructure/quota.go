// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

// resource is a resource with a quota, named as in messages.
type resource string

const (
	resourceServers   resource = "servers"
	resourceCores     resource = "cores"
	resourceMemory    resource = "MiB of memory"
	resourcePorts     resource = "ports"
	resourceVolumes   resource = "volumes"
	resourceGigabytes resource = "GiB of volumes"

	resourceNetworks       resource = "networks"
	resourceSubnets        resource = "subnets"
	resourceRouters        resource = "routers"
	resourceSecurityGroups resource = "security groups"
	resourceRules          resource = "security group rules"
	resourceFloatingIPs    resource = "floating IPs"
)

// resources lists the resources of machines in reporting order.
var resources = []resource{resourceServers, resourceCores, resourceMemory, resourcePorts, resourceFloatingIPs, resourceVolumes,
	resourceGigabytes}

// amounts maps resources to amounts.
type amounts map[resource]int

// add adds other amounts.
func (a amounts) add(other amounts) {
	for resource, amount := range other {
		a[resource] += amount
	}
}

// quota is the quota of a project.
type quota struct{ limit, used amounts }

// leaves returns what the quota leaves if own amounts can be reused. Unlimited resources are omitted.
func (q quota) leaves(own amounts) amounts {
	left := amounts{}
	for resource, limit := range q.limit {
		if limit >= 0 {
			left[resource] = limit - q.used[resource] + own[resource]
		}
	}
	return left
}
