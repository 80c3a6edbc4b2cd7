// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package faults names the platforms that tell of faults of machines.
package faults

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	metal "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/faults"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
)

// New returns the Faults parts of the platforms that have one.
func New() platform.Registry[platform.Faults] {
	return platform.Registry[platform.Faults]{
		v1alpha1.PlatformMetal: metal.New(metalclient.Shared(), inventories.Open),
	}
}
