// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires the admission webhooks of provider-hybrid.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	seedmanagementv1alpha1 "github.com/gardener/gardener/pkg/apis/seedmanagement/v1alpha1"
	gardenerhealthz "github.com/gardener/gardener/pkg/healthz"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	kubernetesscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/credentials"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Name is the name of the component.
const Name = "admission-" + v1alpha1.ProviderType

// NewAdmissionCommand returns the command that serves the admission webhooks until the context is done.
func NewAdmissionCommand(ctx context.Context) *cobra.Command {
	o := newOptions()
	cmd := &cobra.Command{
		Use:           "gardener-extension-" + Name,
		Short:         "Serves the admission webhooks of provider-hybrid for a garden",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			verflag.PrintAndExitIfRequested()
			if err := o.complete(); err != nil {
				return fmt.Errorf("error completing options: %w", err)
			}
			return run(ctx, o)
		},
	}
	verflag.AddFlags(cmd.Flags())
	o.addFlags(cmd.Flags())
	return cmd
}

func run(ctx context.Context, o *options) error {
	runtimeCluster, err := runtimeClusterConfig()
	if err != nil {
		return fmt.Errorf("could not get the config of the runtime cluster: %w", err)
	}
	managerOptions := o.manager.Completed().Options()
	managerOptions.PprofBindAddress = o.profilesAddress
	klog.SetLogger(managerOptions.Logger) // gives the log lines of Kubernetes libraries the same format
	managerOptions.LeaderElectionConfig = runtimeCluster
	managerOptions.Cache = cacheOptions(o.webhooks.Completed().Server.Namespace)
	managerOptions.Scheme = runtime.NewScheme()
	if err := addToScheme(managerOptions.Scheme); err != nil {
		return fmt.Errorf("could not update the scheme: %w", err)
	}
	mgr, err := manager.New(o.rest.Completed().Config, managerOptions)
	if err != nil {
		return fmt.Errorf("could not instantiate manager: %w", err)
	}
	if err := fillCache(ctx, mgr); err != nil {
		return fmt.Errorf("could not prepare the cache: %w", err)
	}
	source, err := addSourceCluster(mgr, runtimeCluster, o.webhooks.Completed().Server.Namespace)
	if err != nil {
		return fmt.Errorf("could not add source cluster: %w", err)
	}
	if err := addHealthChecks(mgr); err != nil {
		return fmt.Errorf("could not add health checks: %w", err)
	}
	if webhooks := o.webhooks.Completed(); !webhooks.Switch.Disabled {
		if _, err := webhooks.AddToManager(ctx, mgr, source); err != nil {
			return fmt.Errorf("could not add webhooks to manager: %w", err)
		}
		if err := mgr.AddReadyzCheck("webhook-server", mgr.GetWebhookServer().StartedChecker()); err != nil {
			return fmt.Errorf("could not add ready check of webhook server to manager: %w", err)
		}
	}
	return mgr.Start(ctx)
}

func addToScheme(scheme *runtime.Scheme) error {
	return errors.Join(kubernetesscheme.AddToScheme(scheme), gardencorev1beta1.AddToScheme(scheme), securityv1alpha1.AddToScheme(scheme),
		seedmanagementv1alpha1.AddToScheme(scheme))
}

// runtimeClusterConfig returns the config of the cluster that the process runs in, nil if it does not run in a cluster.
func runtimeClusterConfig() (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, nil
	}
	return config, err
}

// cacheOptions restricts the cache to objects of this provider type, and Secrets to those with the certificates of the webhooks.
func cacheOptions(namespace string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1beta1constants.LabelExtensionProviderTypePrefix +
		v1alpha1.ProviderType: "true"})}
	options := cache.Options{ByObject: map[client.Object]cache.ByObject{
		&gardencorev1beta1.CloudProfile{}:           ours,
		&gardencorev1beta1.NamespacedCloudProfile{}: ours,
		&gardencorev1beta1.Shoot{}:                  ours,
		&gardencorev1beta1.SecretBinding{}:          ours,
		&securityv1alpha1.CredentialsBinding{}:      ours,
	}}
	if namespace != "" {
		options.ByObject[&corev1.Secret{}] = cache.ByObject{Namespaces: map[string]cache.Config{namespace: {}}}
	}
	return options
}

// fillCache starts the informers that the webhooks need, so that no request waits for them.
func fillCache(ctx context.Context, mgr manager.Manager) error {
	for _, object := range []client.Object{&gardencorev1beta1.CloudProfile{}, &gardencorev1beta1.NamespacedCloudProfile{}} {
		if _, err := mgr.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	return credentials.AddIndexes(ctx, mgr.GetFieldIndexer(), validator.Indexes()...)
}

// addSourceCluster adds the cluster with the certificates of the webhooks, if it is not the garden.
func addSourceCluster(mgr manager.Manager, config *rest.Config, namespace string) (cluster.Cluster, error) {
	if config == nil {
		return nil, nil
	}
	source, err := cluster.New(config, func(opts *cluster.Options) {
		opts.Logger = mgr.GetLogger()
		opts.Cache.DefaultNamespaces = map[string]cache.Config{cmp.Or(namespace, v1beta1constants.GardenNamespace): {}}
	})
	if err != nil {
		return nil, err
	}
	if err := mgr.AddHealthzCheck("source-informer-sync",
		gardenerhealthz.NewCacheSyncHealthzWithDeadline(mgr.GetLogger(), clock.RealClock{}, source.GetCache(),
			gardenerhealthz.DefaultCacheSyncDeadline)); err != nil {
		return nil, err
	}
	if err := mgr.AddReadyzCheck("source-informer-sync", gardenerhealthz.NewCacheSyncHealthz(source.GetCache())); err != nil {
		return nil, err
	}
	return source, mgr.Add(source)
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
