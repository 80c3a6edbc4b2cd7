// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package docs_test checks what documents say about the sources.
package docs_test

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestDocs(t *testing.T) {
	suite.Run(t, "Docs Suite")
}
