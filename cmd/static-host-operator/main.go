// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command static-host-operator makes static hosts machines, and machines static hosts.
package main

import (
	"os"

	"github.com/gardener/gardener/pkg/logger"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/gardener/gardener-extension-provider-hybrid/cmd/static-host-operator/app"
)

func main() {
	log.SetLogger(logger.MustNewZapLogger(logger.InfoLevel, logger.FormatJSON))

	if err := app.NewCommand(signals.SetupSignalHandler()).Execute(); err != nil {
		log.Log.Error(err, "Error executing the main controller command")
		os.Exit(1)
	}
}
