// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command machine-controller-manager-provider-hybrid runs the machine controller of machine-controller-manager, which creates and
// deletes the machines of all sites.
package main

import (
	"fmt"
	"os"

	"github.com/gardener/gardener-extension-provider-hybrid/cmd/machine-controller-manager-provider-hybrid/app"
)

func main() {
	if err := app.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
