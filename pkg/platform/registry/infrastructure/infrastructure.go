// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package infrastructure names the platforms that the Infrastructure controller can use.
package infrastructure

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	metal "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/infrastructure"
	metalinventories "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	openstack "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	vsphere "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/infrastructure"
)

// New returns the Infrastructure parts of all platforms.
func New() platform.Registry[platform.Infrastructure] {
	return platform.Registry[platform.Infrastructure]{
		v1alpha1.PlatformMetal:     metal.New(metalclient.Shared(), metalinventories.Open),
		v1alpha1.PlatformOpenStack: openstack.New(openstackclient.Shared()),
		v1alpha1.PlatformVSphere:   vsphere.New(vsphereclient.Shared()),
	}
}
