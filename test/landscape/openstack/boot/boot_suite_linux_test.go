// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package boot_test

import (
	"os"
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/isolation"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestMain(m *testing.M) {
	os.Exit(isolation.Run(m))
}

func TestServers(t *testing.T) {
	suite.Run(t, "Servers Suite")
}
