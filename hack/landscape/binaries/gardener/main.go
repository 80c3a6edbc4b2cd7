// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command gardener is gardener-apiserver, gardener-controller-manager, gardener-scheduler or gardenlet, whatever name it is called by.
// They have most of their code in common with each other and with the processes of Kubernetes.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	apiserver "github.com/gardener/gardener/cmd/gardener-apiserver/app"
	controllermanager "github.com/gardener/gardener/cmd/gardener-controller-manager/app"
	scheduler "github.com/gardener/gardener/cmd/gardener-scheduler/app"
	gardenlet "github.com/gardener/gardener/cmd/gardenlet/app"
	"github.com/gardener/gardener/cmd/utils"
	apiserverfeatures "github.com/gardener/gardener/pkg/apiserver/features"
	controllermanagerfeatures "github.com/gardener/gardener/pkg/controllermanager/features"
	gardenletfeatures "github.com/gardener/gardener/pkg/gardenlet/features"
	schedulerfeatures "github.com/gardener/gardener/pkg/scheduler/features"
	"github.com/gardener/gardener/pkg/utils/flow"
	"github.com/spf13/cobra"
	_ "k8s.io/component-base/logs/json/register"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// program is one of the processes. Their feature gates are registered in the process' global registry, so that only those of the
// program that runs may be.
type program struct {
	register func()
	command  func() *cobra.Command
}

func main() {
	programs := map[string]program{
		"gardener-apiserver":          {apiserverfeatures.RegisterFeatureGates, apiserver.NewCommand},
		"gardener-controller-manager": {controllermanagerfeatures.RegisterFeatureGates, controllermanager.NewCommand},
		"gardener-scheduler":          {schedulerfeatures.RegisterFeatureGates, scheduler.NewCommand},
		"gardenlet":                   {registerGardenlet, gardenlet.NewCommand},
	}
	name := filepath.Base(os.Args[0])
	called, ok := programs[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "called as %q, which is none of its names\n", name)
		os.Exit(2)
	}

	utils.DeduplicateWarnings()
	called.register()
	if err := called.command().ExecuteContext(signals.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func registerGardenlet() {
	gardenletfeatures.RegisterFeatureGates()
	flow.RegisterMetrics(metrics.Registry)
}
