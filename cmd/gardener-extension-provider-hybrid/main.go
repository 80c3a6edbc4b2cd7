// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command gardener-extension-provider-hybrid runs the controllers of provider-hybrid in a seed.
package main

import (
	"os"

	"github.com/gardener/gardener/pkg/logger"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/gardener/gardener-extension-provider-hybrid/cmd/gardener-extension-provider-hybrid/app"
)

func main() {
	log.SetLogger(logger.MustNewZapLogger(logger.InfoLevel, logger.FormatJSON))

	if err := app.NewControllerManagerCommand(signals.SetupSignalHandler()).Execute(); err != nil {
		log.Log.Error(err, "Error executing the main controller command")
		os.Exit(1)
	}
}
