// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"strings"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Notes of events", func() {
	It("should be cut between characters", func() {
		long := strings.Repeat("ä", maxEventNoteLength)
		Expect(shorten("short")).To(Equal("short"))
		Expect(len(shorten("x" + long))).To(BeNumerically("<=", 1024))
		Expect(utf8.ValidString(shorten("x" + long))).To(BeTrue())
	})
})
