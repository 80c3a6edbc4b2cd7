// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package returnhome

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/apis/utils/timewindow"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/annotations"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machineutils"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

const (
	// resync is the interval between two reconciliations without a change.
	resync = time.Minute
	// conflictRetry is the time after which a change is retried whose machine deployment was changed by others.
	conflictRetry = time.Second

	reasonReturning = "MachineReturning"
	reasonReturned  = "MachineReturned"
	reasonFailed    = "ReturnHomeFailed"
	action          = "ReturnHome"
)

// returnedMachines is the number of machines that were given back after their replacements at preferred sites were ready.
var returnedMachines = prometheus.NewCounterVec(prometheus.CounterOpts{
	Namespace: "hybrid",
	Name:      "returned_machines_total",
	Help:      "Machines of less preferred sites that were given back after their replacements at preferred sites were ready.",
}, []string{"shoot_namespace", "pool", "from_site", "to_site"})

// reconciler moves machines of Workers.
type reconciler struct {
	client client.Client
	events eventnote.Writer
	clock  clock.Clock
}

// state is what the reconciler knows about a shoot.
type state struct {
	worker      *extensionsv1alpha1.Worker
	cluster     *extensionscontroller.Cluster
	conditions  []gardencorev1beta1.Condition
	deployments []machinev1alpha1.MachineDeployment
}

// Reconcile begins and continues moves of the pools of a Worker.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	worker := &extensionsv1alpha1.Worker{}
	if err := r.client.Get(ctx, request.NamespacedName, worker); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if worker.DeletionTimestamp != nil || operation.Migrates(worker) {
		return reconcile.Result{}, nil
	}
	deployments, machines := &machinev1alpha1.MachineDeploymentList{}, &machinev1alpha1.MachineList{}
	infras := &extensionsv1alpha1.InfrastructureList{}
	for _, list := range []client.ObjectList{deployments, machines, infras} {
		if err := r.client.List(ctx, list, client.InNamespace(worker.Namespace)); err != nil {
			return reconcile.Result{}, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	var pools []*pool
	for i := range worker.Spec.Pools {
		if p := newPool(worker, &worker.Spec.Pools[i], deployments.Items, machines.Items); p.config != nil || p.target() != nil {
			pools = append(pools, p)
		}
	}
	if len(pools) == 0 {
		return reconcile.Result{}, nil
	}

	s := &state{worker: worker, deployments: deployments.Items}
	for i := range infras.Items {
		s.conditions = append(s.conditions, infras.Items[i].Status.Conditions...)
	}
	var err error
	if s.cluster, err = extensionscontroller.GetCluster(ctx, r.client, worker.Namespace); err != nil {
		return reconcile.Result{}, err
	}
	var errs []error
	for _, p := range pools {
		if err := r.step(ctx, s, p); apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: conflictRetry}, nil
		} else if err != nil {
			errs = append(errs, fmt.Errorf("pool %q: %w", p.name, err))
		}
	}
	return reconcile.Result{RequeueAfter: resync}, errors.Join(errs...)
}

// step begins or continues a move of the pool.
func (r *reconciler) step(ctx context.Context, s *state, p *pool) error {
	if to := p.target(); to != nil {
		return r.proceed(ctx, s, p, to)
	}
	now := r.clock.Now()
	window := windowOf(p.config, s.cluster.Shoot)
	if !s.isAtRest(p) || !p.isSettled() || window == nil || !window.Contains(now) || !p.isOnRate(now) {
		return nil
	}
	classes := &machinev1alpha1.MachineClassList{}
	if err := r.client.List(ctx, classes, client.InNamespace(s.worker.Namespace)); err != nil {
		return fmt.Errorf("listing the machine classes: %w", err)
	}
	to, from := p.next(now, func(g *group) bool { return s.hasRoom(g, classes.Items) })
	if to == nil {
		return nil
	}
	next := move{
		Begun: &metav1.Time{Time: now.Truncate(time.Second)}, From: from.deployment.Name, Replicas: to.deployment.Spec.Replicas + 1,
		Failures: to.move.Failures,
	}
	if err := r.patch(ctx, to.deployment, 1, nil, annotationMove, next.value()); err != nil {
		return err
	}
	r.events.Normal(s.worker, reasonReturning, eventnote.OnSite(action, to.site),
		"pool %q: creating a machine at site %q. A machine at site %q is given back when it is ready", p.name, to.site, from.site)
	return nil
}

// proceed continues the move of a machine to a machine deployment.
func (r *reconciler) proceed(ctx context.Context, s *state, p *pool, to *group) error {
	var (
		now     = r.clock.Now()
		begun   = to.move.Begun.Time
		from    = p.named(to.move.From)
		awaited = to.awaited()
	)
	switch {
	case p.config == nil || from == nil || isDormant(s.cluster), slices.ContainsFunc(from.returned, begun.Equal):
		return r.patch(ctx, to.deployment, 0, nil, annotationMove, "")
	case to.deployment.Spec.Replicas < to.move.Replicas:
		return r.takeBack(ctx, s, p, to, nil, "its machine deployment was scaled down meanwhile")
	case awaited != nil && isExhausted(awaited):
		return r.takeBack(ctx, s, p, to, awaited, "it has no room: "+awaited.Status.LastOperation.Description)
	case s.isAtRest(p) && p.isSettled():
		return r.giveBack(ctx, s, p, to, from)
	case now.Sub(begun) >= to.creationTimeout():
		return r.takeBack(ctx, s, p, to, awaited, fmt.Sprintf("the machines of the pool were not all ready within %s", to.creationTimeout()))
	}
	return nil
}

