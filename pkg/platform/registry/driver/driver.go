// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package driver names the platforms for the driver of machine-controller-manager.
package driver

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	metal "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machines"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	openstack "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	vsphere "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
)

// Machines returns the Machines parts of all platforms.
func Machines() platform.Registry[platform.Machines] {
	return platform.Registry[platform.Machines]{
		v1alpha1.PlatformMetal:     metal.New(metalclient.Shared(), inventories.Open),
		v1alpha1.PlatformOpenStack: openstack.New(openstackclient.Shared()),
		v1alpha1.PlatformVSphere:   vsphere.New(vsphereclient.Shared()),
	}
}
