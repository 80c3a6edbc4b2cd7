// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineapi

import (
	"context"

	"github.com/gardener/gardener/pkg/controllerutils/mapper"
	predicateutils "github.com/gardener/gardener/pkg/controllerutils/predicate"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Beside maps an object to the objects of a list in its namespace that the predicates pass.
func Beside(reader client.Reader, newList func() client.ObjectList, predicates []predicate.Predicate) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		list := newList()
		if err := reader.List(ctx, list, client.InNamespace(object.GetNamespace())); err != nil {
			return nil
		}
		return mapper.ObjectListToRequests(list, func(found client.Object) bool { return predicateutils.EvalGeneric(found, predicates...) })
	})
}

// Changed passes updates of machines between which something has changed, also their deletion and phase.
func Changed(changed func(before, after *machinev1alpha1.Machine) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*machinev1alpha1.Machine)
		if !ok {
			return false
		}
		after, ok := e.ObjectNew.(*machinev1alpha1.Machine)
		return ok && (before.Status.CurrentStatus.Phase != after.Status.CurrentStatus.Phase ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() || changed(before, after))
	}}
}
