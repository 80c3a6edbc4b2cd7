// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machineclasses names the platforms that the Worker controller can use.
package machineclasses

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	metalinventories "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	metal "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machineclasses"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	openstack "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	vsphere "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machineclasses"
)

// New returns the MachineClasses parts of all platforms.
func New() platform.Registry[platform.MachineClasses] {
	return platform.Registry[platform.MachineClasses]{
		v1alpha1.PlatformMetal:     metal.New(metalclient.Shared(), metalinventories.Open),
		v1alpha1.PlatformOpenStack: openstack.New(openstackclient.Shared()),
		v1alpha1.PlatformVSphere:   vsphere.New(vsphereclient.Shared()),
	}
}
