// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package app adds the cloud controllers of all sites to Kubernetes' cloud-controller-manager.
package app

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	upstream "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli/flag"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // for client metric registration
	_ "k8s.io/component-base/metrics/prometheus/version"  // for version metric registration
	genericcontrollermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/cloudprovider"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/cloudcontrollers"
)

// controllerName is the name of the controllers of all sites in the flag --controllers.
const controllerName = "site-controllers"

// nodeSyncs is the default number of nodes of a site that are initialized concurrently.
const nodeSyncs = 5

// NewCommand returns the command with the flags of a cloud-controller-manager. It runs until ctx is done.
func NewCommand(ctx context.Context) (*cobra.Command, error) {
	if err := legacyregistry.Registerer().Register(platform.RequestDuration); err != nil {
		return nil, err
	}
	defaults, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	defaults.KubeCloudShared.CloudProvider.Name = v1alpha1.ProviderType
	defaults.NodeController.ConcurrentNodeSyncs = nodeSyncs
	defaults.NodeController.ConcurrentNodeStatusUpdates = nodeSyncs

	var (
		flags       flag.NamedFlagSets
		credentials string
	)
	flags.FlagSet("sites").StringVar(&credentials, "credentials-directory", "",
		"The directory with a file <site>.<key> for each entry of the Secret with the credentials of the sites.")
	constructors := map[string]app.ControllerInitFuncConstructor{controllerName: {
		InitContext: app.ControllerInitContext{ClientName: "cloud-controller-manager"},
		Constructor: func(_ app.ControllerInitContext, completed *config.CompletedConfig, _ upstream.Interface) app.InitFunc {
			return func(ctx context.Context, c genericcontrollermanager.ControllerContext) (controller.Interface, bool, error) {
				files := cloudprovider.Files{Config: completed.ComponentConfig.KubeCloudShared.CloudProvider.CloudConfigFile, Credentials: credentials}
				if files.Config == "" || files.Credentials == "" {
					return nil, false, errors.New("--cloud-config and --credentials-directory are required")
				}
				go newManager(files, completed, c).Run(ctx)
				return nil, true, nil
			}
		},
	}}
	cloud := func(*config.CompletedConfig) upstream.Interface { return noCloud{} }
	return app.NewCloudControllerManagerCommand(defaults, cloud, constructors, names.CCMControllerAliases(), flags, ctx.Done()), nil
}

func newManager(files cloudprovider.Files, completed *config.CompletedConfig,
	c genericcontrollermanager.ControllerContext) *cloudprovider.Manager {
	settings := &completed.ComponentConfig
	return cloudprovider.NewManager(cloudprovider.Options{
		Files:                     files,
		Platforms:                 cloudcontrollers.Nodes(),
		NewClient:                 func(site string) (kubernetes.Interface, error) { return completed.ClientBuilder.Client("site-" + site) },
		FeatureGate:               utilfeature.DefaultFeatureGate,
		Metrics:                   c.ControllerManagerMetrics,
		NodeMonitorPeriod:         settings.KubeCloudShared.NodeMonitorPeriod.Duration,
		NodeStatusUpdateFrequency: settings.NodeStatusUpdateFrequency.Duration,
		NodeSyncs:                 settings.NodeController.ConcurrentNodeSyncs,
		NodeStatusUpdates:         settings.NodeController.ConcurrentNodeStatusUpdates,
		ServiceSyncs:              int(settings.ServiceController.ConcurrentServiceSyncs),
		ResyncPeriod:              c.ResyncPeriod(),
	})
}

// noCloud is the cloud provider of the process. It is not used, because each site has its own.
type noCloud struct {
	upstream.Interface
}

// Initialize is a no-op.
func (noCloud) Initialize(upstream.ControllerClientBuilder, <-chan struct{}) {}
