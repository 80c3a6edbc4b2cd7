// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"

// checks are all checks of a vSphere site.
var checks = platform.Checks[*validation]{
	{
		Check: platform.Check{
			ID: "vsphere-connection", Title: "A vCenter answers at the configured address, and its certificate is trusted.",
			Remedy: "Correct `server` of the site's `vsphere` block, `tls`, or `proxy` in the CloudProfile.",
		},
		Run: (*validation).connect,
	},
	{
		Check: platform.Check{
			ID: "vsphere-authentication", Title: "The vCenter accepts the credentials.",
			Remedy: "Correct user name and password of the site in the Secret.",
			Needs:  []string{"vsphere-connection"},
		},
		Run: (*validation).authenticate,
	},
	{
		Check: platform.Check{
			ID: "vsphere-zones", Title: "All objects that the zones name exist and are visible.",
			Remedy: "Correct the names in the zones of the CloudProfile, or permit the account to see the objects.",
			Needs:  []string{"vsphere-authentication"},
		},
		Run: (*validation).missingObjects,
	},
	{
		Check: platform.Check{
			ID: "vsphere-privileges", Title: "The credentials have all privileges on the objects of the zones.",
			Remedy: "Add the privileges to the role of the account, see `docs/operations/vsphere.md`.",
			Needs:  []string{"vsphere-zones"},
		},
		Run: (*validation).missingPrivileges,
	},
	{
		Check: platform.Check{
			ID: "vsphere-version", Title: "The vCenter has a supported version.",
			Remedy: "Upgrade the vCenter to 7.0 or later.",
			Needs:  []string{"vsphere-authentication"},
		},
		Run: (*validation).checkVersion,
	},
	{
		Check: platform.Check{
			ID: "vsphere-hosts", Title: "Each zone has a host that is connected and not in maintenance mode.",
			Remedy: "Add or connect a host of the cluster, or end its maintenance mode.",
			Needs:  []string{"vsphere-zones"},
		},
		Run: (*validation).checkHosts,
	},
	{
		Check: platform.Check{
			ID: "vsphere-network", Title: "All hosts of a zone have its network.",
			Remedy: "Attach the network to the hosts, or choose a network that they have.",
			Needs:  []string{"vsphere-hosts"},
		},
		Run: (*validation).checkNetworks,
	},
	{
		Check: platform.Check{
			ID: "vsphere-datastore", Title: "The datastore of each zone is accessible, and all hosts of the zone have it.",
			Remedy: "Mount the datastore on the hosts, end its maintenance mode, or choose another one.",
			Needs:  []string{"vsphere-hosts"},
		},
		Run: (*validation).checkDatastores,
	},
	{
		Check: platform.Check{
			ID: "vsphere-policy-datastores", Title: "The storage policy of each zone has a datastore that the hosts have.",
			Remedy: "Correct the rules of the policy, tag a datastore accordingly, or choose another policy.",
			Needs:  []string{"vsphere-hosts"},
		},
		Run: (*validation).checkPolicyDatastores,
	},
	{
		Check: platform.Check{
			ID: "vsphere-drs", Title: "Clusters have DRS if pools want anti-affinity.",
			Remedy: "Enable DRS of the cluster, or remove `antiAffinity` of the pool.",
			Needs:  []string{"vsphere-hosts"},
		},
		Run: (*validation).checkDRS,
	},
	{
		Check: platform.Check{
			ID: "vsphere-machine-type", Title: "Each machine type fits a host of its zones.",
			Remedy: "Choose a smaller machine type, or add larger hosts.",
			Needs:  []string{"vsphere-hosts"},
		},
		Run: (*validation).checkSizes,
	},
	{
		Check: platform.Check{
			ID: "vsphere-resource-pool", Title: "The memory limit of each resource pool suffices for the minima of the pools.",
			Remedy: "Raise the limit of the resource pool, or reduce `minimum` of the pools.",
			Needs:  []string{"vsphere-hosts"},
		},
		Run: (*validation).checkResourcePools,
	},
	{
		Check: platform.Check{
			ID: "vsphere-template", Title: "The templates of the pools' images exist in all zones and are templates.",
			Remedy: "Correct `template` of the image in the CloudProfile, or create the template.",
			Needs:  []string{"vsphere-zones"},
		},
		Run: (*validation).checkTemplates,
	},
	{
		Check: platform.Check{
			ID: "vsphere-datastore-space", Title: "Datastores have space for the volumes of all machines.",
			Remedy: "Free or add space, or reduce the volumes or the numbers of machines of the pools.",
			Needs:  []string{"vsphere-hosts", "vsphere-template"},
		},
		Run: (*validation).checkSpace,
	},
	{
		Check: platform.Check{
			ID: "vsphere-template-disk", Title: "Templates have no larger disk than the volumes of the pools.",
			Remedy: "Set the size of the volume to at least that of the template's disk.",
			Needs:  []string{"vsphere-template"},
		},
		Run: (*validation).checkTemplateDisks,
	},
	{
		Check: platform.Check{
			ID: "vsphere-template-version", Title: "Templates have a hardware version that volumes can be attached to.",
			Remedy: "Upgrade the hardware version of the template.",
			Needs:  []string{"vsphere-template"},
		},
		Run: (*validation).checkTemplateVersions,
	},
	{
		Check: platform.Check{
			ID: "vsphere-volume-policies", Title: "The storage policies of volume types, data volumes, and storage classes exist.",
			Remedy: "Correct `storagePolicy` of the volume type, data volume, or storage class, or create the policy.",
			Needs:  []string{"vsphere-authentication"},
		},
		Run: (*validation).checkPolicies,
	},
	{
		Check: platform.Check{
			ID: "vsphere-topology", Title: "Datacenters and clusters have the tags that the CSI driver reads, unless the extension creates them.",
			Remedy: "Create and attach the tags, or set `topology.create` in the CloudProfile.",
			Needs:  []string{"vsphere-zones"},
		},
		Run: (*validation).checkTopology,
	},
	{
		Check: platform.Check{
			ID: "vsphere-tags", Title: "The tags of the pools exist.",
			Remedy: "Create the tags, or correct `tags` of the pool.",
			Needs:  []string{"vsphere-authentication"},
		},
		Run: (*validation).checkTags,
	},
	{
		Check: platform.Check{
			ID: "vsphere-ipam", Title: "The API of the address pools answers, and the credentials have all permissions there.",
			Remedy: "Correct `ipam` of the site's `vsphere` block in the CloudProfile, `token` of the site in the Secret, or grant the " +
				"permissions in `docs/operations/vsphere.md`.",
			Needs: []string{"vsphere-authentication"},
		},
		Run: (*validation).checkIPAMAccess,
	},
	{
		Check: platform.Check{
			ID: "vsphere-address-pool", Title: "The pool of addresses exists, and its addresses belong to the site.",
			Remedy: "Create the pool, correct `vsphere.ipam.poolRef`, or correct the addresses of the pool.",
			Needs:  []string{"vsphere-ipam"},
		},
		Run: (*validation).checkPool,
	},
	{
		Check: platform.Check{
			ID: "vsphere-address-pool-size", Title: "The pool has an address for each machine.",
			Remedy: "Add addresses to the pool, or reduce `maximum` of the pools.",
			Needs:  []string{"vsphere-address-pool"},
		},
		Run: (*validation).checkPoolSize,
	},
	{
		Check: platform.Check{
			ID: "vsphere-load-balancer-addresses", Title: "The pool of addresses of machines has no addresses of load balancers.",
			Remedy: "Choose other addresses for the load balancers, or exclude them from the pool.",
			Needs:  []string{"vsphere-address-pool"},
		},
		Run: (*validation).checkBalancerAddresses,
	},
}
