// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command manila-csi-plugin-hybrid is the CSI driver for the shares of all OpenStack sites of a shoot.
package main

import (
	"os"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"

	"github.com/gardener/gardener-extension-provider-hybrid/cmd/manila-csi-plugin-hybrid/app"
)

func main() {
	os.Exit(cli.Run(app.NewCommand(server.SetupSignalContext())))
}
