// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
)

// Opener returns the inventory of the kind behind the session. The error's class is platform.ClassConfiguration.
type Opener func(session *client.Session, kind v1alpha1.MetalInventory, options Options) (Inventory, error)
