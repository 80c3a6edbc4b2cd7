// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/netip"
	"os"
	"time"

	extensionscmdcontroller "github.com/gardener/gardener/extensions/pkg/controller/cmd"
	extensionscontrolplane "github.com/gardener/gardener/extensions/pkg/controller/controlplane"
	extensionsdnsrecord "github.com/gardener/gardener/extensions/pkg/controller/dnsrecord"
	extensionshealthcheck "github.com/gardener/gardener/extensions/pkg/controller/healthcheck"
	"github.com/gardener/gardener/extensions/pkg/controller/heartbeat"
	heartbeatcmd "github.com/gardener/gardener/extensions/pkg/controller/heartbeat/cmd"
	extensionsinfrastructure "github.com/gardener/gardener/extensions/pkg/controller/infrastructure"
	extensionsworker "github.com/gardener/gardener/extensions/pkg/controller/worker"
	webhookcmd "github.com/gardener/gardener/extensions/pkg/webhook/cmd"
	"github.com/spf13/pflag"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	controlplanecontroller "github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/dnsrecord"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/healthcheck"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/quarantine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/returnhome"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/worker"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/driver"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/network"
)

const (
	defaultConcurrentReconciles = 5
	// defaultConcurrentInfrastructures is higher because an Infrastructure may wait minutes for a hanging site.
	defaultConcurrentInfrastructures = 20
	// defaultConcurrentWorkers is higher because a Worker waits up to 10 minutes for machines, and gardenlet reconciles 20 shoots concurrently
	// by default.
	defaultConcurrentWorkers = 20
	// defaultConcurrentRecords is higher because a DNSRecord mostly waits for the name servers.
	defaultConcurrentRecords = 20
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

// minProbeInterval is the minimum of --site-probe-interval.
const minProbeInterval = time.Second

// siteOptions configure the probes of sites.
type siteOptions struct {
	probeInterval time.Duration
}

// AddFlags implements Flagger.
func (o *siteOptions) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.probeInterval, "probe-interval", sitehealth.DefaultProbeInterval,
		"Interval between two probes of a site. After five thirds of it refused credentials are retried.")
}

// Complete implements Completer.
func (o *siteOptions) Complete() error {
	if o.probeInterval < minProbeInterval {
		return fmt.Errorf("--site-probe-interval is %s, must be at least %s", o.probeInterval, minProbeInterval)
	}
	return nil
}

// options are the flags of the command.
type options struct {
	rest           *extensionscmdcontroller.RESTOptions
	manager        *extensionscmdcontroller.ManagerOptions
	general        *extensionscmdcontroller.GeneralOptions
	infrastructure *extensionscmdcontroller.ControllerOptions
	controlplane   *extensionscmdcontroller.ControllerOptions
	worker         *extensionscmdcontroller.ControllerOptions
	dnsrecord      *extensionscmdcontroller.ControllerOptions
	healthcheck    *extensionscmdcontroller.ControllerOptions
	sitehealth     *extensionscmdcontroller.ControllerOptions
	quarantine     *extensionscmdcontroller.ControllerOptions
	returnhome     *extensionscmdcontroller.ControllerOptions
	heartbeat      *heartbeatcmd.Options
	dns            *dnsOptions
	sites          *siteOptions
	switches       *extensionscmdcontroller.SwitchOptions
	reconciler     *extensionscmdcontroller.ReconcilerOptions
	webhooks       *webhookcmd.AddToManagerOptions

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
		general:        &extensionscmdcontroller.GeneralOptions{},
		infrastructure: &extensionscmdcontroller.ControllerOptions{MaxConcurrentReconciles: defaultConcurrentInfrastructures},
		controlplane:   &extensionscmdcontroller.ControllerOptions{MaxConcurrentReconciles: defaultConcurrentReconciles},
		worker:         &extensionscmdcontroller.ControllerOptions{MaxConcurrentReconciles: defaultConcurrentWorkers},
		dnsrecord:      &extensionscmdcontroller.ControllerOptions{MaxConcurrentReconciles: defaultConcurrentRecords},
		healthcheck:    &extensionscmdcontroller.ControllerOptions{MaxConcurrentReconciles: defaultConcurrentReconciles},
		sitehealth:     &extensionscmdcontroller.ControllerOptions{MaxConcurrentReconciles: defaultConcurrentReconciles},
		quarantine:     &extensionscmdcontroller.ControllerOptions{MaxConcurrentReconciles: defaultConcurrentReconciles},
		returnhome:     &extensionscmdcontroller.ControllerOptions{MaxConcurrentReconciles: defaultConcurrentReconciles},
		heartbeat:      &heartbeatcmd.Options{ExtensionName: v1alpha1.ExtensionName, RenewIntervalSeconds: 30, Namespace: namespace},
		switches: extensionscmdcontroller.NewSwitchOptions(
			extensionscmdcontroller.Switch(extensionsinfrastructure.ControllerName, infrastructure.AddToManager),
			extensionscmdcontroller.Switch(extensionscontrolplane.ControllerName, controlplanecontroller.AddToManager),
			extensionscmdcontroller.Switch(extensionsworker.ControllerName, worker.AddToManager),
			extensionscmdcontroller.Switch(extensionsdnsrecord.ControllerName, dnsrecord.AddToManager),
			extensionscmdcontroller.Switch(extensionshealthcheck.ControllerName, healthcheck.AddToManager),
			extensionscmdcontroller.Switch(sitehealth.ControllerName, sitehealth.AddToManager),
			extensionscmdcontroller.Switch(quarantine.ControllerName, quarantine.AddToManager),
			extensionscmdcontroller.Switch(returnhome.ControllerName, returnhome.AddToManager),
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
			webhookcmd.Switch(controlplane.WebhookName, controlplane.New),
			webhookcmd.Switch(network.WebhookName, network.New),
		))
	o.all = extensionscmdcontroller.NewOptionAggregator(
		o.rest,
		o.manager,
		extensionscmdcontroller.PrefixOption("infrastructure-", o.infrastructure),
		extensionscmdcontroller.PrefixOption("controlplane-", o.controlplane),
		extensionscmdcontroller.PrefixOption("worker-", o.worker),
		extensionscmdcontroller.PrefixOption("dnsrecord-", o.dnsrecord),
		extensionscmdcontroller.PrefixOption("healthcheck-", o.healthcheck),
		extensionscmdcontroller.PrefixOption("sitehealth-", o.sitehealth),
		extensionscmdcontroller.PrefixOption("quarantine-", o.quarantine),
		extensionscmdcontroller.PrefixOption("returnhome-", o.returnhome),
		extensionscmdcontroller.PrefixOption("heartbeat-", o.heartbeat),
		extensionscmdcontroller.PrefixOption("dns-", o.dns),
		extensionscmdcontroller.PrefixOption("site-", o.sites),
		o.switches,
		o.reconciler,
		o.webhooks,
	)
	return o
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	o.all.AddFlags(flags)
}