// giveBack gives a machine back whose replacement is ready. If none is left, the cluster-autoscaler has removed it.
func (r *reconciler) giveBack(ctx context.Context, s *state, p *pool, to, from *group) error {
	machine := from.candidate(r.clock.Now())
	if machine == nil {
		return r.patch(ctx, to.deployment, 0, nil, annotationMove, "")
	}
	returned := returnedValue(from.returned, to.move.Begun.Time)
	if err := r.patch(ctx, from.deployment, -1, machine, annotationReturned, returned); err != nil {
		return err
	}
	returnedMachines.WithLabelValues(s.worker.Namespace, p.name, from.site, to.site).Inc()
	r.events.Eventf(s.worker, machine, corev1.EventTypeNormal, reasonReturned, action, // an event for each machine
		"pool %q: giving machine %s at site %q back, because its replacement at site %q is ready", p.name, machine.Name, from.site, to.site)
	return r.patch(ctx, to.deployment, 0, nil, annotationMove, "")
}

// takeBack ends a move whose machine does not become ready. The replicas are lowered unless the cluster-autoscaler was faster. A machine
// that runs meanwhile is left to the cluster-autoscaler.
func (r *reconciler) takeBack(ctx context.Context, s *state, p *pool, to *group, awaited *machinev1alpha1.Machine, why string) error {
	var by int32
	staying := to.staying()
	if awaited != nil {
		staying--
	}
	if replicas := to.deployment.Spec.Replicas; replicas >= to.move.Replicas && replicas > staying && replicas > to.minimum {
		by = -1
	}
	failed := to.move.failed(r.clock.Now())
	if err := r.patch(ctx, to.deployment, by, awaited, annotationMove, failed.value()); err != nil {
		return err
	}
	r.events.Warning(s.worker, reasonFailed, eventnote.OnSite(action, to.site),
		"pool %q: no machine returns to site %q, because %s. The next attempt is not before %s", p.name, to.site, why,
		failed.RetryAfter.UTC().Format(time.RFC3339))
	return nil
}

// patch changes the replicas of a machine deployment and an annotation. If the replicas are lowered, the machine is named to
// machine-controller-manager, as the cluster-autoscaler does. It fails if the machine deployment has changed since it was read.
func (r *reconciler) patch(ctx context.Context, d *machinev1alpha1.MachineDeployment, by int32, machine *machinev1alpha1.Machine,
	annotation, value string) error {
	before := d.DeepCopy()
	d.Spec.Replicas += by
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, annotation, value)
	if value == "" {
		delete(d.Annotations, annotation)
	}
	if by < 0 && machine != nil {
		now := r.clock.Now().UTC().Format(time.RFC3339)
		d.Annotations[machineutils.TriggerDeletionByMCM] = annotations.CreateMachinesTriggeredForDeletionAnnotValue(
			append(annotations.GetMachineNamesWithDeletionTimesTriggeredForDeletion(d), machine.Name+"~"+now))
		d.Annotations[machineutils.LastDeploymentReplicaChangeByScalerTime] = now
	}
	return r.client.Patch(ctx, d, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// isAtRest returns whether nothing else changes the shoot, and no site of the pool is in quarantine.
func (s *state) isAtRest(p *pool) bool {
	last := s.worker.Status.LastOperation
	if isDormant(s.cluster) || last == nil || last.State != gardencorev1beta1.LastOperationStateSucceeded ||
		s.worker.Status.ObservedGeneration != s.worker.Generation {
		return false
	}
	quarantines := condition.Quarantines(s.conditions)
	return !slices.ContainsFunc(p.groups, func(g *group) bool { return !quarantines[g.site].IsZero() })
}

// hasRoom returns whether the site of the machine deployment may have another machine of the shoot, as far as that is known before its
// creation.
func (s *state) hasRoom(g *group, classes []machinev1alpha1.MachineClass) bool {
	for _, prefix := range []string{sitehealth.ConditionPrefix, sitehealth.RoomConditionPrefix} {
		c := v1beta1helper.GetCondition(s.conditions, gardencorev1beta1.ConditionType(prefix+g.site))
		if c != nil && c.Status == gardencorev1beta1.ConditionFalse && c.Reason != sitehealth.ReasonExhausted {
			return false // That machines of another pool wait for hosts says nothing about those of this one.
		}
	}
	i := slices.IndexFunc(classes, func(c machinev1alpha1.MachineClass) bool {
		return c.Name == g.deployment.Spec.Template.Spec.Class.Name
	})
	if i < 0 {
		return false
	}
	maximum, err := strconv.ParseInt(classes[i].Annotations[v1alpha1.AnnotationMaximumMachines], 10, 32)
	if err != nil {
		return true // The site has no maximum.
	}
	var onSite int64
	for _, d := range s.deployments {
		if d.Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite] == g.site {
			onSite += int64(d.Spec.Replicas)
		}
	}
	return onSite < maximum
}

// isDormant returns whether the shoot is or becomes hibernated, or is being deleted.
func isDormant(cluster *extensionscontroller.Cluster) bool {
	return cluster.Shoot == nil || cluster.Shoot.DeletionTimestamp != nil || cluster.Shoot.Status.IsHibernated ||
		extensionscontroller.IsHibernationEnabled(cluster)
}

// windowOf returns the time window in which moves begin, nil if it is invalid.
func windowOf(config *v1alpha1.ReturnHome, shoot *gardencorev1beta1.Shoot) *timewindow.MaintenanceTimeWindow {
	switch {
	case config == nil || shoot == nil:
		return nil
	case config.TimeWindow == nil:
		return gardenerutils.EffectiveShootMaintenanceTimeWindow(shoot)
	}
	window, err := timewindow.ParseMaintenanceTimeWindow(config.TimeWindow.Begin, config.TimeWindow.End)
	if err != nil {
		return nil
	}
	return window
}
