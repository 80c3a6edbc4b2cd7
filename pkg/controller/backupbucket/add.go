// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package backupbucket reconciles BackupBuckets of type hybrid: buckets in object stores that may be operated by anyone.
package backupbucket

import (
	"github.com/gardener/gardener/extensions/pkg/controller/backupbucket"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupstore"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
)

// AddOptions are options to apply when adding the backupbucket controller to the manager.
type AddOptions struct {
	setup.Options

	// Stores are the supported kinds of stores.
	Stores backup.Stores
}

// AddToManagerWithOptions adds a controller with the given options to the manager.
func AddToManagerWithOptions(mgr manager.Manager, opts AddOptions) error {
	if opts.Controller.RateLimiter == nil {
		opts.Controller.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](backupstore.FirstBackoff,
			backupstore.LastBackoff)
	}
	return backupbucket.Add(mgr, backupbucket.AddArgs{
		Actuator: NewActuator(mgr.GetClient(), backupstore.Opener{Reader: mgr.GetAPIReader(), Stores: opts.Stores},
			mgr.GetEventRecorder(v1alpha1.ExtensionName+"-backupbucket")),
		ControllerOptions:         opts.Controller,
		Predicates:                append(backupbucket.DefaultPredicates(opts.IgnoreOperationAnnotation), operation.Asked()),
		Type:                      v1alpha1.ProviderType,
		IgnoreOperationAnnotation: opts.IgnoreOperationAnnotation,
		ExtensionClasses:          backupstore.Classes(opts.ExtensionClasses),
	})
}
