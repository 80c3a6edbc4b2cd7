// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command cloud-controller-manager-hybrid runs the cloud controllers of a shoot, one set of them for each of its sites.
package main

import (
	"os"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/cmd/cloud-controller-manager-hybrid/app"
)

func main() {
	command, err := app.NewCommand(server.SetupSignalContext())
	if err != nil {
		klog.ErrorS(err, "Command cannot be made")
		os.Exit(1)
	}
	os.Exit(cli.Run(command))
}
