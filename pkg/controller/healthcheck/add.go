// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package healthcheck tells Gardener about the health of shoots that only the sites know, and of what the extension deploys.
package healthcheck

import (
	"context"
	"slices"
	"time"

	extensionsconfigv1alpha1 "github.com/gardener/gardener/extensions/pkg/apis/config/v1alpha1"
	"github.com/gardener/gardener/extensions/pkg/controller/healthcheck"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/faults"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
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
	// Faults are the platforms that tell of faults of machines.
	Faults platform.Registry[platform.Faults]
	// StorageDeployments are the Deployments of storage drivers that a control plane may have.
	StorageDeployments []string
}

// AddToManagerWithOptions adds the health checks, and what they need to know the faults of machines, to the manager.
func AddToManagerWithOptions(mgr manager.Manager, opts AddOptions) error {
	classes := slices.DeleteFunc(slices.Clone(opts.ExtensionClasses), func(class extensionsv1alpha1.ExtensionClass) bool {
		return class != extensionsv1alpha1.ExtensionClassShoot
	})
	watches, err := faults.AddToManager(mgr, faults.AddOptions{Controller: opts.Controller, ExtensionClasses: classes, Platforms: opts.Faults})
	if err != nil {
		return err
	}
	if err := addControlPlane(mgr, opts, classes); err != nil {
		return err
	}
	return healthcheck.DefaultRegistration(
		v1alpha1.ProviderType,
		extensionsv1alpha1.SchemeGroupVersion.WithKind(extensionsv1alpha1.WorkerResource),
		func() client.ObjectList { return &extensionsv1alpha1.WorkerList{} },
		func() extensionsv1alpha1.Object { return &extensionsv1alpha1.Worker{} },
		mgr,
		healthcheck.DefaultAddArgs{
			Controller:        opts.Controller,
			HealthCheckConfig: extensionsconfigv1alpha1.HealthCheckConfig{SyncPeriod: metav1.Duration{Duration: opts.SyncPeriod}},
			ExtensionClasses:  classes,
		},
		nil,
		[]healthcheck.ConditionTypeToHealthCheck{{
			ConditionType: string(gardencorev1beta1.ShootEveryNodeReady),
			HealthCheck:   &machineFaults{client: mgr.GetClient(), overview: watches.Overview},
		}},
		nil,
	)
}

// AddToManager adds the health checks with the default options.
func AddToManager(_ context.Context, mgr manager.Manager) error {
	return AddToManagerWithOptions(mgr, DefaultAddOptions)
}
