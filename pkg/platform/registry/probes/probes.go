// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package probes names the platforms whose sites can be asked how they are.
package probes

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	metal "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/probe"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	openstack "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/probe"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	vsphere "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/probe"
)

// New returns the Probe parts of all platforms.
func New() platform.Registry[platform.Probe] {
	return platform.Registry[platform.Probe]{
		v1alpha1.PlatformMetal:     metal.New(metalclient.Shared(), inventories.Open),
		v1alpha1.PlatformOpenStack: openstack.New(openstackclient.Shared()),
		v1alpha1.PlatformVSphere:   vsphere.New(vsphereclient.Shared()),
	}
}
