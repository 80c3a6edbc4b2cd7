// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"

// IDs of the checks that others need.
const (
	checkAuthentication = "openstack-authentication"
	checkProject        = "openstack-project"
	checkServices       = "openstack-services"
	checkFloatingPool   = "openstack-floating-pool"
	checkNetwork        = "openstack-network"
)

var needsServices = []string{checkServices}

// checks are all checks of an OpenStack site.
var checks = platform.Checks[*validation]{
	{
		Check: platform.Check{
			ID: checkAuthentication, Title: "Keystone accepts the credentials.",
			Remedy: "Correct the site's credentials in the Secret, and `authURL` in the CloudProfile.",
		},
		Run: (*validation).authentication,
	},
	{
		Check: platform.Check{
			ID: checkProject, Title: "The credentials are for the project and region of the shoot's objects.",
			Remedy: "Restore credentials of the project that the shoot was created in, and the region in the CloudProfile.",
			Needs:  []string{checkAuthentication},
		},
		Run: (*validation).project,
	},
	{
		Check: platform.Check{
			ID: checkServices, Title: "The service catalog has the networking and compute services in the region.",
			Remedy: "Correct `region` and `endpointType` in the CloudProfile, or add the endpoint to the catalog.",
			Needs:  []string{checkProject},
		},
		Run: (*validation).services,
	},
	{
		Check: platform.Check{
			ID: "openstack-roles", Title: "The credentials may create objects in the project.",
			Remedy: "Assign the role `member` in the project to the user or application credential.",
			Needs:  needsServices,
		},
		Run: (*validation).roles,
	},
	{
		Check: platform.Check{
			ID: "openstack-load-balancer-role", Title: "The credentials may create load balancers for Services.",
			Remedy: "Assign the role `load-balancer_member` in the project to the user or application credential.",
			Needs:  needsServices,
		},
		Run: (*validation).balancers,
	},
	{
		Check: platform.Check{
			ID: checkFloatingPool, Title: "There is exactly one external network with the name of the floating pool.",
			Remedy: "Correct `floatingPoolName`, or share the network with the project.",
			Needs:  needsServices,
		},
		Run: (*validation).floatingPool,
	},
	{
		Check: platform.Check{
			ID: "openstack-floating-subnet", Title: "The floating pool has the requested subnet.",
			Remedy: "Correct `floatingSubnet`; use the ID if the credentials may not see the subnet.",
			Needs:  []string{checkFloatingPool},
		},
		Run: (*validation).floatingSubnet,
	},
	{
		Check: platform.Check{
			ID: "openstack-router", Title: "The given router exists, and its gateway is in the floating pool.",
			Remedy: "Correct `router.id`, or set the external gateway of the router.",
			Needs:  needsServices,
		},
		Run: (*validation).router,
	},
	{
		Check: platform.Check{
			ID: checkNetwork, Title: "The given network exists and may be used.",
			Remedy: "Correct `network.id`, or share the network with the project.",
			Needs:  needsServices,
		},
		Run: (*validation).nodeNetwork,
	},
	{
		Check: platform.Check{
			ID: "openstack-subnet", Title: "The given subnet has the nodes' range, or the new one fits into the given network.",
			Remedy: "Correct `subnet.id` or the `nodes` of the site.",
			Needs:  []string{checkNetwork},
		},
		Run: (*validation).nodeSubnet,
	},
	{
		Check: platform.Check{
			ID: "openstack-security-group", Title: "The given security group exists and may be used.",
			Remedy: "Correct `securityGroup.id`.",
			Needs:  needsServices,
		},
		Run: (*validation).securityGroup,
	},
	{
		Check: platform.Check{
			ID: "openstack-share-network", Title: "The site has the shared file system service if a share network is wanted.",
			Remedy: "Disable `shareNetwork`, or add the service to the catalog.",
			Needs:  needsServices,
		},
		Run: (*validation).shareNetwork,
	},
	{
		Check: platform.Check{
			ID: "openstack-zones", Title: "The availability zones of the CloudProfile exist and are available.",
			Remedy: "Correct `availabilityZone` in the zones of the CloudProfile.",
			Needs:  needsServices,
		},
		Run: (*validation).zones,
	},
	{
		Check: platform.Check{
			ID: "openstack-flavor", Title: "The flavors of the pools' machine types exist.",
			Remedy: "Correct `flavor` in the CloudProfile, or give the project access to the flavor.",
			Needs:  needsServices,
		},
		Run: (*validation).flavorsExist,
	},
	{
		Check: platform.Check{
			ID: "openstack-volume-type", Title: "The types of the pools' root volumes exist.",
			Remedy: "Correct `type` of the volume type in the CloudProfile, or give the project access to it.",
			Needs:  needsServices,
		},
		Run: (*validation).volumeTypes,
	},
	{
		Check: platform.Check{
			ID: "openstack-compute-quota", Title: "The quotas of servers, cores, and memory suffice for the pools.",
			Remedy: "Raise the quota of the project, or reduce `minimum` or `maximum` of the pools.",
			Needs:  needsServices,
		},
		Run: (*validation).computeRoom,
	},
	{
		Check: platform.Check{
			ID: "openstack-network-quota", Title: "The quotas of the networking service suffice for the pools.",
			Remedy: "Raise the quota of the project, or reduce `minimum` or `maximum` of the pools.",
			Needs:  needsServices,
		},
		Run: (*validation).networkRoom,
	},
	{
		Check: platform.Check{
			ID: "openstack-volume-quota", Title: "The quotas of volumes suffice for the pools.",
			Remedy: "Raise the quota of the project, or reduce `minimum` or `maximum` of the pools.",
			Needs:  needsServices,
		},
		Run: (*validation).volumeRoom,
	},
}
