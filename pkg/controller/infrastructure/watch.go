// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/controllerutils/mapper"
	predicateutils "github.com/gardener/gardener/pkg/controllerutils/predicate"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
)

const (
	// minRetry and maxRetry limit the time until an Infrastructure with failing sites is reconciled again.
	minRetry = 5 * time.Second
	maxRetry = 30 * time.Minute
)

// watch reconciles an Infrastructure when machines are deleted that block the deletion of their site, and repeatedly while sites fail that
// do not fail the Infrastructure. Gardener would start the next reconciliation only in the next maintenance time window.
func watch(mgr manager.Manager, selfHosted bool) extensionscontroller.WatchBuilder {
	return extensionscontroller.NewWatchBuilder(func(c controller.Controller) error {
		if err := c.Watch(source.Kind(mgr.GetCache(), &extensionsv1alpha1.Infrastructure{}, retries(clock.RealClock{}))); err != nil {
			return err
		}
		if watchable, err := machineapi.IsWatchable(selfHosted, mgr.GetRESTMapper()); err != nil || !watchable {
			return err
		}
		for _, object := range []client.Object{&machinev1alpha1.MachineDeployment{}, &machinev1alpha1.Machine{}} {
			if err := c.Watch(deletedMachines(mgr.GetCache(), mgr.GetClient(), object)); err != nil {
				return err
			}
		}
		return nil
	})
}

func deletedMachines(cache cache.Cache, reader client.Reader, object client.Object) source.Source {
	return source.Kind(cache, object, handler.EnqueueRequestsFromMapFunc(waitingFor(reader)),
		predicateutils.ForEventTypes(predicateutils.Delete))
}

// retries requeues an Infrastructure after a successful reconciliation with failing sites. The delay is the time since they started to
// fail, so that it doubles each time.
func retries(clock clock.PassiveClock) handler.TypedEventHandler[*extensionsv1alpha1.Infrastructure, reconcile.Request] {
	after := func(queue workqueue.TypedRateLimitingInterface[reconcile.Request], infra *extensionsv1alpha1.Infrastructure) {
		since := failingSince(infra)
		last := infra.Status.LastOperation
		if since == nil || infra.Spec.Type != v1alpha1.ProviderType || infra.DeletionTimestamp != nil || operation.Migrates(infra) ||
			last == nil || last.State != gardencorev1beta1.LastOperationStateSucceeded {
			return
		}
		queue.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(infra)},
			min(max(clock.Since(since.Time), minRetry), maxRetry))
	}
	return handler.TypedFuncs[*extensionsv1alpha1.Infrastructure, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*extensionsv1alpha1.Infrastructure],
			queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			after(queue, e.Object)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*extensionsv1alpha1.Infrastructure],
			queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if !equality.Semantic.DeepEqual(e.ObjectOld.Status.LastOperation, e.ObjectNew.Status.LastOperation) {
				after(queue, e.ObjectNew)
			}
		},
	}
}

// failingSince returns when sites of the Infrastructure last started to fail, nil if none does. Sites that wait for machines do not fail.
func failingSince(infra *extensionsv1alpha1.Infrastructure) *metav1.Time {
	var since *metav1.Time
	for i := range infra.Status.Conditions {
		condition := &infra.Status.Conditions[i]
		if condition.Reason != v1alpha1.ReasonDeletionFailed && condition.Reason != v1alpha1.ReasonSitesStay {
			continue
		}
		if since == nil || since.Before(&condition.LastTransitionTime) {
			since = &condition.LastTransitionTime
		}
	}
	return since
}

// waitingFor returns the Infrastructures from which a machine's site was removed.
func waitingFor(reader client.Reader) handler.MapFunc {
	return func(ctx context.Context, machine client.Object) []reconcile.Request {
		name := siteOfMachine(machine)
		if name == "" {
			return nil
		}
		list := &extensionsv1alpha1.InfrastructureList{}
		if err := reader.List(ctx, list, client.InNamespace(machine.GetNamespace())); err != nil {
			return nil
		}
		list.Items = slices.DeleteFunc(list.Items, func(infra extensionsv1alpha1.Infrastructure) bool {
			return infra.DeletionTimestamp != nil || !removes(&infra, name)
		})
		return mapper.ObjectListToRequests(list)
	}
}

func removes(infra *extensionsv1alpha1.Infrastructure, name string) bool {
	if infra.Spec.Type != v1alpha1.ProviderType {
		return false
	}
	state, err := shootsites.DecodeOptional[v1alpha1.InfrastructureState]("status.state", infra.Status.State)
	if err != nil {
		return false
	}
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](infra.Spec.ProviderConfig)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(state.Sites, func(s v1alpha1.SiteState) bool { return s.Name == name }) &&
		!slices.ContainsFunc(config.Sites, func(s v1alpha1.InfrastructureSite) bool { return s.Name == name })
}
