// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package bastion reconciles Bastions of type hybrid: it creates a host on one site of the shoot, through which the nodes of all sites are
// reached by SSH.
package bastion

import (
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/bastion"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/controllerutils"
	predicateutils "github.com/gardener/gardener/pkg/controllerutils/predicate"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// firstBackoff and lastBackoff limit the exponential back-off of failed Bastions.
	firstBackoff = time.Second
	lastBackoff  = 2 * time.Minute
)

// AddOptions are options to apply when adding the Bastion controller to the manager.
type AddOptions struct {
	setup.Options

	// Platforms are the platforms that support bastions.
	Platforms platform.Registry[platform.Bastions]
}

// AddToManagerWithOptions adds a controller with the given options to the manager. Unlike the library's it reconciles again what succeeded
// in part.
func AddToManagerWithOptions(mgr manager.Manager, opts AddOptions) error {
	predicates := predicateutils.AddTypeAndClassPredicates(
		append(bastion.DefaultPredicates(opts.IgnoreOperationAnnotation), operation.Asked()),
		operation.Classes(opts.ExtensionClasses), v1alpha1.ProviderType)

	if opts.Controller.ReconciliationTimeout == 0 {
		opts.Controller.ReconciliationTimeout = controllerutils.DefaultReconciliationTimeout
	}
	opts.SetBackoff(firstBackoff, lastBackoff)
	actuator := NewActuator(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(v1alpha1.ExtensionName+"-bastion"), opts.Platforms)
	return builder.
		ControllerManagedBy(mgr).
		Named(bastion.ControllerName).
		WithOptions(opts.Controller).
		Watches(&extensionsv1alpha1.Bastion{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(predicates...)).
		Complete(repeating{bastion.NewReconciler(mgr, actuator, nil)})
}
