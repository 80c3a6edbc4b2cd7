// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires the CSI driver for Manila.
package app

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	_ "k8s.io/component-base/metrics/prometheus/version" // for version metric registration
	"k8s.io/component-base/version"

	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/csi/manila"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// options are the flags.
type options struct {
	endpoint        string
	cloudConfigs    []string
	cluster         string
	httpEndpoint    string
	profilesAddress string
}

// NewCommand returns the command of the driver. It runs until ctx is done.
func NewCommand(ctx context.Context) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:          "manila-csi-plugin-hybrid",
		Short:        "CSI driver for the shares of all OpenStack sites of a shoot",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(*cobra.Command, []string) error { return o.run(ctx) },
	}
	flags := command.Flags()
	flags.StringVar(&o.endpoint, "endpoint", "", "CSI endpoint: unix://<path> or tcp://<address>.")
	flags.StringSliceVar(&o.cloudConfigs, "cloud-config", nil,
		"Configuration file with a section [Global \"<site>\"] for each site. Can be repeated, and is reloaded when it changes.")
	flags.StringVar(&o.cluster, "cluster", "", "Name of the cluster in the metadata of shares.")
	flags.StringVar(&o.httpEndpoint, "http-endpoint", "", "Address of the metrics endpoint, for example :8080. Disabled if empty.")
	flags.StringVar(&o.profilesAddress, "pprof-bind-address", "",
		"Address of the server for profiles of net/http/pprof, for example 127.0.0.1:6060. Disabled if empty.")
	return command
}

func (o *options) run(ctx context.Context) error {
	if len(o.cloudConfigs) == 0 || o.cluster == "" {
		return errors.New("--cloud-config and --cluster are required")
	}
	if err := errors.Join(drivers.ServeMetrics(ctx, o.httpEndpoint), drivers.ServeProfiles(ctx, o.profilesAddress)); err != nil {
		return err
	}
	return drivers.Serve(ctx, o.endpoint, drivers.Services{
		Identity:   &manila.Identity{Version: version.Get().GitVersion},
		Controller: manila.NewController(drivers.NewClouds(o.cloudConfigs, client.Shared(), manila.Connect), o.cluster),
	})
}
