// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"

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
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/worker"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/driver"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/network"
)

const (
	defaultConcurrentReconciles = 5
	// defaultConcurrentInfrastructures is higher because a site that hangs lets an Infrastructure wait for minutes, and those of other sites
	// wait behind it.
	defaultConcurrentInfrastructures = 20
	// defaultConcurrentWorkers is higher because a Worker mostly waits for machines, up to 10 minutes, and because gardenlet
	// reconciles 20 shoots at the same time by default.
	defaultConcurrentWorkers = 20
	// defaultConcurrentRecords is higher because a DNSRecord mostly waits for the name servers.
	defaultConcurrentRecords = 20
	// clientQPS and clientBurst limit the requests to the seed. The default of client-go, 5 a second, would let the shoots of a
	// seed wait for each other: a reconciliation writes its state after each object that it makes.
	clientQPS   = 100
	clientBurst = 130

	defaultWebhookPort    = 10250
	defaultWebhookCertDir = "/tmp/webhook-certificates"
)

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
		heartbeat:      &heartbeatcmd.Options{ExtensionName: v1alpha1.ExtensionName, RenewIntervalSeconds: 30, Namespace: namespace},
		switches: extensionscmdcontroller.NewSwitchOptions(
			extensionscmdcontroller.Switch(extensionsinfrastructure.ControllerName, infrastructure.AddToManager),
			extensionscmdcontroller.Switch(extensionscontrolplane.ControllerName, controlplanecontroller.AddToManager),
			extensionscmdcontroller.Switch(extensionsworker.ControllerName, worker.AddToManager),
			extensionscmdcontroller.Switch(extensionsdnsrecord.ControllerName, dnsrecord.AddToManager),
			extensionscmdcontroller.Switch(extensionshealthcheck.ControllerName, healthcheck.AddToManager),
			extensionscmdcontroller.Switch(sitehealth.ControllerName, sitehealth.AddToManager),
			extensionscmdcontroller.Switch(heartbeat.ControllerName, heartbeat.AddToManager),
		),
		reconciler: &extensionscmdcontroller.ReconcilerOptions{},
		dns:        &dnsOptions{},
		sites:      &siteOptions{},
	}
	// No webhook works on objects of shoots, so that nothing is deployed to them.
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

// apply hands the flags and the platforms to the controllers.
func (o *options) apply() {
	o.infrastructure.Completed().Apply(&infrastructure.DefaultAddOptions.Controller)
	infrastructure.DefaultAddOptions.IgnoreOperationAnnotation = o.reconciler.Completed().IgnoreOperationAnnotation
	infrastructure.DefaultAddOptions.ExtensionClasses = o.general.Completed().ExtensionClasses
	infrastructure.DefaultAddOptions.SelfHostedShootCluster = o.general.Completed().SelfHostedShootCluster
	infrastructure.DefaultAddOptions.Platforms = extension.Infrastructures()

	controlPlanes := extension.ControlPlanes()
	o.controlplane.Completed().Apply(&controlplanecontroller.DefaultAddOptions.Controller)
	controlplanecontroller.DefaultAddOptions.IgnoreOperationAnnotation = o.reconciler.Completed().IgnoreOperationAnnotation
	controlplanecontroller.DefaultAddOptions.ExtensionClasses = o.general.Completed().ExtensionClasses
	controlplanecontroller.DefaultAddOptions.Platforms = controlPlanes

	o.worker.Completed().Apply(&worker.DefaultAddOptions.Controller)
	worker.DefaultAddOptions.IgnoreOperationAnnotation = o.reconciler.Completed().IgnoreOperationAnnotation
	worker.DefaultAddOptions.ExtensionClasses = o.general.Completed().ExtensionClasses
	worker.DefaultAddOptions.SelfHostedShootCluster = o.general.Completed().SelfHostedShootCluster
	worker.DefaultAddOptions.Platforms = extension.MachineClasses()
	worker.DefaultAddOptions.Machines = driver.Machines()

	o.dnsrecord.Completed().Apply(&dnsrecord.DefaultAddOptions.Controller)
	dnsrecord.DefaultAddOptions.IgnoreOperationAnnotation = o.reconciler.Completed().IgnoreOperationAnnotation
	dnsrecord.DefaultAddOptions.ExtensionClasses = o.general.Completed().ExtensionClasses
	dnsrecord.DefaultAddOptions.Services = extension.DNS(&o.dns.guard)

	o.healthcheck.Completed().Apply(&healthcheck.DefaultAddOptions.Controller)
	healthcheck.DefaultAddOptions.ExtensionClasses = o.general.Completed().ExtensionClasses
	healthcheck.DefaultAddOptions.StorageDeployments = controlplanecontroller.StorageDeployments(controlPlanes)

	o.sitehealth.Completed().Apply(&sitehealth.DefaultAddOptions.Controller)
	sitehealth.DefaultAddOptions.ExtensionClasses = o.general.Completed().ExtensionClasses
	sitehealth.DefaultAddOptions.SelfHostedShootCluster = o.general.Completed().SelfHostedShootCluster
	sitehealth.DefaultAddOptions.Platforms = extension.Probes()
	sitehealth.DefaultAddOptions.ProbeInterval = o.sites.probeInterval

	o.heartbeat.Completed().Apply(&heartbeat.DefaultAddOptions)
}
