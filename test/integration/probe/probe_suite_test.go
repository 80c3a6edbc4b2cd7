// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package probe_test runs the script of probes with two shells, in network namespaces with a router between two sites.
package probe_test

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestProbe(t *testing.T) {
	suite.Run(t, "Probe Suite")
}
