// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	predicateutils "github.com/gardener/gardener/pkg/controllerutils/predicate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
)

// resumeControllerName is the name of the controller that requests the reconciliation of Workers after quarantines.
const resumeControllerName = "worker-after-quarantine"

// resumeTolerance is longer than a reconciliation needs to store its result, plus the precision of times in the API.
const resumeTolerance = 10 * time.Second

// addResumerToManager adds the controller that requests the reconciliation of Workers after quarantines.
func addResumerToManager(mgr manager.Manager, classes []extensionsv1alpha1.ExtensionClass) error {
	return builder.ControllerManagedBy(mgr).
		Named(resumeControllerName).
		For(&extensionsv1alpha1.Infrastructure{}, builder.WithPredicates(
			predicateutils.AddTypeAndClassPredicates([]predicate.Predicate{quarantineEnded()}, classes, v1alpha1.ProviderType)...)).
		Complete(&resumer{client: mgr.GetClient()})
}

// quarantineEnded passes updates that end a quarantine, and all Infrastructures at the start of the controller.
func quarantineEnded() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*extensionsv1alpha1.Infrastructure)
			if !ok {
				return false
			}
			after, ok := e.ObjectNew.(*extensionsv1alpha1.Infrastructure)
			if !ok {
				return false
			}
			now := condition.Quarantines(after.Status.Conditions)
			for site := range condition.Quarantines(before.Status.Conditions) {
				if _, ok := now[site]; !ok {
					return true
				}
			}
			return false
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// resumer requests the reconciliation of a Worker after a quarantine: its zones on the site waited, which does not fail the Worker, so the
// controller does not retry, and gardenlet reconciles only once a day.
type resumer struct {
	client client.Client
}

// Reconcile annotates the Workers in the namespace of an Infrastructure that were not reconciled after the end of its last quarantine. A
// reconciliation that is in progress restarts.
func (r *resumer) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	infra := &extensionsv1alpha1.Infrastructure{}
	if err := r.client.Get(ctx, request.NamespacedName, infra); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	ended := lastEnd(infra.Status.Conditions)
	if ended.IsZero() {
		return reconcile.Result{}, nil
	}
	workers := &extensionsv1alpha1.WorkerList{}
	if err := r.client.List(ctx, workers, client.InNamespace(infra.Namespace)); err != nil {
		return reconcile.Result{}, err
	}
	for i := range workers.Items {
		w := &workers.Items[i]
		if !isBehind(w, ended) {
			continue
		}
		before := w.DeepCopy()
		metav1.SetMetaDataAnnotation(&w.ObjectMeta, v1beta1constants.GardenerOperation, v1beta1constants.GardenerOperationReconcile)
		err := r.client.Patch(ctx, w, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: time.Second}, nil // gardenlet may have requested another operation.
		}
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, err
		}
		logf.FromContext(ctx).Info("Requested the reconciliation of the Worker, as a quarantine has ended", "worker", w.Name)
	}
	return reconcile.Result{}, nil
}

// lastEnd returns when the last quarantine of a site ended, zero if none did.
func lastEnd(conditions []gardencorev1beta1.Condition) time.Time {
	var last time.Time
	for i := range conditions {
		c := &conditions[i]
		if strings.HasPrefix(string(c.Type), v1alpha1.ConditionSiteQuarantinedPrefix) && c.Status == gardencorev1beta1.ConditionFalse &&
			c.LastTransitionTime.After(last) {
			last = c.LastTransitionTime.Time
		}
	}
	return last
}

// isBehind returns whether the Worker must be reconciled because a quarantine ended then. No other operation is overwritten.
func isBehind(w *extensionsv1alpha1.Worker, ended time.Time) bool {
	last := w.Status.LastOperation
	switch {
	case w.DeletionTimestamp != nil, operation.Migrates(w), w.Annotations[v1beta1constants.GardenerOperation] != "", last == nil:
		return false
	default:
		return last.State == gardencorev1beta1.LastOperationStateProcessing || last.LastUpdateTime.Time.Before(ended.Add(resumeTolerance))
	}
}
