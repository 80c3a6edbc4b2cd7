// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package controlplane reconciles ControlPlanes of type hybrid: it deploys the cloud controllers and the storage drivers of all sites.
package controlplane

import (
	"context"

	"github.com/gardener/gardener/extensions/pkg/controller/controlplane"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// AddOptions are options to apply when adding the controlplane controller to the manager.
type AddOptions struct {
	setup.Options

	// Platforms are the supported platforms.
	Platforms platform.Registry[platform.ControlPlane]
}

// AddToManagerWithOptions adds a controller with the given options to the manager.
func AddToManagerWithOptions(ctx context.Context, mgr manager.Manager, opts AddOptions) error {
	a, err := NewActuator(mgr, opts.Platforms)
	if err != nil {
		return err
	}
	return controlplane.Add(mgr, controlplane.AddArgs{
		Actuator:                  a,
		ControllerOptions:         opts.Controller,
		Predicates:                append(controlplane.DefaultPredicates(ctx, mgr, opts.IgnoreOperationAnnotation), operation.Asked()),
		Type:                      v1alpha1.ProviderType,
		IgnoreOperationAnnotation: opts.IgnoreOperationAnnotation,
		ExtensionClasses:          operation.Classes(opts.ExtensionClasses),
	})
}
