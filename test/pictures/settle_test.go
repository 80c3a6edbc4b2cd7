// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = DescribeTable("The lines that a terminal has at the end",
	func(output, lines string) {
		Expect(string(settle([]byte(output)))).To(Equal(lines))
	},
	Entry("without a table", "a\r\nb\r\n", "a\nb\n"),
	Entry("with the longest of its tables",
		"step\nT1\n\x1b[1A\x1b[Jline\nT1\nT2\n\x1b[2A\x1b[JT1\n\x1b[1A\x1b[Jend\n", "step\nline\nT1\nT2\nend\n"),
)
