// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command hybridctl shows what a shoot of provider-hybrid needs, changes and has at its sites. It changes nothing. As kubectl-hybrid, it is
// a plugin of kubectl.
package main

import (
	"os"

	"k8s.io/apiserver/pkg/server"

	"github.com/gardener/gardener-extension-provider-hybrid/cmd/hybridctl/app"
)

func main() {
	os.Exit(app.Run(server.SetupSignalContext(), os.Args, app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
