// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires the driver of machine-controller-manager for the machines of all sites.
package app

import (
	"cmp"
	"fmt"

	machineclient "github.com/gardener/machine-controller-manager/pkg/client/clientset/versioned/typed/machine/v1alpha1"
	_ "github.com/gardener/machine-controller-manager/pkg/util/client/metrics/prometheus" // for client metric registration
	mcmapp "github.com/gardener/machine-controller-manager/pkg/util/provider/app"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/app/options"
	_ "github.com/gardener/machine-controller-manager/pkg/util/reflector/prometheus" // for reflector metric registration
	_ "github.com/gardener/machine-controller-manager/pkg/util/workqueue/prometheus" // for workqueue metric registration
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	"k8s.io/klog/v2"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/driver"
)

// inCluster is the value of the control kubeconfig flag that selects the in-cluster config.
const inCluster = "inClusterConfig"

// Run parses the flags and runs the controllers of machine-controller-manager with the driver. It returns on errors only.
func Run() error {
	server := options.NewMCServer()
	server.AddFlags(pflag.CommandLine)
	flag.InitFlags()
	logs.InitLogs()
	defer logs.FlushLogs()
	logf.SetLogger(klog.Background())

	if err := prometheus.Register(platform.RequestDuration); err != nil {
		return fmt.Errorf("could not register metrics: %w", err)
	}
	control, err := controlClient(server)
	if err != nil {
		return fmt.Errorf("could not access the machines: %w", err)
	}
	limited := machine.Limit(machine.NewDriver(driver.Machines(), machine.DefaultTimeouts()), control)
	return mcmapp.Run(server, machine.Guard(limited, control))
}

// controlClient returns a client for the cluster of the Machines, configured like that of machine-controller-manager.
func controlClient(server *options.MCServer) (machineclient.MachinesGetter, error) {
	path := cmp.Or(server.ControlKubeconfig, server.TargetKubeconfig)
	if path == inCluster {
		path = ""
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	return machineclient.NewForConfig(rest.AddUserAgent(config, "machine-guard"))
}
