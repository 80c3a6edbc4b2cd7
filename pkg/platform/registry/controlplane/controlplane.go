// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package controlplane names the platforms that the ControlPlane controller can use.
package controlplane

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metal "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/controlplane"
	openstack "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/controlplane"
	vsphere "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/controlplane"
)

// New returns the ControlPlane parts of all platforms.
func New() platform.Registry[platform.ControlPlane] {
	return platform.Registry[platform.ControlPlane]{
		v1alpha1.PlatformMetal:     metal.New(),
		v1alpha1.PlatformOpenStack: openstack.New(),
		v1alpha1.PlatformVSphere:   vsphere.New(),
	}
}
