// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestPictures(t *testing.T) {
	suite.Run(t, "Pictures Suite")
}
