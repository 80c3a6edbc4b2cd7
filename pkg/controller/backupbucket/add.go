// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package backupbucket reconciles BackupBuckets of type hybrid: buckets in object stores that may be operated by anyone.
package backupbucket

import (
	"github.com/gardener/gardener/extensions/pkg/controller/backupbucket"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupstore"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
)

// AddToManagerWithOptions adds a controller with the given options to the manager.
func AddToManagerWithOptions(mgr manager.Manager, opts backupstore.AddOptions) error {
	opts.SetBackoff(backupstore.FirstBackoff, backupstore.LastBackoff)
	return backupbucket.Add(mgr, backupbucket.AddArgs{
		Actuator: NewActuator(mgr.GetClient(), opts.Opener(mgr),
			mgr.GetEventRecorder(v1alpha1.ExtensionName+"-backupbucket")),
		ControllerOptions:         opts.Controller,
		Predicates:                append(backupbucket.DefaultPredicates(opts.IgnoreOperationAnnotation), operation.Asked()),
		Type:                      v1alpha1.ProviderType,
		IgnoreOperationAnnotation: opts.IgnoreOperationAnnotation,
		ExtensionClasses:          backupstore.Classes(opts.ExtensionClasses),
	})
}
