// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package healthcheck tells Gardener about the health of what the extension deploys.
package healthcheck

import (
	"context"
	"slices"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// DefaultSyncPeriod is the time between two checks of an object.
const DefaultSyncPeriod = 30 * time.Second

// DefaultAddOptions are the default AddOptions for AddToManager.
var DefaultAddOptions = AddOptions{SyncPeriod: DefaultSyncPeriod}

// AddOptions are options to apply when adding the health checks to the manager.
type AddOptions struct {
	// Controller are the controller.Options.
	Controller controller.Options
	// SyncPeriod is the time between two checks of an object.
	SyncPeriod time.Duration
	// ExtensionClasses are the configured extension classes for this extension deployment.
	ExtensionClasses []extensionsv1alpha1.ExtensionClass
	// StorageDeployments are the Deployments of storage drivers that a control plane may have.
	StorageDeployments []string
}

// AddToManagerWithOptions adds the health checks to the manager.
func AddToManagerWithOptions(mgr manager.Manager, opts AddOptions) error {
	classes := slices.DeleteFunc(slices.Clone(opts.ExtensionClasses), func(class extensionsv1alpha1.ExtensionClass) bool {
		return class != extensionsv1alpha1.ExtensionClassShoot
	})
	return addControlPlane(mgr, opts, classes)
}

// AddToManager adds the health checks with the default options.
func AddToManager(_ context.Context, mgr manager.Manager) error {
	return AddToManagerWithOptions(mgr, DefaultAddOptions)
}
