// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package extension names the platforms and the DNS services for the extension. It uses those of package driver, too.
package extension

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns/rfc2136"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	metalcontrolplane "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/controlplane"
	metaldiscovery "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/discovery"
	metalinfrastructure "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	metalmachineclasses "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machineclasses"
	metalprobe "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/probe"
	openstackbastion "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/bastion"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	openstackcontrolplane "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/controlplane"
	openstackdiscovery "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/discovery"
	openstackdns "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/dns"
	openstackexposure "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/exposure"
	openstackinfrastructure "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	openstackmachineclasses "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	openstackprobe "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/probe"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	vspherebastion "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/bastion"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	vspherecontrolplane "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/controlplane"
	vspherediscovery "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/discovery"
	vsphereinfrastructure "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/infrastructure"
	vspheremachineclasses "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machineclasses"
	vsphereprobe "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/probe"
)

// Infrastructures returns the Infrastructure parts of all platforms.
func Infrastructures() platform.Registry[platform.Infrastructure] {
	return platform.Registry[platform.Infrastructure]{
		v1alpha1.PlatformMetal:     metalinfrastructure.New(metalclient.Shared(), inventories.Open),
		v1alpha1.PlatformOpenStack: openstackinfrastructure.New(openstackclient.Shared()),
		v1alpha1.PlatformVSphere:   vsphereinfrastructure.New(vsphereclient.Shared()),
	}
}

// MachineClasses returns the MachineClasses parts of all platforms.
func MachineClasses() platform.Registry[platform.MachineClasses] {
	return platform.Registry[platform.MachineClasses]{
		v1alpha1.PlatformMetal:     metalmachineclasses.New(metalclient.Shared(), inventories.Open),
		v1alpha1.PlatformOpenStack: openstackmachineclasses.New(openstackclient.Shared()),
		v1alpha1.PlatformVSphere:   vspheremachineclasses.New(vsphereclient.Shared()),
	}
}

// ControlPlanes returns the ControlPlane parts of all platforms.
func ControlPlanes() platform.Registry[platform.ControlPlane] {
	return platform.Registry[platform.ControlPlane]{
		v1alpha1.PlatformMetal:     metalcontrolplane.New(),
		v1alpha1.PlatformOpenStack: openstackcontrolplane.New(),
		v1alpha1.PlatformVSphere:   vspherecontrolplane.New(),
	}
}

// Bastions returns the Bastions parts of the platforms that support bastions.
func Bastions() platform.Registry[platform.Bastions] {
	return platform.Registry[platform.Bastions]{
		v1alpha1.PlatformOpenStack: openstackbastion.New(openstackclient.Shared()),
		v1alpha1.PlatformVSphere:   vspherebastion.New(vsphereclient.Shared()),
	}
}

// Exposures returns the Exposures parts of the platforms that can expose the control plane of a self-hosted shoot.
func Exposures() platform.Registry[platform.Exposures] {
	return platform.Registry[platform.Exposures]{v1alpha1.PlatformOpenStack: openstackexposure.New(openstackclient.Shared())}
}

// Probes returns the Probe parts of all platforms.
func Probes() platform.Registry[platform.Probe] {
	return platform.Registry[platform.Probe]{
		v1alpha1.PlatformMetal:     metalprobe.New(metalclient.Shared(), inventories.Open),
		v1alpha1.PlatformOpenStack: openstackprobe.New(openstackclient.Shared()),
		v1alpha1.PlatformVSphere:   vsphereprobe.New(vsphereclient.Shared()),
	}
}

// Discoveries returns the Discovery parts of all platforms.
func Discoveries() platform.Registry[platform.Discovery] {
	return platform.Registry[platform.Discovery]{
		v1alpha1.PlatformMetal:     metaldiscovery.New(metalclient.Shared(), inventories.Open),
		v1alpha1.PlatformOpenStack: openstackdiscovery.New(openstackclient.Shared()),
		v1alpha1.PlatformVSphere:   vspherediscovery.New(vsphereclient.Shared()),
	}
}

// DNS returns the DNS services by the types of their DNSRecords. The guard opens the connections to those that a tenant named.
func DNS(guard *transport.Guard) dns.Registry {
	return dns.Registry{
		v1alpha1.DNSTypeDesignate: openstackdns.New(openstackclient.Shared(), guard),
		v1alpha1.DNSTypeRFC2136:   rfc2136.New(guard),
	}
}
