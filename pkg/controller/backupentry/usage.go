// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backupentry

import (
	"context"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	predicateutils "github.com/gardener/gardener/pkg/controllerutils/predicate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupstore"
)

const (
	// UsageControllerName is the name of the controller that measures backups.
	UsageControllerName = "backupusage"

	// usageInterval is the time between two measurements of an entry. Up to a fifth is added at random.
	usageInterval = time.Hour
	usageJitter   = 0.2
	// usageTimeout limits one measurement.
	usageTimeout = time.Minute
)

// AddUsageToManagerWithOptions adds the controller that measures backups to the manager.
func AddUsageToManagerWithOptions(mgr manager.Manager, opts backupstore.AddOptions) error {
	predicates := predicateutils.AddTypeAndClassPredicates([]predicate.Predicate{predicate.GenerationChangedPredicate{}},
		backupstore.Classes(opts.ExtensionClasses), v1alpha1.ProviderType)
	return builder.ControllerManagedBy(mgr).
		Named(UsageControllerName).
		WithOptions(opts.Controller).
		Watches(&extensionsv1alpha1.BackupEntry{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(predicates...)).
		Complete(&usageReconciler{client: mgr.GetClient(), opener: opts.Opener(mgr)})
}

type usageReconciler struct {
	client client.Reader
	opener backupstore.Opener
}

// Reconcile sets the metrics of a BackupEntry, and deletes them when it is gone. Errors only show in the log: the reconciliation of the
// BackupEntry and etcd-backup-restore report a store that does not answer.
func (r *usageReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	entry := &extensionsv1alpha1.BackupEntry{}
	if err := r.client.Get(ctx, request.NamespacedName, entry); err != nil {
		if apierrors.IsNotFound(err) {
			backupstore.ForgetEntry(request.Name)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, err
	}
	if entry.DeletionTimestamp != nil || entry.Spec.BackupBucketProviderStatus == nil {
		return reconcile.Result{}, nil
	}
	if err := r.measure(ctx, entry); err != nil {
		log.FromContext(ctx).Error(err, "Could not measure the backups")
	}
	return reconcile.Result{RequeueAfter: wait.Jitter(usageInterval, usageJitter)}, nil
}

func (r *usageReconciler) measure(ctx context.Context, entry *extensionsv1alpha1.BackupEntry) error {
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	config, err := configOf(entry)
	if err != nil {
		return err
	}
	store, err := r.opener.Open(ctx, config, entry.Spec.SecretRef)
	if err != nil {
		return err
	}
	return backupstore.Observe(ctx, store, entry.Spec.BucketName, entry.Name, prefixOf(entry), backupstore.StateStored)
}
