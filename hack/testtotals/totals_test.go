// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
)

var _ = Describe("Sum", func() {
	DescribeTable("totals",
		func(expected Totals, lines ...string) {
			totals, err := Sum(strings.NewReader(strings.Join(lines, "\n")), gbytes.NewBuffer())
			Expect(err).NotTo(HaveOccurred())
			Expect(totals).To(Equal(expected))
		},
		Entry("plain tests", Totals{Passed: 1, Failed: 1, Skipped: 1},
			`{"Action":"pass","Package":"p","Test":"TestA"}`,
			`{"Action":"fail","Package":"p","Test":"TestB"}`,
			`{"Action":"skip","Package":"p","Test":"TestC"}`,
			`{"Action":"fail","Package":"p"}`),
		Entry("subtests without their parent", Totals{Passed: 2},
			`{"Action":"pass","Package":"p","Test":"TestA/one"}`,
			`{"Action":"pass","Package":"p","Test":"TestA/two"}`,
			`{"Action":"pass","Package":"p","Test":"TestA"}`,
			`{"Action":"pass","Package":"p"}`),
		Entry("a suite's specs", Totals{Passed: 7, Skipped: 3},
			`{"Action":"output","Package":"p","Test":"TestSuite","Output":"\u001b[38;5;10mSUCCESS!\u001b[0m -- 7 Passed | 0 Failed | 1 Pending | 2 Skipped\n"}`,
			`{"Action":"pass","Package":"p","Test":"TestSuite"}`,
			`{"Action":"pass","Package":"p"}`),
		Entry("a suite with a failed spec", Totals{Passed: 3, Failed: 2},
			`{"Action":"output","Package":"p","Test":"TestSuite","Output":"FAIL! -- 3 Passed | 2 Failed | 0 Pending | 0 Skipped\n"}`,
			`{"Action":"fail","Package":"p","Test":"TestSuite"}`,
			`{"Action":"fail","Package":"p"}`),
		Entry("a suite that fails without a failed spec", Totals{Passed: 3, Failed: 1},
			`{"Action":"output","Package":"p","Test":"TestSuite","Output":"FAIL! -- 3 Passed | 0 Failed | 0 Pending | 0 Skipped\n"}`,
			`{"Action":"fail","Package":"p","Test":"TestSuite"}`,
			`{"Action":"fail","Package":"p"}`),
		Entry("a package that does not build or crashes", Totals{Failed: 1},
			`{"Action":"build-output","ImportPath":"p","Output":"syntax error\n"}`,
			`{"Action":"build-fail","ImportPath":"p"}`,
			`{"Action":"fail","Package":"p"}`),
		Entry("a package without tests", Totals{},
			`{"Action":"skip","Package":"p"}`),
		Entry("several packages", Totals{Passed: 2},
			`{"Action":"pass","Package":"p","Test":"TestA"}`,
			`{"Action":"pass","Package":"p"}`,
			`{"Action":"pass","Package":"q","Test":"TestA"}`,
			`{"Action":"pass","Package":"q"}`),
	)

	It("should show the output of a failed package only", func() {
		out := gbytes.NewBuffer()
		_, err := Sum(strings.NewReader(`{"Action":"output","Package":"good","Output":"fine\n"}
{"Action":"pass","Package":"good","Test":"TestA"}
{"Action":"pass","Package":"good"}
{"Action":"output","Package":"bad","Output":"broken\n"}
{"Action":"fail","Package":"bad"}`), out)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(out.Contents())).To(And(ContainSubstring("broken"), Not(ContainSubstring("fine")), ContainSubstring("ok    good"), ContainSubstring("FAIL  bad")))
	})
})
