// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package sitehealth reports the health of the sites of shoots: in one condition per site of the Infrastructure, and in the conditions of
// the Infrastructure and the Worker that Gardener's care controller copies to the Shoot.
package sitehealth

import (
	"cmp"
	"errors"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/controllerutils/mapper"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// ControllerName is the name of the controller.
const ControllerName = "sitehealth"

// changesBuffer is the number of changed Infrastructures that may wait for the controller before probers block.
const changesBuffer = 1000

// AddOptions are options to apply when adding the controller to the manager.
type AddOptions struct {
	setup.Options

	// Platforms are the supported platforms.
	Platforms platform.Registry[platform.Probe]
	// Discoveries are the platforms whose sites are compared with CloudProfiles. Default: none.
	Discoveries platform.Registry[platform.Discovery]
	// DiscoveryInterval is the interval between two comparisons of a site, zero for none.
	DiscoveryInterval time.Duration
	// ProbeInterval is the interval between two probes of a site. Default: DefaultProbeInterval.
	ProbeInterval time.Duration
}

// AddToManagerWithOptions adds the controller and the probers of sites to the manager.
func AddToManagerWithOptions(mgr manager.Manager, opts AddOptions) error {
	changes := make(chan event.GenericEvent, changesBuffer)
	probers := newProbers(mgr.GetLogger().WithName(ControllerName), opts.Platforms,
		timingOf(cmp.Or(opts.ProbeInterval, DefaultProbeInterval)), nil)
	inspectors := newInspectors(mgr.GetLogger().WithName(ControllerName), opts.Discoveries, opts.DiscoveryInterval, nil)
	probers.changed = func(infra types.NamespacedName) {
		change := event.GenericEvent{Object: &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: infra.Namespace,
			Name: infra.Name}}}
		select {
		case changes <- change:
		case <-probers.ctx.Done():
		}
	}
	inspectors.changed = probers.changed
	machines := &machines{log: mgr.GetLogger().WithName(ControllerName), reader: mgr.GetClient(), clock: clock.RealClock{}}
	if err := errors.Join(metrics.Registry.Register(probers), metrics.Registry.Register(inspectors), metrics.Registry.Register(machines),
		mgr.Add(probers), mgr.Add(inspectors), mgr.Add(machines)); err != nil {
		return err
	}

	watchable, err := machineapi.IsWatchable(opts.SelfHostedShootCluster, mgr.GetRESTMapper())
	if err != nil {
		return err
	}
	faultEvents, err := newFaultRecorder(mgr)
	if err != nil {
		return err
	}
	ours := opts.Ours()
	changed := predicate.And(append(ours, predicate.Or(
		predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, operation.Changed()))...)
	newList := func() client.ObjectList { return &extensionsv1alpha1.InfrastructureList{} }
	beside := machineapi.Beside(mgr.GetClient(), newList, ours)
	b := builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(opts.Controller).
		For(&extensionsv1alpha1.Infrastructure{}, builder.WithPredicates(changed)).
		Watches(&extensionsv1alpha1.Worker{}, beside, builder.WithPredicates(changed)).
		Watches(&extensionsv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(
			mapper.ClusterToObjectMapper(mgr.GetClient(), newList, ours))).
		Watches(&corev1.Secret{}, beside, builder.WithPredicates(predicate.NewPredicateFuncs(mayHaveCredentials))).
		WatchesRawSource(source.Channel(changes, &handler.EnqueueRequestForObject{}))
	if watchable {
		b = b.Watches(&machinev1alpha1.Machine{}, beside, builder.WithPredicates(statusChanged()))
	}
	return b.Complete(&reconciler{
		client:      mgr.GetClient(),
		events:      eventnote.Writer{EventRecorder: mgr.GetEventRecorder(v1alpha1.ExtensionName + "-" + ControllerName)},
		faultEvents: faultEvents,
		clock:       clock.RealClock{},
		probers:     probers,
		inspectors:  inspectors,
	})
}

// statusChanged passes updates of machines that may start or stop waiting for quota or capacity.
func statusChanged() predicate.Predicate {
	return machineapi.Changed(func(before, after *machinev1alpha1.Machine) bool {
		return before.Status.LastOperation.Description != after.Status.LastOperation.Description
	})
}

// mayHaveCredentials filters out the many other Secrets of the seed.
func mayHaveCredentials(secret client.Object) bool {
	return secret.GetName() == v1beta1constants.SecretNameCloudProvider
}
