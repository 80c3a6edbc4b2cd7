// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package inventories names the inventories that a bare-metal site can have.
package inventories

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/ironcore"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/metal3"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/static"
)

// Open returns the inventory of the kind behind the session. The error's class is ClassConfiguration.
func Open(session *kubernetes.Session, kind v1alpha1.MetalInventory, options inventory.Options) (inventory.Inventory, error) {
	switch kind {
	case v1alpha1.MetalInventoryMetal3:
		return metal3.New(session, options), nil
	case v1alpha1.MetalInventoryIronCore:
		return ironcore.New(session, options), nil
	case v1alpha1.MetalInventoryStatic:
		return static.New(session, options), nil
	default:
		return nil, platform.NewError(platform.ClassConfiguration, "metal.inventory %q is not supported; supported inventories: %q",
			kind, []v1alpha1.MetalInventory{v1alpha1.MetalInventoryIronCore, v1alpha1.MetalInventoryMetal3, v1alpha1.MetalInventoryStatic})
	}
}
