// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package quarantine detects that a site is cut off from the control plane of a shoot, records that in a condition of the Infrastructure,
// and makes machine-controller-manager and the cluster-autoscaler keep the machines of the site. A healthy machine must not be replaced,
// and a healthy host must not be wiped, only because the network between the site and the seed is interrupted.
package quarantine

import (
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/controllerutils/mapper"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

// ControllerName is the name of the controller.
const ControllerName = "quarantine"

// AddToManagerWithOptions adds the controller to the manager. It does nothing in a cluster without the API of machines.
func AddToManagerWithOptions(mgr manager.Manager, opts setup.Options) error {
	watchable, err := machineapi.IsWatchable(opts.SelfHostedShootCluster, mgr.GetRESTMapper())
	if err != nil || !watchable {
		return err
	}
	ours := opts.Ours()
	newList := func() client.ObjectList { return &extensionsv1alpha1.InfrastructureList{} }
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(opts.Controller).
		For(&extensionsv1alpha1.Infrastructure{}, builder.WithPredicates(ours...)).
		Watches(&extensionsv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(
			mapper.ClusterToObjectMapper(mgr.GetClient(), newList, ours))).
		Watches(&machinev1alpha1.Machine{}, machineapi.Beside(mgr.GetClient(), newList, ours), builder.WithPredicates(contactChanged())).
		Complete(&reconciler{
			client: mgr.GetClient(),
			events: eventnote.Writer{EventRecorder: mgr.GetEventRecorder(v1alpha1.ExtensionName + "-" + ControllerName)},
			clock:  clock.RealClock{},
		})
}

// contactChanged passes updates of machines whose contact with the control plane may have been lost or restored.
func contactChanged() predicate.Predicate {
	return machineapi.Changed(func(before, after *machinev1alpha1.Machine) bool {
		return !equality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions)
	})
}
