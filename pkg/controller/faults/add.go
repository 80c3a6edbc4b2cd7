// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/controllerutils/mapper"
	predicateutils "github.com/gardener/gardener/pkg/controllerutils/predicate"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// ControllerName is the name of the controller.
const ControllerName = "faults"

// AddOptions are options to apply when adding the controller to the manager.
type AddOptions struct {
	// Controller are the controller.Options.
	Controller controller.Options
	// ExtensionClasses are the classes of the Workers that are watched.
	ExtensionClasses []extensionsv1alpha1.ExtensionClass
	// Platforms are the platforms that tell of faults.
	Platforms platform.Registry[platform.Faults]
}

// AddToManager adds the controller that keeps the watches, and returns them.
func AddToManager(mgr manager.Manager, opts AddOptions) (*Watches, error) {
	recorder, err := newRecorder(mgr)
	if err != nil {
		return nil, err
	}
	watches := newWatches(mgr.GetLogger().WithName(ControllerName), opts.Platforms, &teller{recorder: recorder, reader: mgr.GetClient()}, defaultTiming())
	if err := metrics.Registry.Register(watches); err != nil {
		return nil, err
	}
	if err := mgr.Add(watches); err != nil {
		return nil, err
	}

	ours := predicateutils.AddTypeAndClassPredicates(nil, opts.ExtensionClasses, v1alpha1.ProviderType)
	workers := predicate.And(append(ours, predicate.Or(
		predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, operation.Changed()))...)
	return watches, builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(opts.Controller).
		For(&extensionsv1alpha1.Worker{}, builder.WithPredicates(workers)).
		Watches(&extensionsv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(
			mapper.ClusterToObjectMapper(mgr.GetClient(), func() client.ObjectList { return &extensionsv1alpha1.WorkerList{} }, ours))).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(workersWith(mgr.GetClient(), ours)),
			builder.WithPredicates(predicate.NewPredicateFuncs(mayHaveCredentials))).
		Complete(&reconciler{client: mgr.GetClient(), watches: watches})
}

// mayHaveCredentials keeps the many other Secrets of the seed away.
func mayHaveCredentials(secret client.Object) bool {
	return secret.GetName() == v1beta1constants.SecretNameCloudProvider
}

// workersWith returns the Workers whose credentials are in a Secret.
func workersWith(reader client.Reader, predicates []predicate.Predicate) handler.MapFunc {
	return func(ctx context.Context, secret client.Object) []reconcile.Request {
		list := &extensionsv1alpha1.WorkerList{}
		if err := reader.List(ctx, list, client.InNamespace(secret.GetNamespace())); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			worker := &list.Items[i]
			if worker.Spec.SecretRef.Name == secret.GetName() && predicateutils.EvalGeneric(worker, predicates...) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(worker)})
			}
		}
		return requests
	}
}
