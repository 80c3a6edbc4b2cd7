// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package e2e_test lets a real Gardener create, change and delete a shoot with pools on OpenStack, vSphere and bare metal.
package e2e_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestE2E(t *testing.T) {
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(time.Second)
	suite.Run(t, "Gardener Suite")
}
