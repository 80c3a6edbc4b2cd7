// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package boot_test

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestBoot(t *testing.T) {
	suite.Run(t, "vCenter Boot Suite")
}
