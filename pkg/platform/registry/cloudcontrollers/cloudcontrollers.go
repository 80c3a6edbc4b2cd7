// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package cloudcontrollers names the platforms for the cloud-controller-manager.
package cloudcontrollers

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	metal "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/nodes"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	openstack "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/nodes"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	vsphere "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/nodes"
)

// Nodes returns the Nodes parts of all platforms.
func Nodes() platform.Registry[platform.Nodes] {
	return platform.Registry[platform.Nodes]{
		v1alpha1.PlatformMetal:     metal.New(metalclient.Shared(), inventories.Open),
		v1alpha1.PlatformOpenStack: openstack.New(openstackclient.Shared()),
		v1alpha1.PlatformVSphere:   vsphere.New(vsphereclient.Shared()),
	}
}
