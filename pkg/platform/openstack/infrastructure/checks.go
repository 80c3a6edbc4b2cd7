// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// IDs of the checks that others need.
const (
	checkAuthentication = "openstack-authentication"
	checkRegion         = "openstack-region"
	checkProject        = "openstack-project"
	checkServices       = "openstack-services"
	checkRoles          = "openstack-roles"
	checkFloatingPool   = "openstack-floating-pool"
	checkNetwork        = "openstack-network"
	checkNodeSubnet     = "openstack-subnet"
	checkImageService   = "openstack-image-service"
	checkVolumeService  = "openstack-volume-service"
	checkBalancers      = "openstack-load-balancer-service"
)

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
			ID: checkRegion, Title: "The region is that of the shoot's objects.",
			Remedy: "Restore `region` in the CloudProfile.",
			Needs:  []string{checkAuthentication},
		},
		Run: (*validation).region,
	},
	{
		Check: platform.Check{
			ID: checkProject, Title: "The credentials are for the project of the shoot's objects.",
			Remedy: "Restore credentials of the project that the shoot was created in.",
			Needs:  []string{checkAuthentication},
		},
		Run: (*validation).project,
	},
	{
		Check: platform.Check{
			ID: checkServices, Title: "The service catalog has the networking and compute services in the region.",
			Remedy: "Correct `region` and `endpointType` in the CloudProfile, or add the endpoint to the catalog.",
			Needs:  []string{checkRegion, checkProject},
		},
		Run: (*validation).services,
	},
	{
		Check: platform.Check{
			ID: checkRoles, Title: "The credentials may create objects in the project.",
			Remedy: "Assign the role `member` in the project to the user or application credential.",
			Needs:  []string{checkServices},
		},
		Run: (*validation).roles,
	},
	{
		Check: platform.Check{
			ID: "openstack-neutron-extensions", Title: "The networking service has the API extensions that every shoot needs.",
			Remedy: "Enable the extensions in Neutron.",
			Needs:  []string{checkServices},
		},
		Run: (*validation).extensions,
	},
	{
		Check: platform.Check{
			ID: checkFloatingPool, Title: "There is exactly one external network with the name of the floating pool.",
			Remedy: "Correct `floatingPoolName`, or share the network with the project.",
			Needs:  []string{checkServices},
		},
		Run: of(networkChecks.floatingPool),
	},
	{
		Check: platform.Check{
			ID: "openstack-floating-subnet", Title: "The floating pool has the requested subnet.",
			Remedy: "Correct `floatingSubnet`; use the ID if the credentials may not see the subnet.",
			Needs:  []string{checkFloatingPool},
		},
		Run: of(networkChecks.floatingSubnet),
	},
	{
		Check: platform.Check{
			ID: "openstack-router", Title: "The given router exists, and its gateway is in the floating pool.",
			Remedy: "Correct `router.id`, or set the external gateway of the router.",
			Needs:  []string{checkServices},
		},
		Run: of(networkChecks.router),
	},
	{
		Check: platform.Check{
			ID: checkNetwork, Title: "The given network exists and may be used.",
			Remedy: "Correct `network.id`, or share the network with the project.",
			Needs:  []string{checkServices},
		},
		Run: of(networkChecks.nodeNetwork),
	},
	{
		Check: platform.Check{
			ID: checkNodeSubnet, Title: "The given subnet has the range of the nodes, or a new one fits into the given network.",
			Remedy: "Correct `subnet.id` or the `nodes` of the site.",
			Needs:  []string{checkNetwork},
		},
		Run: of(networkChecks.nodeSubnet),
	},
	{
		Check: platform.Check{
			ID: "openstack-subnet-size", Title: "The allocation pools of the given subnet suffice for the pools.",
			Remedy: "Extend the allocation pools of the subnet, or reduce `minimum` or `maximum` of the pools.",
			Needs:  []string{checkNodeSubnet},
		},
		Run: of(networkChecks.subnetRoom),
	},
	{
		Check: platform.Check{
			ID: "openstack-mtu", Title: "The MTU of the site fits into the given network.",
			Remedy: "Reduce `mtu` of the site in the CloudProfile, or raise the MTU of the network.",
			Needs:  []string{checkNetwork},
		},
		Run: of(networkChecks.mtu),
	},
	{
		Check: platform.Check{
			ID: "openstack-security-group", Title: "The given security group exists and may be used.",
			Remedy: "Correct `securityGroup.id`.",
			Needs:  []string{checkServices},
		},
		Run: of(networkChecks.securityGroup),
	},
	{
		Check: platform.Check{
			ID: "openstack-pool-security-group", Title: "Each additional security group of the pools exists once and may be used.",
			Remedy: "Correct `additionalSecurityGroups` of the pool; use the ID if the name is not unique.",
			Needs:  []string{checkServices},
		},
		Run: of(networkChecks.poolSecurityGroups),
	},
	{
		Check: platform.Check{
			ID: "openstack-share-network", Title: "The site has the shared file system service if a share network is wanted.",
			Remedy: "Disable `shareNetwork`, or add the service to the catalog.",
			Needs:  []string{checkServices},
		},
		Run: (*validation).shareNetwork,
	},
	{
		Check: platform.Check{
			ID: "openstack-zones", Title: "The availability zones of the CloudProfile exist and are available.",
			Remedy: "Correct `availabilityZone` in the zones of the CloudProfile.",
			Needs:  []string{checkServices},
		},
		Run: (*validation).zones,
	},
	{
		Check: platform.Check{
			ID: "openstack-pool-zones", Title: "The availability zones of the pools exist and are available.",
			Remedy: "Correct `availabilityZone` in the zones of the CloudProfile, or the zones of the pool.",
			Needs:  []string{checkServices},
		},
		Run: (*validation).poolZones,
	},
	{
		Check: platform.Check{
			ID: "openstack-flavor", Title: "The flavors of the pools' machine types exist.",
			Remedy: "Correct `flavor` in the CloudProfile, or give the project access to the flavor.",
			Needs:  []string{checkServices},
		},
		Run: of(machineChecks.flavorsExist),
	},
	{
		Check: platform.Check{
			ID: "openstack-flavor-capacity", Title: "The flavors have the CPUs and memory of the machine types in the CloudProfile.",
			Remedy: "Correct the machine type in the CloudProfile, or its `capacity` on the site.",
			Needs:  []string{checkServices},
		},
		Run: of(machineChecks.flavorCapacity),
	},
	{
		Check: platform.Check{
			ID: "openstack-flavor-gpu", Title: "The flavors of machine types with GPUs request devices.",
			Remedy: "Correct `gpu` of the machine type in the CloudProfile, or use a flavor with GPUs.",
			Needs:  []string{checkServices},
		},
		Run: of(machineChecks.flavorGPUs),
	},
	{
		Check: platform.Check{
			ID: "openstack-flavor-disk", Title: "The machines have a root disk: that of the flavor, or a volume.",
			Remedy: "Set the type of the pool's root volume, or use a flavor with a disk.",
			Needs:  []string{checkServices},
		},
		Run: of(machineChecks.flavorDisk),
	},
	{
		Check: platform.Check{
			ID: checkImageService, Title: "The service catalog has the image service.",
			Remedy: "Add the endpoint to the catalog.",
			Needs:  []string{checkServices},
		},
		Run: of(machineChecks.imageService),
	},
	{
		Check: platform.Check{
			ID: "openstack-image", Title: "There is exactly one active image for each pool.",
			Remedy: "Upload or share the image, rename others with the same name, or set `imageID` in the CloudProfile.",
			Needs:  []string{checkImageService},
		},
		Run: of(machineChecks.imagesExist),
	},
	{
		Check: platform.Check{
			ID: "openstack-image-size", Title: "The images fit into the memory and root disks of the pools' machines.",
			Remedy: "Use a larger machine type or root volume.",
			Needs:  []string{checkImageService},
		},
		Run: of(machineChecks.imageSize),
	},
	{
		Check: platform.Check{
			ID: "openstack-image-architecture", Title: "The images are for the architecture of the pools.",
			Remedy: "Correct the image in the CloudProfile, or its properties in Glance.",
			Needs:  []string{checkImageService},
		},
		Run: of(machineChecks.imageArchitecture),
	},
	{
		Check: platform.Check{
			ID: checkVolumeService, Title: "The service catalog has the block storage service if the shoot needs volumes.",
			Remedy: "Add the endpoint to the catalog, or remove volumes and storage classes.",
			Needs:  []string{checkServices},
		},
		Run: of(volumeChecks.volumeService),
	},
	{
		Check: platform.Check{
			ID: "openstack-volume-type", Title: "The types of the pools' volumes exist.",
			Remedy: "Correct `type` of the volume type in the CloudProfile, or give the project access to it.",
			Needs:  []string{checkVolumeService},
		},
		Run: of(volumeChecks.volumeTypesExist),
	},
	{
		Check: platform.Check{
			ID: "openstack-storage-class", Title: "The volume types of the CloudProfile's storage classes exist.",
			Remedy: "Correct `type` of the storage class in the CloudProfile, or give the project access to it.",
			Needs:  []string{checkVolumeService},
		},
		Run: of(volumeChecks.storageClasses),
	},
	{
		Check: platform.Check{
			ID: "openstack-storage-zone", Title: "The availability zones of the CloudProfile's storage classes exist.",
			Remedy: "Correct `availabilityZone` of the storage class in the CloudProfile.",
			Needs:  []string{checkVolumeService},
		},
		Run: of(volumeChecks.storageZones),
	},
	{
		Check: platform.Check{
			ID: "openstack-compute-quota", Title: "The quotas of servers, cores, and memory suffice for the pools.",
			Remedy: "Raise the quota of the project, or reduce `minimum` or `maximum` of the pools.",
			Needs:  []string{checkServices},
		},
		Run: of(quotaChecks.computeRoom),
	},
	{
		Check: platform.Check{
			ID: "openstack-key-pair-quota", Title: "The quota of the user permits a key pair for the shoot.",
			Remedy: "Raise the quota of key pairs, delete unused ones, or use credentials of another user.",
			Needs:  []string{checkServices},
		},
		Run: of(quotaChecks.keyPairRoom),
	},
	{
		Check: platform.Check{
			ID: "openstack-server-group-quota", Title: "The quotas of server groups and their members suffice for the pools.",
			Remedy: "Raise the quota of the project, or reduce `minimum` or `maximum` of the pools.",
			Needs:  []string{checkServices},
		},
		Run: of(quotaChecks.serverGroupRoom),
	},
	{
		Check: platform.Check{
			ID: "openstack-port-quota", Title: "The quota of ports suffices for the pools.",
			Remedy: "Raise the quota of the project, or reduce `minimum` or `maximum` of the pools.",
			Needs:  []string{checkServices},
		},
		Run: of(quotaChecks.networkRoom),
	},
	{
		Check: platform.Check{
			ID:     "openstack-network-quota",
			Title:  "The quotas of networks, subnets, routers, security groups, and their rules suffice for the site.",
			Remedy: "Raise the quota of the project, delete what is unused, or use existing objects.",
			Needs:  []string{checkServices},
		},
		Run: of(quotaChecks.objectRoom),
	},
	{
		Check: platform.Check{
			ID: "openstack-volume-quota", Title: "The quotas of volumes suffice for the pools.",
			Remedy: "Raise the quota of the project, or reduce `minimum` or `maximum` of the pools.",
			Needs:  []string{checkVolumeService},
		},
		Run: of(volumeChecks.volumeRoom),
	},
	{
		Check: platform.Check{
			ID: checkBalancers, Title: "The service catalog has the load balancing service if the shoot configures it.",
			Remedy: "Add the endpoint to the catalog, or remove `loadBalancer` of the site from the ControlPlaneConfig.",
			Needs:  []string{checkServices},
		},
		Run: of(balancerChecks.balancerService),
	},
	{
		Check: platform.Check{
			ID: "openstack-load-balancer-role", Title: "The credentials may create load balancers for Services.",
			Remedy: "Assign the role `load-balancer_member` in the project to the user or application credential.",
			Needs:  []string{checkBalancers, checkRoles},
		},
		Run: of(balancerChecks.balancerRole),
	},
	{
		Check: platform.Check{
			ID: "openstack-load-balancer-provider", Title: "Octavia has the provider of the shoot's load balancers.",
			Remedy: "Correct `loadBalancerProviders` in the CloudProfile, or `provider` in the ControlPlaneConfig.",
			Needs:  []string{checkBalancers},
		},
		Run: of(balancerChecks.balancerProvider),
	},
	{
		Check: platform.Check{
			ID: "openstack-load-balancer-quota", Title: "The quotas of load balancers and floating IPs permit another one.",
			Remedy: "Raise the quota of the project, or delete what is unused.",
			Needs:  []string{checkBalancers},
		},
		Run: of(balancerChecks.balancerRoom),
	},
	{
		Check: platform.Check{
			ID: "openstack-load-balancer-class", Title: "The networks and subnets of the classes of load balancers exist.",
			Remedy: "Correct the class in the CloudProfile or in the ControlPlaneConfig.",
			Needs:  []string{checkServices},
		},
		Run: of(balancerChecks.balancerClasses),
	},
}

// of returns the check as one of the validation that its area is a part of.
func of[A interface{ ~struct{ *validation } }](
	run func(A, context.Context, *platform.Result) error,
) func(*validation, context.Context, *platform.Result) error {
	return func(v *validation, ctx context.Context, result *platform.Result) error { return run(A{v}, ctx, result) }
}
