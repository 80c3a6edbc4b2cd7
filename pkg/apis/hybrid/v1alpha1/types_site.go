// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Platform is the kind of a site.
type Platform string

const (
	// PlatformOpenStack is a project of an OpenStack cloud in one region.
	PlatformOpenStack Platform = "openstack"
	// PlatformVSphere is a vCenter. Its zones may be in several datacenters.
	PlatformVSphere Platform = "vsphere"
	// PlatformMetal is an inventory of bare-metal hosts.
	PlatformMetal Platform = "metal"
)

const (
	// LabelSite is the node label with the name of the site that a node's machine comes from.
	// machine-controller-manager sets it from the MachineDeployment.
	LabelSite = GroupName + "/site"
	// LabelPlatform is the node label with the platform of that site.
	LabelPlatform = GroupName + "/platform"
)
