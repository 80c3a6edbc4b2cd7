// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"time"

	extensionscmdcontroller "github.com/gardener/gardener/extensions/pkg/controller/cmd"
	"github.com/gardener/gardener/extensions/pkg/controller/heartbeat"
	heartbeatcmd "github.com/gardener/gardener/extensions/pkg/controller/heartbeat/cmd"
	webhookcmd "github.com/gardener/gardener/extensions/pkg/webhook/cmd"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/network"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/seedprovider"
)

const (
	// clientQPS and clientBurst limit the requests to the seed. Shoots would block each other with client-go's default of 5 per second,
	// because reconciliations write their state after each object that they create.
	clientQPS   = 100
	clientBurst = 130

	defaultWebhookPort    = 10250
	defaultWebhookCertDir = "/tmp/webhook-certificates"
)

// dnsOptions restrict the hosts in Secrets of DNS services.
type dnsOptions struct {
	allowed, refused []string
	guard            transport.Guard
}

// AddFlags implements Flagger.
func (o *dnsOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.allowed, "allowed-networks", nil,
		"Non-public networks that may contain hosts in Secrets of DNS services.")
	flags.StringSliceVar(&o.refused, "refused-networks", nil, "Additional networks that must not contain hosts in Secrets of DNS services.")
	flags.BoolVar(&o.guard.PlainHTTP, "allow-http", false, "Allow hosts in the allowed networks without TLS.")
}

// Complete implements Completer.
func (o *dnsOptions) Complete() (err error) {
	if o.guard.Allowed, err = parseNetworks("dns-allowed-networks", o.allowed); err == nil {
		o.guard.Refused, err = parseNetworks("dns-refused-networks", o.refused)
	}
	return err
}

func parseNetworks(flag string, texts []string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil || network != network.Masked() || network.Addr().Is4In6() {
			return nil, fmt.Errorf("--%s: %q is not a network", flag, text)
		}
		networks = append(networks, network)
	}
	return networks, nil
}

const (
	// minProbeInterval is the minimum of --site-probe-interval.
	minProbeInterval = time.Second
	// minDiscoveryInterval is the minimum of --site-discovery-interval besides zero.
	minDiscoveryInterval = time.Minute
)

// siteOptions configure how often sites are asked.
type siteOptions struct {
	probeInterval, discoveryInterval time.Duration
}

// AddFlags implements Flagger.
func (o *siteOptions) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.probeInterval, "probe-interval", sitehealth.DefaultProbeInterval,
		"Interval between two probes of a site. After five thirds of it refused credentials are retried.")
	flags.DurationVar(&o.discoveryInterval, "discovery-interval", sitehealth.DefaultDiscoveryInterval,
		"Interval between two comparisons of a site with the CloudProfile; 0 compares none. Up to a fifth is added at random.")
}

// Complete implements Completer.
func (o *siteOptions) Complete() error {
	if o.probeInterval < minProbeInterval {
		return fmt.Errorf("--site-probe-interval is %s, must be at least %s", o.probeInterval, minProbeInterval)
	}
	if o.discoveryInterval != 0 && o.discoveryInterval < minDiscoveryInterval {
		return fmt.Errorf("--site-discovery-interval is %s, must be 0 or at least %s", o.discoveryInterval, minDiscoveryInterval)
	}
	return nil
}

// options are the flags of the command.
type options struct {
	rest      *extensionscmdcontroller.RESTOptions
	manager   *extensionscmdcontroller.ManagerOptions
	general   *extensionscmdcontroller.GeneralOptions
	heartbeat *heartbeatcmd.Options
	dns       *dnsOptions
	sites     *siteOptions
	// profilesAddress is where profiles are served, empty for nowhere.
	profilesAddress string
	switches        *extensionscmdcontroller.SwitchOptions
	reconciler      *extensionscmdcontroller.ReconcilerOptions
	webhooks        *webhookcmd.AddToManagerOptions

	all extensionscmdcontroller.OptionAggregator
}

