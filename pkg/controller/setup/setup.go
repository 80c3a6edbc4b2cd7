// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package setup has what all controllers need to be added to a manager.
package setup

import (
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	predicateutils "github.com/gardener/gardener/pkg/controllerutils/predicate"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
)

// Options are options to apply when adding a controller to the manager.
type Options struct {
	// Controller are the controller.Options.
	Controller controller.Options
	// IgnoreOperationAnnotation specifies whether to ignore the operation annotation or not.
	IgnoreOperationAnnotation bool
	// ExtensionClasses are the configured extension classes for this extension deployment.
	ExtensionClasses []extensionsv1alpha1.ExtensionClass
	// SelfHostedShootCluster indicates whether the extension runs in a self-hosted shoot cluster.
	SelfHostedShootCluster bool
}

// SetBackoff limits the exponential back-off after errors, unless the options have a rate limiter.
func (o *Options) SetBackoff(first, last time.Duration) {
	if o.Controller.RateLimiter == nil {
		o.Controller.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](first, last)
	}
}

// Ours returns predicates that pass the objects of this provider.
func (o Options) Ours() []predicate.Predicate {
	return predicateutils.AddTypeAndClassPredicates(nil, operation.Classes(o.ExtensionClasses), v1alpha1.ProviderType)
}
