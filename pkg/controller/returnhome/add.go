// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package returnhome moves machines of pools back to preferred sites once these have room again, one at a time. A machine moves in two
// steps: the replicas of the machine deployment at the preferred site are raised by one, and when that machine runs, a machine at the less
// preferred site is named to machine-controller-manager, which drains and deletes it. The state of a move is in annotations of the
// machine deployments.
package returnhome

import (
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

// ControllerName is the name of the controller.
const ControllerName = "returnhome"

// AddToManagerWithOptions adds the controller to the manager.
func AddToManagerWithOptions(mgr manager.Manager, opts setup.Options) error {
	if err := metrics.Registry.Register(returnedMachines); err != nil {
		return err
	}
	watchable, err := machineapi.IsWatchable(opts.SelfHostedShootCluster, mgr.GetRESTMapper())
	if err != nil {
		return err
	}
	ours := opts.Ours()
	b := builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(opts.Controller).
		For(&extensionsv1alpha1.Worker{}, builder.WithPredicates(append(ours, predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, operation.Changed()))...))
	if watchable {
		newList := func() client.ObjectList { return &extensionsv1alpha1.WorkerList{} }
		b = b.Watches(&machinev1alpha1.Machine{}, machineapi.Beside(mgr.GetClient(), newList, ours), builder.WithPredicates(phaseChanged()))
	}
	return b.Complete(&reconciler{
		client: mgr.GetClient(),
		events: eventnote.Writer{EventRecorder: mgr.GetEventRecorder(v1alpha1.ExtensionName + "-" + ControllerName)},
		clock:  clock.RealClock{},
	})
}

// phaseChanged passes updates of machines to another phase, and of failed creations.
func phaseChanged() predicate.Predicate {
	return machineapi.Changed(func(before, after *machinev1alpha1.Machine) bool { return isExhausted(before) != isExhausted(after) })
}
