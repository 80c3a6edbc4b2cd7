// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	extensionsbackupbucket "github.com/gardener/gardener/extensions/pkg/controller/backupbucket"
	extensionsbackupentry "github.com/gardener/gardener/extensions/pkg/controller/backupentry"
	extensionsbastion "github.com/gardener/gardener/extensions/pkg/controller/bastion"
	extensionscontrolplane "github.com/gardener/gardener/extensions/pkg/controller/controlplane"
	extensionsdnsrecord "github.com/gardener/gardener/extensions/pkg/controller/dnsrecord"
	extensionshealthcheck "github.com/gardener/gardener/extensions/pkg/controller/healthcheck"
	extensionsinfrastructure "github.com/gardener/gardener/extensions/pkg/controller/infrastructure"
	extensionsexposure "github.com/gardener/gardener/extensions/pkg/controller/selfhostedshootexposure"
	extensionsworker "github.com/gardener/gardener/extensions/pkg/controller/worker"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup/s3"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup/swift"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupbucket"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupentry"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupstore"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/bastion"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/dnsrecord"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/healthcheck"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/quarantine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/returnhome"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/selfhostedshootexposure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/worker"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/driver"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
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
	// defaultConcurrentBackups is higher because a BackupEntry that is deleted waits for the store, and each shoot needs its own.
	defaultConcurrentBackups = 20
	// defaultConcurrentBastions is higher because a Bastion may wait minutes for a hanging site.
	defaultConcurrentBastions = 20
	// defaultConcurrentExposures is higher because a SelfHostedShootExposure waits for its load balancer.
	defaultConcurrentExposures = 20
)

// stores are the supported kinds of stores of backups.
var stores = backup.Stores{v1alpha1.BackupStoreS3: s3.New(), v1alpha1.BackupStoreSwift: swift.New()}

// controllers are the controllers. The names of their flags begin with their own.
var controllers = []struct {
	name string
	// concurrentReconciles is the default of the flag.
	concurrentReconciles int
	addToManager         func(context.Context, manager.Manager, *options, setup.Options) error
}{
	{extensionsinfrastructure.ControllerName, defaultConcurrentInfrastructures,
		func(ctx context.Context, mgr manager.Manager, _ *options, common setup.Options) error {
			return infrastructure.AddToManagerWithOptions(ctx, mgr, infrastructure.AddOptions{
				Options: common, Platforms: extension.Infrastructures(),
			})
		}},
	{extensionscontrolplane.ControllerName, defaultConcurrentReconciles,
		func(ctx context.Context, mgr manager.Manager, _ *options, common setup.Options) error {
			return controlplane.AddToManagerWithOptions(ctx, mgr, controlplane.AddOptions{Options: common, Platforms: extension.ControlPlanes()})
		}},
	{extensionsworker.ControllerName, defaultConcurrentWorkers,
		func(ctx context.Context, mgr manager.Manager, _ *options, common setup.Options) error {
			garden, err := addGardenCluster(mgr)
			if err != nil {
				return fmt.Errorf("could not add garden cluster: %w", err)
			}
			return worker.AddToManagerWithOptions(ctx, mgr, worker.AddOptions{Options: common, Platforms: extension.MachineClasses(),
				Machines: driver.Machines(), GardenCluster: garden})
		}},
	{extensionsbackupbucket.ControllerName, defaultConcurrentReconciles,
		func(_ context.Context, mgr manager.Manager, _ *options, common setup.Options) error {
			return backupbucket.AddToManagerWithOptions(mgr, backupstore.AddOptions{Options: common, Stores: stores})
		}},
	{extensionsbackupentry.ControllerName, defaultConcurrentBackups,
		func(_ context.Context, mgr manager.Manager, _ *options, common setup.Options) error {
			return backupentry.AddToManagerWithOptions(mgr, backupstore.AddOptions{Options: common, Stores: stores})
		}},
	{backupentry.UsageControllerName, defaultConcurrentReconciles,
		func(_ context.Context, mgr manager.Manager, _ *options, common setup.Options) error {
			return backupentry.AddUsageToManagerWithOptions(mgr, backupstore.AddOptions{Options: common, Stores: stores})
		}},
	{extensionsdnsrecord.ControllerName, defaultConcurrentRecords,
		func(ctx context.Context, mgr manager.Manager, o *options, common setup.Options) error {
			return dnsrecord.AddToManagerWithOptions(ctx, mgr, dnsrecord.AddOptions{Options: common, Services: extension.DNS(&o.dns.guard)})
		}},
	{extensionsbastion.ControllerName, defaultConcurrentBastions,
		func(_ context.Context, mgr manager.Manager, _ *options, common setup.Options) error {
			return bastion.AddToManagerWithOptions(mgr, bastion.AddOptions{Options: common, Platforms: extension.Bastions()})
		}},
	{extensionsexposure.ControllerName, defaultConcurrentExposures,
		func(_ context.Context, mgr manager.Manager, _ *options, common setup.Options) error {
			return selfhostedshootexposure.AddToManagerWithOptions(mgr, selfhostedshootexposure.AddOptions{Options: common,
				Platforms: extension.Exposures()})
		}},
	{extensionshealthcheck.ControllerName, defaultConcurrentReconciles,
		func(_ context.Context, mgr manager.Manager, _ *options, common setup.Options) error {
			return healthcheck.AddToManagerWithOptions(mgr, healthcheck.AddOptions{Options: common, SyncPeriod: healthcheck.DefaultSyncPeriod,
				StorageDeployments: controlplane.StorageDeployments(extension.ControlPlanes())})
		}},
	{sitehealth.ControllerName, defaultConcurrentReconciles,
		func(_ context.Context, mgr manager.Manager, o *options, common setup.Options) error {
			return sitehealth.AddToManagerWithOptions(mgr, sitehealth.AddOptions{Options: common, Platforms: extension.Probes(),
				ProbeInterval: o.sites.probeInterval, Discoveries: extension.Discoveries(), DiscoveryInterval: o.sites.discoveryInterval})
		}},
	{quarantine.ControllerName, defaultConcurrentReconciles,
		func(_ context.Context, mgr manager.Manager, _ *options, common setup.Options) error {
			return quarantine.AddToManagerWithOptions(mgr, common)
		}},
	{returnhome.ControllerName, defaultConcurrentReconciles,
		func(_ context.Context, mgr manager.Manager, _ *options, common setup.Options) error {
			return returnhome.AddToManagerWithOptions(mgr, common)
		}},
}
