// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package hybridctl names the platforms for the plans of hybridctl. For other commands it uses those of package extension.
package hybridctl

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	metalinfrastructure "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	metalmachineclasses "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machineclasses"
	metalrehearsal "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/rehearsal"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	openstackinfrastructure "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	openstackmachineclasses "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	openstackrehearsal "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	vsphereinfrastructure "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/infrastructure"
	vspheremachineclasses "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machineclasses"
	vsphererehearsal "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/rehearsal"
)

// Rehearse returns the parts of all platforms for plans, which record what they would change.
func Rehearse() *rehearsal.Rehearsal {
	var (
		log       = &rehearsal.Log{}
		metal     = metalclient.WrappedSessions(metalrehearsal.Wrap(log))
		openstack = openstackclient.WrappedSessions(openstackrehearsal.Wrap(log))
		vsphere   = vsphereclient.WrappedSessions(vsphererehearsal.Wrap(log), metalrehearsal.Wrap(log))
	)
	return &rehearsal.Rehearsal{
		Log: log,
		Infrastructures: platform.Registry[platform.Infrastructure]{
			v1alpha1.PlatformMetal:     metalinfrastructure.New(metal, inventories.Open),
			v1alpha1.PlatformOpenStack: openstackinfrastructure.New(openstack),
			v1alpha1.PlatformVSphere:   vsphereinfrastructure.New(vsphere),
		},
		MachineClasses: platform.Registry[platform.MachineClasses]{
			v1alpha1.PlatformMetal:     metalmachineclasses.New(metal, inventories.Open),
			v1alpha1.PlatformOpenStack: openstackmachineclasses.New(openstack),
			v1alpha1.PlatformVSphere:   vspheremachineclasses.New(vsphere),
		},
		Close: func() { metal.Close(); openstack.Close(); vsphere.Close() },
	}
}
