// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package statichosts_test shows own hosts: our driver claims and releases hosts that run Debian with systemd, containerd and an SSH
// server, and static-host-operator makes them machines, and hosts again.
package statichosts_test

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestStaticHosts(t *testing.T) {
	suite.Run(t, "Static Hosts Suite")
}
