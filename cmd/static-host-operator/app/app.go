// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires the controller of static hosts.
package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/gardener/gardener/pkg/logger"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost"
)

// clientQPS and clientBurst limit the requests to the API server. Each look at a host makes a few.
const (
	clientQPS   = 50
	clientBurst = 100
)

// NewCommand returns the command that runs the controller until the context is done.
func NewCommand(ctx context.Context) *cobra.Command {
	o := newOptions()
	cmd := &cobra.Command{
		Use:           statichost.Name,
		Short:         "Makes static hosts machines, and machines static hosts",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			verflag.PrintAndExitIfRequested()
			if err := o.validate(); err != nil {
				return err
			}
			return run(ctx, o)
		},
	}
	verflag.AddFlags(cmd.Flags())
	o.addFlags(cmd.Flags())
	return cmd
}

func run(ctx context.Context, o *options) error {
	log, err := logger.NewZapLogger(o.logLevel, o.logFormat)
	if err != nil {
		return fmt.Errorf("could not make a logger: %w", err)
	}
	logf.SetLogger(log)
	klog.SetLogger(log)
	restConfig, err := config.GetConfigWithContext("")
	if err != nil {
		return fmt.Errorf("could not get the config of the API server: %w", err)
	}
	restConfig.QPS, restConfig.Burst = clientQPS, clientBurst
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), eventsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("could not update the scheme: %w", err)
	}
	namespaces := map[string]cache.Config{}
	for _, namespace := range o.namespaces {
		namespaces[namespace] = cache.Config{}
	}
	mgr, err := manager.New(restConfig, manager.Options{
		Logger:                     log,
		Scheme:                     scheme,
		Cache:                      cache.Options{DefaultNamespaces: namespaces},
		Metrics:                    metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:     o.healthAddress,
		PprofBindAddress:           o.profilesAddress,
		LeaderElection:             o.leaderElection,
		LeaderElectionID:           statichost.Name,
		LeaderElectionNamespace:    o.reconciler.SecretNamespace,
		LeaderElectionResourceLock: "leases",
		// The next leader may begin at once, because the process ends.
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return fmt.Errorf("could not instantiate manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("could not add health checks: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("could not add health checks: %w", err)
	}
	if err := statichost.AddToManager(mgr, o.reconciler); err != nil {
		return fmt.Errorf("could not add the controller to manager: %w", err)
	}
	return mgr.Start(ctx)
}
