// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
)

// watchMachines reconciles an Infrastructure when machines end whose site it could not delete because of them. Gardener would
// start the next reconciliation in the next maintenance time window only.
func watchMachines(mgr manager.Manager, selfHosted bool) extensionscontroller.WatchBuilder {
	return extensionscontroller.NewWatchBuilder(func(c controller.Controller) error {
		if watchable, err := machineapi.IsWatchable(selfHosted, mgr.GetRESTMapper()); err != nil || !watchable {
			return err
		}
		for _, object := range []client.Object{&machinev1alpha1.MachineDeployment{}, &machinev1alpha1.Machine{}} {
			if err := c.Watch(machinesThatEnd(mgr.GetCache(), mgr.GetClient(), object)); err != nil {
				return err
			}
		}
		return nil
	})
}

func machinesThatEnd(cache cache.Cache, reader client.Reader, object client.Object) source.Source {
	return source.Kind(cache, object, handler.EnqueueRequestsFromMapFunc(waitingFor(reader)), predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	})
}

// waitingFor returns the Infrastructures that have a machine's site in their state but not in their configuration.
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
		var requests []reconcile.Request
		for i := range list.Items {
			if infra := &list.Items[i]; infra.DeletionTimestamp == nil && removes(infra, name) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(infra)})
			}
		}
		return requests
	}
}

func removes(infra *extensionsv1alpha1.Infrastructure, name string) bool {
	if infra.Spec.Type != v1alpha1.ProviderType {
		return false
	}
	state, err := readState(infra)
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
