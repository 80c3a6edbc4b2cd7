// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machines_test lets an unmodified Gardener make machines nodes that boot on all platforms: a real extension for operating
// systems renders their user data, gardener-node-init and gardener-node-agent run on them, and their kubelets are real.
package machines_test

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/isolation"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestMain(m *testing.M) {
	os.Exit(isolation.Run(m))
}

func TestMachines(t *testing.T) {
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(time.Second)
	suite.Run(t, "Gardener Machines Suite")
}
