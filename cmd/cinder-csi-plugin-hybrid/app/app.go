// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires the CSI driver for Cinder.
package app

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"
	driver "k8s.io/cloud-provider-openstack/pkg/csi/cinder"
	librarymetrics "k8s.io/cloud-provider-openstack/pkg/metrics"
	"k8s.io/cloud-provider-openstack/pkg/util/metadata"
	"k8s.io/cloud-provider-openstack/pkg/util/mount"
	_ "k8s.io/component-base/metrics/prometheus/version" // for version metric registration

	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/csi/cinder"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// options are the flags, named as in cloud-provider-openstack's driver.
type options struct {
	endpoint             string
	cloudConfigs         []string
	cluster              string
	withTopology         bool
	additionalTopologies map[string]string
	controller           bool
	node                 bool
	nodeAttachLimit      int64
	httpEndpoint         string
	profilesAddress      string
}

// NewCommand returns the command of the driver. It runs until ctx is done.
func NewCommand(ctx context.Context) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:          "cinder-csi-plugin-hybrid",
		Short:        "CSI driver for the volumes of all OpenStack sites of a shoot",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(*cobra.Command, []string) error { return o.run(ctx) },
	}
	flags := command.Flags()
	flags.StringVar(&o.endpoint, "endpoint", "", "CSI endpoint: unix://<path> or tcp://<address>.")
	flags.StringSliceVar(&o.cloudConfigs, "cloud-config", nil,
		"Configuration file with a section [Global \"<site>\"] for each site. Can be repeated, and is reloaded when it changes. "+
			"Optional for the node service.")
	flags.StringVar(&o.cluster, "cluster", "", "Name of the cluster in the metadata of volumes.")
	flags.BoolVar(&o.withTopology, "with-topology", true, "Report the topology of volumes and nodes.")
	flags.StringToStringVar(&o.additionalTopologies, "additional-topology", nil,
		"Additional topology keys of the node, as key=value. Can be repeated.")
	flags.BoolVar(&o.controller, "provide-controller-service", true, "Serve the controller service.")
	flags.BoolVar(&o.node, "provide-node-service", true, "Serve the node service.")
	flags.Int64Var(&o.nodeAttachLimit, "node-volume-attach-limit", 0, "Maximum number of volumes on the node that the node service reports, "+
		"0 for no limit.")
	flags.StringVar(&o.httpEndpoint, "http-endpoint", "", "Address of the metrics endpoint, for example :8080. Disabled if empty.")
	flags.StringVar(&o.profilesAddress, "pprof-bind-address", "",
		"Address of the server for profiles of net/http/pprof, for example 127.0.0.1:6060. Disabled if empty.")
	return command
}

func (o *options) run(ctx context.Context) error {
	if o.controller && len(o.cloudConfigs) == 0 {
		return errors.New("--cloud-config is required for the controller service")
	}
	librarymetrics.RegisterMetrics("cinder-csi")
	if err := errors.Join(drivers.ServeMetrics(ctx, o.httpEndpoint), drivers.ServeProfiles(ctx, o.profilesAddress)); err != nil {
		return err
	}
	d := driver.NewDriver(&driver.DriverOpts{ClusterID: o.cluster, WithTopology: o.withTopology})
	services := drivers.Services{Identity: driver.NewIdentityServer(d)}
	if o.controller {
		services.Controller = cinder.NewController(d, drivers.NewClouds(o.cloudConfigs, client.Shared(), cinder.Connect), o.cluster)
	}
	if o.node {
		config, err := drivers.ReadConfig(o.cloudConfigs)
		if err != nil {
			return err
		}
		config.BlockStorage.NodeVolumeAttachLimit = cmp.Or(o.nodeAttachLimit, config.BlockStorage.NodeVolumeAttachLimit)
		services.Node = driver.NewNodeServer(d, mount.GetMountProvider(), metadata.GetMetadataProvider(config.Metadata.SearchOrder),
			config.BlockStorage, o.additionalTopologies)
	}
	return drivers.Serve(ctx, o.endpoint, services)
}
