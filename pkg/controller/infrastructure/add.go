// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package infrastructure reconciles Infrastructures of type hybrid. It reconciles all sites in parallel, so that a failing site does not
// block the others.
package infrastructure

import (
	"context"

	"github.com/gardener/gardener/extensions/pkg/controller/infrastructure"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// AddOptions are options to apply when adding the infrastructure controller to the manager.
type AddOptions struct {
	setup.Options

	// Platforms are the supported platforms of sites.
	Platforms platform.Registry[platform.Infrastructure]
}

// AddToManagerWithOptions adds a controller with the given options to the manager.
func AddToManagerWithOptions(ctx context.Context, mgr manager.Manager, opts AddOptions) error {
	return infrastructure.Add(mgr, infrastructure.AddArgs{
		Actuator: NewActuator(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(v1alpha1.ExtensionName+"-infrastructure"),
			opts.Platforms),
		ControllerOptions: opts.Controller,
		Predicates:        append(infrastructure.DefaultPredicates(ctx, mgr, opts.IgnoreOperationAnnotation), operation.Asked()),
		Type:              v1alpha1.ProviderType,
		ExtensionClasses:  operation.Classes(opts.ExtensionClasses),
		WatchBuilder:      watch(mgr, opts.SelfHostedShootCluster),
	})
}
