// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package reproducible_test builds the binaries several times.
package reproducible_test

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestReproducible(t *testing.T) {
	suite.Run(t, "Reproducible Suite")
}
