// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rfc2136_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestRFC2136(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "DNS RFC2136 Suite")
}
