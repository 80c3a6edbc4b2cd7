// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package healthcheck reports the health of what the extension deploys to Gardener.
package healthcheck

import (
	"context"
	"time"

	extensionsconfigv1alpha1 "github.com/gardener/gardener/extensions/pkg/apis/config/v1alpha1"
	"github.com/gardener/gardener/extensions/pkg/controller/controlplane/genericactuator"
	"github.com/gardener/gardener/extensions/pkg/controller/healthcheck"
	"github.com/gardener/gardener/extensions/pkg/controller/healthcheck/general"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
)

// cloudControllerManager is the Deployment that each shoot has.
const cloudControllerManager = "cloud-controller-manager"

// DefaultSyncPeriod is the time between two checks of an object.
const DefaultSyncPeriod = 30 * time.Second

// AddOptions are options to apply when adding the health checks to the manager.
type AddOptions struct {
	setup.Options

	// SyncPeriod is the time between two checks of an object.
	SyncPeriod time.Duration
	// StorageDeployments are the Deployments of storage drivers that a control plane may have.
	StorageDeployments []string
}

// AddToManagerWithOptions adds the health checks of ControlPlanes, for the deployments in the seed and the resources in the shoot.
func AddToManagerWithOptions(mgr manager.Manager, opts AddOptions) error {
	checks := []healthcheck.ConditionTypeToHealthCheck{{
		ConditionType: string(gardencorev1beta1.ShootControlPlaneHealthy),
		HealthCheck:   general.NewSeedDeploymentHealthChecker(cloudControllerManager),
	}}
	for _, name := range opts.StorageDeployments {
		checks = append(checks, healthcheck.ConditionTypeToHealthCheck{
			ConditionType: string(gardencorev1beta1.ShootControlPlaneHealthy),
			PreCheckFunc:  isDeployed(name),
			HealthCheck:   general.NewSeedDeploymentHealthChecker(name),
		})
	}
	for _, check := range []struct {
		conditionType gardencorev1beta1.ConditionType
		resource      string
	}{
		{gardencorev1beta1.ShootControlPlaneHealthy, genericactuator.ControlPlaneSeedConfigurationChartResourceName},
		{gardencorev1beta1.ShootControlPlaneHealthy, genericactuator.ControlPlaneSeedChartResourceName},
		{gardencorev1beta1.ShootSystemComponentsHealthy, genericactuator.ControlPlaneShootChartResourceName},
		{gardencorev1beta1.ShootSystemComponentsHealthy, genericactuator.ControlPlaneShootCRDsChartResourceName},
		{gardencorev1beta1.ShootSystemComponentsHealthy, genericactuator.StorageClassesChartResourceName},
	} {
		checks = append(checks, healthcheck.ConditionTypeToHealthCheck{
			ConditionType: string(check.conditionType),
			HealthCheck:   general.CheckManagedResource(check.resource),
		})
	}
	return healthcheck.DefaultRegistration(
		v1alpha1.ProviderType,
		extensionsv1alpha1.SchemeGroupVersion.WithKind(extensionsv1alpha1.ControlPlaneResource),
		func() client.ObjectList { return &extensionsv1alpha1.ControlPlaneList{} },
		func() extensionsv1alpha1.Object { return &extensionsv1alpha1.ControlPlane{} },
		mgr,
		healthcheck.DefaultAddArgs{
			Controller:        opts.Controller,
			HealthCheckConfig: extensionsconfigv1alpha1.HealthCheckConfig{SyncPeriod: metav1.Duration{Duration: opts.SyncPeriod}},
			ExtensionClasses:  operation.Classes(opts.ExtensionClasses),
		},
		nil,
		checks,
		nil,
	)
}

// isDeployed skips the check of a deployment that does not exist. If it should exist, its ManagedResource is unhealthy.
func isDeployed(name string) healthcheck.PreCheckFunc {
	return func(ctx context.Context, c client.Client, object client.Object, _ any) bool {
		err := c.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: name}, &appsv1.Deployment{})
		return !apierrors.IsNotFound(err)
	}
}
