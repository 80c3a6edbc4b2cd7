// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires the controllers and webhooks of provider-hybrid.
package app

import (
	"context"
	"fmt"
	"os"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	"github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/heartbeat"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	gardenerhealthz "github.com/gardener/gardener/pkg/healthz"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupstore"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// NewControllerManagerCommand returns the command that runs the controllers and webhooks until the context is done.
func NewControllerManagerCommand(ctx context.Context) *cobra.Command {
	o := newOptions()
	cmd := &cobra.Command{
		Use:           "gardener-extension-" + v1alpha1.ExtensionName,
		Short:         "Runs the controllers and webhooks of provider-hybrid in a seed",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			if err := o.complete(); err != nil {
				return fmt.Errorf("error completing options: %w", err)
			}
			return run(ctx, o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func run(ctx context.Context, o *options) error {
	managerOptions := o.manager.Completed().Options()
	managerOptions.PprofBindAddress = o.profilesAddress
	klog.SetLogger(managerOptions.Logger) // gives the log lines of platforms and Kubernetes libraries the same format
	mgr, err := manager.New(o.rest.Completed().Config, managerOptions)
	if err != nil {
		return fmt.Errorf("could not instantiate manager: %w", err)
	}
	if err := addToScheme(mgr.GetScheme()); err != nil {
		return fmt.Errorf("could not update manager scheme: %w", err)
	}
	collectors := []prometheus.Collector{platform.RequestDuration, platform.Hosts, platform.FreeHosts}
	for _, collector := range append(collectors, backupstore.Collectors()...) {
		if err := metrics.Registry.Register(collector); err != nil {
			return fmt.Errorf("could not register metrics: %w", err)
		}
	}

	o.heartbeat.Completed().Apply(&heartbeat.DefaultAddOptions)
	if err := addHealthChecks(mgr); err != nil {
		return fmt.Errorf("could not add health checks: %w", err)
	}
	if err := o.switches.Completed().AddToManager(ctx, mgr); err != nil {
		return fmt.Errorf("could not add controllers to manager: %w", err)
	}
	if webhooks := o.webhooks.Completed(); !webhooks.Switch.Disabled {
		if _, err := webhooks.AddToManager(ctx, mgr, nil); err != nil {
			return fmt.Errorf("could not add webhooks to manager: %w", err)
		}
		if err := mgr.AddReadyzCheck("webhook-server", mgr.GetWebhookServer().StartedChecker()); err != nil {
			return fmt.Errorf("could not add ready check of webhook server to manager: %w", err)
		}
	}
	return mgr.Start(ctx)
}

func addToScheme(scheme *runtime.Scheme) error {
	if err := controller.AddToScheme(scheme); err != nil {
		return err
	}
	if err := machinev1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	if err := vpaautoscalingv1.AddToScheme(scheme); err != nil {
		return err
	}
	if err := druidcorev1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	metav1.AddToGroupVersion(scheme, machinev1alpha1.SchemeGroupVersion)
	return nil
}

// addGardenCluster adds the garden cluster whose kubeconfig gardenlet injects. It returns nil if there is none.
func addGardenCluster(mgr manager.Manager) (cluster.Cluster, error) {
	path := os.Getenv("GARDEN_KUBECONFIG")
	if path == "" {
		return nil, nil
	}
	config, err := kubernetes.RESTConfigFromKubeconfigFile(path, kubernetes.AuthTokenFile)
	if err != nil {
		return nil, err
	}
	garden, err := cluster.New(config, func(opts *cluster.Options) {
		opts.Scheme = kubernetes.GardenScheme
		opts.Logger = mgr.GetLogger()
	})
	if err != nil {
		return nil, err
	}
	return garden, mgr.Add(garden)
}

func addHealthChecks(mgr manager.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("informer-sync",
		gardenerhealthz.NewCacheSyncHealthzWithDeadline(mgr.GetLogger(), clock.RealClock{}, mgr.GetCache(),
			gardenerhealthz.DefaultCacheSyncDeadline)); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("informer-sync", gardenerhealthz.NewCacheSyncHealthz(mgr.GetCache()))
}
