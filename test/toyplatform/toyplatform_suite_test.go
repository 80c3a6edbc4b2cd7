// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyplatform_test

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

func TestToyPlatform(t *testing.T) {
	defer toyapi.Install()()
	suite.Run(t, "Toy Platform Suite")
}
