// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package backupentry reconciles BackupEntries of type hybrid, which are the backups of one etcd cluster in a bucket, and measures them.
package backupentry

import (
	"context"

	"github.com/gardener/gardener/extensions/pkg/controller/backupentry"
	"github.com/gardener/gardener/extensions/pkg/controller/backupentry/genericactuator"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupstore"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
)

// AddToManagerWithOptions adds a controller with the given options to the manager.
func AddToManagerWithOptions(mgr manager.Manager, opts backupstore.AddOptions) error {
	opts.SetBackoff(backupstore.FirstBackoff, backupstore.LastBackoff)
	delegate := NewDelegate(opts.Opener(mgr),
		mgr.GetEventRecorder(v1alpha1.ExtensionName+"-backupentry"))
	return backupentry.Add(mgr, backupentry.AddArgs{
		Actuator:                  genericactuator.NewActuator(secretManager{mgr}, delegate),
		ControllerOptions:         opts.Controller,
		Predicates:                append(backupentry.DefaultPredicates(opts.IgnoreOperationAnnotation), operation.Asked()),
		Type:                      v1alpha1.ProviderType,
		IgnoreOperationAnnotation: opts.IgnoreOperationAnnotation,
		ExtensionClasses:          backupstore.Classes(opts.ExtensionClasses),
	})
}

// secretManager is a manager whose client reads Secrets from the API server, because rotated credentials do not trigger another
// reconciliation.
type secretManager struct {
	manager.Manager
}

// GetClient returns a client that does not read Secrets from the cache.
func (m secretManager) GetClient() client.Client {
	return secretClient{m.Manager.GetClient(), m.GetAPIReader()}
}

type secretClient struct {
	client.Client

	reader client.Reader
}

// Get reads an object.
func (c secretClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, ok := object.(*corev1.Secret); ok {
		return c.reader.Get(ctx, key, object, options...)
	}
	return c.Client.Get(ctx, key, object, options...)
}