func newOptions() *options {
	namespace := os.Getenv("LEADER_ELECTION_NAMESPACE")
	o := &options{
		rest: &extensionscmdcontroller.RESTOptions{},
		manager: &extensionscmdcontroller.ManagerOptions{
			LeaderElection:          true,
			LeaderElectionID:        extensionscmdcontroller.LeaderElectionNameID(v1alpha1.ExtensionName),
			LeaderElectionNamespace: namespace,
			MetricsBindAddress:      ":8080",
			HealthBindAddress:       ":8081",
			WebhookServerPort:       defaultWebhookPort,
			WebhookCertDir:          defaultWebhookCertDir,
		},
		general:   &extensionscmdcontroller.GeneralOptions{},
		heartbeat: &heartbeatcmd.Options{ExtensionName: v1alpha1.ExtensionName, RenewIntervalSeconds: 30, Namespace: namespace},
		switches: extensionscmdcontroller.NewSwitchOptions(
			extensionscmdcontroller.Switch(heartbeat.ControllerName, heartbeat.AddToManager),
		),
		reconciler: &extensionscmdcontroller.ReconcilerOptions{},
		dns:        &dnsOptions{},
		sites:      &siteOptions{},
	}
	// No webhook targets shoots.
	o.webhooks = webhookcmd.NewAddToManagerOptions(v1alpha1.ExtensionName, "", nil, o.general,
		&webhookcmd.ServerOptions{Namespace: os.Getenv("WEBHOOK_CONFIG_NAMESPACE")},
		webhookcmd.NewSwitchOptions(
			webhookcmd.Switch(backup.WebhookName, backup.New),
			webhookcmd.Switch(backup.CopyWebhookName, backup.NewForCopies),
			webhookcmd.Switch(backup.GardenWebhookName, backup.NewForGardens),
			webhookcmd.Switch(controlplane.WebhookName, controlplane.New),
			webhookcmd.Switch(network.WebhookName, network.New),
			webhookcmd.Switch(seedprovider.WebhookName, seedprovider.New),
		))
	o.all = extensionscmdcontroller.NewOptionAggregator(
		o.rest,
		o.manager,
		extensionscmdcontroller.PrefixOption("heartbeat-", o.heartbeat),
		extensionscmdcontroller.PrefixOption("dns-", o.dns),
		extensionscmdcontroller.PrefixOption("site-", o.sites),
		o.switches,
		o.reconciler,
		o.webhooks,
	)
	for _, c := range controllers {
		flags := &extensionscmdcontroller.ControllerOptions{MaxConcurrentReconciles: c.concurrentReconciles}
		o.all.Register(extensionscmdcontroller.PrefixOption(c.name+"-", flags))
		o.switches.Register(extensionscmdcontroller.Switch(c.name, func(ctx context.Context, mgr manager.Manager) error {
			return c.addToManager(ctx, mgr, o, o.setup(flags))
		}))
	}
	return o
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	o.all.AddFlags(flags)
	flags.StringVar(&o.profilesAddress, "pprof-bind-address", "",
		"The address of the server for profiles of net/http/pprof, for example 127.0.0.1:6060. Disabled if empty.")
}

func (o *options) complete() error {
	if err := o.all.Complete(); err != nil {
		return err
	}
	config := o.rest.Completed().Config
	config.QPS, config.Burst = clientQPS, clientBurst
	return o.heartbeat.Validate()
}

// setup returns the options of a controller with the flags.
func (o *options) setup(flags *extensionscmdcontroller.ControllerOptions) setup.Options {
	general := o.general.Completed()
	common := setup.Options{
		IgnoreOperationAnnotation: o.reconciler.Completed().IgnoreOperationAnnotation,
		ExtensionClasses:          general.ExtensionClasses,
		SelfHostedShootCluster:    general.SelfHostedShootCluster,
	}
	flags.Completed().Apply(&common.Controller)
	return common
}
