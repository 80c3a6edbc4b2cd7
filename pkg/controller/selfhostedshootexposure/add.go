// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package selfhostedshootexposure reconciles SelfHostedShootExposures of type hybrid: it creates a load balancer on the site of the control
// plane of a self-hosted shoot.
package selfhostedshootexposure

import (
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/selfhostedshootexposure"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// firstBackoff and lastBackoff limit the exponential back-off of failed SelfHostedShootExposures.
	firstBackoff = time.Second
	lastBackoff  = 2 * time.Minute
)

// AddOptions are options to apply when adding the SelfHostedShootExposure controller to the manager.
type AddOptions struct {
	setup.Options

	// Platforms are the platforms that can expose a control plane.
	Platforms platform.Registry[platform.Exposures]
}

// AddToManagerWithOptions adds a controller with the given options to the manager.
func AddToManagerWithOptions(mgr manager.Manager, opts AddOptions) error {
	opts.SetBackoff(firstBackoff, lastBackoff)
	return selfhostedshootexposure.Add(mgr, selfhostedshootexposure.AddArgs{
		Actuator: NewActuator(mgr.GetClient(), mgr.GetAPIReader(),
			mgr.GetEventRecorder(v1alpha1.ExtensionName+"-selfhostedshootexposure"), opts.Platforms),
		ControllerOptions: opts.Controller,
		Predicates:        append(selfhostedshootexposure.DefaultPredicates(opts.IgnoreOperationAnnotation), operation.Asked()),
		Type:              v1alpha1.ProviderType,
		ExtensionClasses:  operation.Classes(opts.ExtensionClasses),
	})
}