func (o *options) complete() error {
	if err := o.all.Complete(); err != nil {
		return err
	}
	config := o.rest.Completed().Config
	config.QPS, config.Burst = clientQPS, clientBurst
	return o.heartbeat.Validate()
}

// apply passes the flags and the platforms to the controllers.
func (o *options) apply() {
	general := o.general.Completed()
	ignoreOperation := o.reconciler.Completed().IgnoreOperationAnnotation

	o.infrastructure.Completed().Apply(&infrastructure.DefaultAddOptions.Controller)
	infrastructure.DefaultAddOptions.IgnoreOperationAnnotation = ignoreOperation
	infrastructure.DefaultAddOptions.ExtensionClasses = general.ExtensionClasses
	infrastructure.DefaultAddOptions.SelfHostedShootCluster = general.SelfHostedShootCluster
	infrastructure.DefaultAddOptions.Platforms = extension.Infrastructures()

	controlPlanes := extension.ControlPlanes()
	o.controlplane.Completed().Apply(&controlplanecontroller.DefaultAddOptions.Controller)
	controlplanecontroller.DefaultAddOptions.IgnoreOperationAnnotation = ignoreOperation
	controlplanecontroller.DefaultAddOptions.ExtensionClasses = general.ExtensionClasses
	controlplanecontroller.DefaultAddOptions.Platforms = controlPlanes

	o.worker.Completed().Apply(&worker.DefaultAddOptions.Controller)
	worker.DefaultAddOptions.IgnoreOperationAnnotation = ignoreOperation
	worker.DefaultAddOptions.ExtensionClasses = general.ExtensionClasses
	worker.DefaultAddOptions.SelfHostedShootCluster = general.SelfHostedShootCluster
	worker.DefaultAddOptions.Platforms = extension.MachineClasses()
	worker.DefaultAddOptions.Machines = driver.Machines()

	o.dnsrecord.Completed().Apply(&dnsrecord.DefaultAddOptions.Controller)
	dnsrecord.DefaultAddOptions.IgnoreOperationAnnotation = ignoreOperation
	dnsrecord.DefaultAddOptions.ExtensionClasses = general.ExtensionClasses
	dnsrecord.DefaultAddOptions.Services = extension.DNS(&o.dns.guard)

	o.healthcheck.Completed().Apply(&healthcheck.DefaultAddOptions.Controller)
	healthcheck.DefaultAddOptions.ExtensionClasses = general.ExtensionClasses
	healthcheck.DefaultAddOptions.StorageDeployments = controlplanecontroller.StorageDeployments(controlPlanes)

	o.sitehealth.Completed().Apply(&sitehealth.DefaultAddOptions.Controller)
	sitehealth.DefaultAddOptions.ExtensionClasses = general.ExtensionClasses
	sitehealth.DefaultAddOptions.SelfHostedShootCluster = general.SelfHostedShootCluster
	sitehealth.DefaultAddOptions.Platforms = extension.Probes()
	sitehealth.DefaultAddOptions.ProbeInterval = o.sites.probeInterval

	o.quarantine.Completed().Apply(&quarantine.DefaultAddOptions.Controller)
	quarantine.DefaultAddOptions.ExtensionClasses = general.ExtensionClasses
	quarantine.DefaultAddOptions.SelfHostedShootCluster = general.SelfHostedShootCluster

	o.returnhome.Completed().Apply(&returnhome.DefaultAddOptions.Controller)
	returnhome.DefaultAddOptions.ExtensionClasses = general.ExtensionClasses
	returnhome.DefaultAddOptions.SelfHostedShootCluster = general.SelfHostedShootCluster

	o.heartbeat.Completed().Apply(&heartbeat.DefaultAddOptions)
}
