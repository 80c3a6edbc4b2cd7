// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/workersites"
)

// reconciler lets the sites of Workers be watched.
type reconciler struct {
	client  client.Client
	watches *Watches
}

// Reconcile begins, updates and ends the watches of a Worker. A Worker has none while it is deleted, moves to another seed or is
// hibernated: then it shall have no machines here.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	worker := &extensionsv1alpha1.Worker{}
	if err := r.client.Get(ctx, request.NamespacedName, worker); err != nil {
		if apierrors.IsNotFound(err) {
			r.watches.remove(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if worker.DeletionTimestamp != nil || operation.Migrates(worker) {
		r.watches.remove(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	cluster, err := extensionscontroller.GetCluster(ctx, r.client, worker.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	if extensionscontroller.IsHibernationEnabled(cluster) {
		r.watches.remove(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	known, err := workersites.Read(ctx, r.client, worker, cluster)
	if err == nil {
		err = known.Unresolved
	}
	r.watches.set(worker, known.Used(worker), err)
	return reconcile.Result{}, err
}
