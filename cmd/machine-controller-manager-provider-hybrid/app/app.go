// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires the driver of machine-controller-manager for the machines of all sites.
package app

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gardener/machine-controller-manager/pkg/apis/constants"
	"github.com/gardener/machine-controller-manager/pkg/client/clientset/versioned"
	machineclient "github.com/gardener/machine-controller-manager/pkg/client/clientset/versioned/typed/machine/v1alpha1"
	_ "github.com/gardener/machine-controller-manager/pkg/util/client/metrics/prometheus" // for client metric registration
	mcmapp "github.com/gardener/machine-controller-manager/pkg/util/provider/app"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/app/options"
	_ "github.com/gardener/machine-controller-manager/pkg/util/reflector/prometheus" // for reflector metric registration
	_ "github.com/gardener/machine-controller-manager/pkg/util/workqueue/prometheus" // for workqueue metric registration
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
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

	for _, metric := range []prometheus.Collector{platform.RequestDuration, machine.BirthDuration} {
		if err := prometheus.Register(metric); err != nil {
			return fmt.Errorf("could not register metrics: %w", err)
		}
	}
	config, err := controlConfig(server)
	if err != nil {
		return fmt.Errorf("could not access the machines: %w", err)
	}
	control, err := machineclient.NewForConfig(rest.AddUserAgent(config, "machine-guard"))
	if err != nil {
		return fmt.Errorf("could not access the machines: %w", err)
	}
	limited := machine.Limit(machine.NewDriver(driver.Machines(), machine.DefaultTimeouts()), control)
	if server.TargetKubeconfig != constants.TargetKubeconfigDisabledValue {
		births, err := newBirths(server, config)
		if err != nil {
			return fmt.Errorf("could not access machines and nodes: %w", err)
		}
		limited = births.Observe(limited)
		go births.Run(context.Background(), server.Namespace)
	}
	return mcmapp.Run(server, machine.Guard(limited, control))
}

// controlConfig returns the configuration of machine-controller-manager for the cluster of the Machines.
func controlConfig(server *options.MCServer) (*rest.Config, error) {
	path := cmp.Or(server.ControlKubeconfig, server.TargetKubeconfig)
	if path == inCluster {
		path = ""
	}
	return clientcmd.BuildConfigFromFlags("", path)
}

// newBirths returns births of the Machines in the cluster with the configuration.
func newBirths(server *options.MCServer, control *rest.Config) (*machine.Births, error) {
	const agent = "machine-births"
	machines, err := versioned.NewForConfig(rest.AddUserAgent(rest.CopyConfig(control), agent))
	if err != nil {
		return nil, err
	}
	target, err := clientcmd.BuildConfigFromFlags("", server.TargetKubeconfig)
	if err != nil {
		return nil, err
	}
	nodes, err := corev1client.NewForConfig(rest.AddUserAgent(target, agent))
	if err != nil {
		return nil, err
	}
	return machine.NewBirths(machines, nodes), nil
}
