// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package dnsrecord reconciles DNSRecords of the types hybrid-designate and hybrid-rfc2136.
package dnsrecord

import (
	"context"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/dnsrecord"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/controllerutils"
	predicateutils "github.com/gardener/gardener/pkg/controllerutils/predicate"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
)

const (
	// firstBackoff and lastBackoff limit the exponential back-off of failed DNSRecords. It protects services that throttle, are down, or lock
	// clients with a wrong key out.
	firstBackoff = time.Second
	lastBackoff  = 5 * time.Minute
)

// AddOptions are options to apply when adding the DNSRecord controller to the manager.
type AddOptions struct {
	setup.Options

	// Services are the supported DNS services.
	Services dns.Registry
}

// AddToManagerWithOptions adds a controller with the given options to the manager. Unlike the library's it serves several types.
func AddToManagerWithOptions(ctx context.Context, mgr manager.Manager, opts AddOptions) error {
	predicates := predicateutils.AddTypeAndClassPredicates(append(dnsrecord.DefaultPredicates(ctx, mgr, opts.IgnoreOperationAnnotation),
		operation.Asked()), opts.ExtensionClasses, v1alpha1.DNSTypeDesignate, v1alpha1.DNSTypeRFC2136)

	if opts.Controller.ReconciliationTimeout == 0 {
		opts.Controller.ReconciliationTimeout = controllerutils.DefaultReconciliationTimeout
	}
	opts.SetBackoff(firstBackoff, lastBackoff)
	actuator := NewActuator(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(v1alpha1.ExtensionName+"-dnsrecord"), opts.Services)
	c, err := builder.
		ControllerManagedBy(mgr).
		Named(dnsrecord.ControllerName).
		WithOptions(opts.Controller).
		Watches(&extensionsv1alpha1.DNSRecord{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(predicates...)).
		Build(newTurns(dnsrecord.NewReconciler(mgr, actuator), opts.Controller.MaxConcurrentReconciles))
	if err != nil || !opts.IgnoreOperationAnnotation {
		return err
	}
	return c.Watch(source.Kind[client.Object](mgr.GetCache(), &extensionsv1alpha1.Cluster{},
		handler.EnqueueRequestsFromMapFunc(dnsrecord.ClusterToDNSRecordMapper(mgr.GetClient(), predicates))))
}
