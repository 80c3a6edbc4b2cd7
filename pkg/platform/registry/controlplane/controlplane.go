// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package controlplane names the platforms that the ControlPlane controller can use.
package controlplane

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// New returns the ControlPlane parts of all platforms.
func New() platform.Registry[platform.ControlPlane] {
	return platform.Registry[platform.ControlPlane]{}
}
