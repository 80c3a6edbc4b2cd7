// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts_test

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestStaticHosts(t *testing.T) {
	suite.Run(t, "Landscape Static Hosts Suite")
}
