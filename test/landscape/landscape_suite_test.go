// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestLandscape(t *testing.T) {
	SetDefaultEventuallyTimeout(20 * time.Second) // on a busy machine
	suite.Run(t, "Test Landscape Suite")
}
