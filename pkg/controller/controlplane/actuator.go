// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/controlplane"
	"github.com/gardener/gardener/extensions/pkg/controller/controlplane/genericactuator"
	"github.com/gardener/gardener/extensions/pkg/util"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/charts"
	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// actuator plans what is deployed for a shoot before Gardener's generic actuator deploys it, so that nothing changes if there is no plan.
type actuator struct {
	controlplane.Actuator

	client  client.Client
	events  eventnote.Writer
	clock   clock.Clock
	planner *planner
}

// NewActuator returns an actuator for ControlPlanes with sites of the platforms.
func NewActuator(mgr manager.Manager, platforms platform.Registry[platform.ControlPlane]) (controlplane.Actuator, error) {
	generic, err := genericactuator.NewActuator(mgr, v1alpha1.ExtensionName, secretConfigs, accessSecrets(platforms),
		newChart(charts.CloudProviderConfig), controlPlaneChart(platforms), shootChart(platforms), newChart(charts.ShootCRDs),
		newChart(charts.ShootStorageClasses),
		&valuesProvider{reader: mgr.GetAPIReader()}, extensionscontroller.ChartRendererFactoryFunc(util.NewChartRendererForShoot),
		imagevector.ImageVector(), "", nil, "")
	if err != nil {
		return nil, err
	}
	return &actuator{
		Actuator: generic,
		client:   mgr.GetClient(),
		events:   eventnote.Writer{EventRecorder: mgr.GetEventRecorder(v1alpha1.ExtensionName + "-controlplane")},
		planner:  &planner{reader: mgr.GetAPIReader(), platforms: platforms},
	}, nil
}

// Reconcile deploys what the shoot's sites need.
func (a *actuator) Reconcile(ctx context.Context, log logr.Logger, cp *extensionsv1alpha1.ControlPlane,
	cluster *extensionscontroller.Cluster) (bool, error) {
	return a.apply(ctx, log, cp, cluster, a.Actuator.Reconcile)
}

// Restore deploys what the shoot's sites need in the seed that the control plane moved to.
func (a *actuator) Restore(ctx context.Context, log logr.Logger, cp *extensionsv1alpha1.ControlPlane,
	cluster *extensionscontroller.Cluster) (bool, error) {
	return a.apply(ctx, log, cp, cluster, a.Actuator.Restore)
}

// Delete deletes what was deployed.
func (a *actuator) Delete(ctx context.Context, log logr.Logger, cp *extensionsv1alpha1.ControlPlane,
	cluster *extensionscontroller.Cluster) error {
	return a.remove(ctx, log, cp, cluster, a.Actuator.Delete)
}

// ForceDelete deletes what was deployed without waiting for the shoot.
func (a *actuator) ForceDelete(ctx context.Context, log logr.Logger, cp *extensionsv1alpha1.ControlPlane,
	cluster *extensionscontroller.Cluster) error {
	return a.remove(ctx, log, cp, cluster, a.Actuator.ForceDelete)
}

// Migrate deletes what was deployed in the seed, and nothing in the shoot.
func (a *actuator) Migrate(ctx context.Context, log logr.Logger, cp *extensionsv1alpha1.ControlPlane,
	cluster *extensionscontroller.Cluster) error {
	return a.remove(ctx, log, cp, cluster, a.Actuator.Migrate)
}

type applyFunc func(context.Context, logr.Logger, *extensionsv1alpha1.ControlPlane, *extensionscontroller.Cluster) (bool, error)

func (a *actuator) apply(ctx context.Context, log logr.Logger, cp *extensionsv1alpha1.ControlPlane, cluster *extensionscontroller.Cluster,
	apply applyFunc) (bool, error) {
	p, err := a.planner.plan(ctx, cp, cluster)
	if err != nil {
		a.recordFailures(cp, err)
		return false, errorcodes.WithCodes(err)
	}
	if p.mistakes != nil {
		log.Error(p.mistakes, "Keeping what is deployed for invalid sites")
		a.recordFailures(cp, p.mistakes)
	}
	a.recordLeftOut(cp, p)
	if err := errors.Join(a.writeState(ctx, cp, p.state), a.writeCondition(ctx, cp, p.mistakes)); err != nil {
		return false, err
	}
	requeue, err := apply(withPlan(ctx, p), log, cp, cluster)
	return requeue, errorcodes.WithCodes(err)
}

type removeFunc func(context.Context, logr.Logger, *extensionsv1alpha1.ControlPlane, *extensionscontroller.Cluster) error

// remove calls remove without a plan if there cannot be one, because a deletion must not fail for that.
func (a *actuator) remove(ctx context.Context, log logr.Logger, cp *extensionsv1alpha1.ControlPlane, cluster *extensionscontroller.Cluster,
	remove removeFunc) error {
	p, err := a.planner.plan(ctx, cp, cluster)
	if err != nil {
		log.Error(err, "Keeping the deployed configuration until it is removed")
		a.events.Warning(cp, reasonConfigurationStays, actionDelete, "Keeping the deployed configuration until it is removed: %v", err)
	} else {
		ctx = withPlan(ctx, p)
	}
	return errorcodes.WithCodes(remove(ctx, log, cp, cluster))
}
