// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package worker contains the controller of Workers, which manages the machine classes and machine deployments of all sites.
package worker

import (
	"context"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	apiextensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// resolveTimeout limits the requests to all sites, which run in parallel, that resolve the machines of a Worker.
const resolveTimeout = time.Minute

// AddOptions are options to apply when adding the worker controller to the manager.
type AddOptions struct {
	setup.Options

	// Platforms are the supported platforms of sites.
	Platforms platform.Registry[platform.MachineClasses]
	// Machines delete the machines of a Worker in a forced deletion.
	Machines platform.Registry[platform.Machines]
	// GardenCluster is the garden cluster object.
	GardenCluster cluster.Cluster
}

// AddToManagerWithOptions adds a controller with the given Options to the given manager.
func AddToManagerWithOptions(ctx context.Context, mgr manager.Manager, opts AddOptions) error {
	scheme := mgr.GetScheme()
	if err := apiextensionsscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := machinev1alpha1.AddToScheme(scheme); err != nil {
		return err
	}

	classes := operation.Classes(opts.ExtensionClasses)
	if err := addResumerToManager(mgr, classes); err != nil {
		return err
	}
	return worker.Add(ctx, mgr, worker.AddArgs{
		Actuator:               NewActuator(mgr, opts.GardenCluster, opts.Platforms, opts.Machines, resolveTimeout),
		ControllerOptions:      opts.Controller,
		Predicates:             append(worker.DefaultPredicates(ctx, mgr, opts.IgnoreOperationAnnotation), operation.Asked()),
		Type:                   v1alpha1.ProviderType,
		ExtensionClasses:       classes,
		SelfHostedShootCluster: opts.SelfHostedShootCluster,
	})
}
