// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command landscape runs baremetal-operator's controllers of hosts with played hardware. The operator's own test mode has one
// piece of hardware for all hosts, so that a host that is cleaned and one that is provisioned undo each other's work for ever.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	controllers "github.com/metal3-io/baremetal-operator/internal/controller/metal3.io"
	"github.com/metal3-io/baremetal-operator/pkg/secretutils"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	concurrency = 4
	qps         = 100
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var (
		hardware          = &hardware{}
		namespace, health string
	)
	flag.StringVar(&namespace, "namespace", "", "namespace of the hosts")
	flag.StringVar(&health, "health-addr", "", "host:port of the health checks")
	flag.DurationVar(&hardware.provision, "provision", time.Second, "how long writing an image takes")
	flag.DurationVar(&hardware.deprovision, "deprovision", time.Second, "how long cleaning takes")
	flag.Parse()
	ctrl.SetLogger(zap.New())

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, metal3api.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = qps, 2*qps
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: health,
		Cache: cache.Options{
			ByObject:          secretutils.AddSecretSelector(nil),
			DefaultNamespaces: map[string]cache.Config{namespace: {}},
		},
	})
	if err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := addControllers(manager, hardware); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

// addControllers adds the controllers of hosts and of the objects that it makes for each host.
func addControllers(manager ctrl.Manager, hardware *hardware) error {
	if err := (&controllers.BareMetalHostReconciler{
		Client:             manager.GetClient(),
		Log:                ctrl.Log.WithName("BareMetalHost"),
		ProvisionerFactory: hardware,
		APIReader:          manager.GetAPIReader(),
	}).SetupWithManager(manager, false, concurrency); err != nil {
		return err
	}
	if err := (&controllers.HostFirmwareSettingsReconciler{
		Client:             manager.GetClient(),
		Log:                ctrl.Log.WithName("HostFirmwareSettings"),
		ProvisionerFactory: hardware,
	}).SetupWithManager(manager, concurrency); err != nil {
		return err
	}
	return (&controllers.HostFirmwareComponentsReconciler{
		Client:             manager.GetClient(),
		Log:                ctrl.Log.WithName("HostFirmwareComponents"),
		ProvisionerFactory: hardware,
	}).SetupWithManager(manager, concurrency)
}
