// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
)

var _ = Describe("Sum", func() {
	DescribeTable("totals",
		func(expected Totals, lines ...string) {
			totals, _, err := Sum(strings.NewReader(strings.Join(lines, "\n")), gbytes.NewBuffer(), Expectation{Packages: []string{"p"}})
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
			`{"Action":"output","Package":"p","Test":"TestSuite",`+
				`"Output":"\u001b[38;5;10mSUCCESS!\u001b[0m -- 7 Passed | 0 Failed | 1 Pending | 2 Skipped\n"}`,
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
		Entry("a package that was killed in the middle of a suite", Totals{Failed: 1},
			`{"Action":"start","Package":"p"}`,
			`{"Action":"run","Package":"p","Test":"TestSuite"}`,
			`{"Action":"output","Package":"p","Output":"signal: killed\n"}`,
			`{"Action":"fail","Package":"p","Test":"TestSuite"}`,
			`{"Action":"fail","Package":"p"}`),
		Entry("a package that has no end, as `go test` was killed", Totals{Passed: 1, Failed: 1},
			`{"Action":"start","Package":"p"}`,
			`{"Action":"pass","Package":"p","Test":"TestA"}`),
		Entry("a package that has no end, though nobody expects it", Totals{Passed: 1, Failed: 1},
			`{"Action":"start","Package":"q"}`,
			`{"Action":"pass","Package":"p","Test":"TestA"}`,
			`{"Action":"pass","Package":"p"}`),
		Entry("a package that never began", Totals{Passed: 1, Failed: 1},
			`{"Action":"pass","Package":"q","Test":"TestA"}`,
			`{"Action":"pass","Package":"q"}`),
	)

	DescribeTable("skipped specs",
		func(strict bool, skips map[string]Exception, expected Totals, said ...string) {
			out := gbytes.NewBuffer()
			totals, _, err := Sum(strings.NewReader(`{"Action":"output","Package":"p","Test":"TestSuite","Output":"  [SKIPPED] it needs root\n"}
{"Action":"output","Package":"p","Test":"TestSuite","Output":"SUCCESS! -- 7 Passed | 0 Failed | 0 Pending | 2 Skipped\n"}
{"Action":"pass","Package":"p","Test":"TestSuite"}
{"Action":"pass","Package":"p"}`), out, Expectation{Strict: strict, Skips: skips})
			Expect(err).NotTo(HaveOccurred())
			Expect(totals).To(Equal(expected))
			for _, line := range append(said, "[SKIPPED] it needs root") {
				Expect(string(out.Contents())).To(ContainSubstring(line))
			}
		},
		Entry("on the machine of a developer", false, nil, Totals{Passed: 7, Skipped: 2}),
		Entry("that are in the list", true, map[string]Exception{"p": {Number: 2, Reason: "nobody has root"}}, Totals{Passed: 7, Skipped: 2},
			"nobody has root"),
		Entry("that are not in the list", true, map[string]Exception{"q": {Number: 2}}, Totals{Passed: 7, Failed: 2}, "FAIL  p",
			"2 skipped specs of p are not in the list"),
		Entry("more than there are in the list", true, map[string]Exception{"p": {Number: 1}}, Totals{Passed: 7, Failed: 1, Skipped: 1},
			"FAIL  p", "1 skipped specs of p are not in the list"),
	)

	DescribeTable("the list of skips",
		func(content string, expected map[string]Exception, refused string) {
			skips, err := ReadSkips(strings.NewReader(content))
			if refused != "" {
				Expect(err).To(MatchError(ContainSubstring(refused)))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(skips).To(Equal(expected))
		},
		Entry("a package", "# comment\n\np/q 9  takes too long\n", map[string]Exception{"p/q": {Number: 9, Reason: "takes too long"}}, ""),
		Entry("no reason", "p/q 9", nil, "is not a package, a number and a reason"),
		Entry("no number", "p/q many of them", nil, "has no number of specs"),
	)

	It("should have a list of skips that can be read", func() {
		file, err := os.Open("skips.txt")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(file.Close)
		Expect(ReadSkips(file)).Error().NotTo(HaveOccurred())
	})

	It("should show the output of a failed package only", func() {
		out := gbytes.NewBuffer()
		_, _, err := Sum(strings.NewReader(`{"Action":"output","Package":"good","Output":"fine\n"}
{"Action":"pass","Package":"good","Test":"TestA"}
{"Action":"pass","Package":"good"}
{"Action":"output","Package":"bad","Output":"broken\n"}
{"Action":"fail","Package":"bad"}`), out, Expectation{})
		Expect(err).NotTo(HaveOccurred())
		Expect(string(out.Contents())).To(And(ContainSubstring("broken"), Not(ContainSubstring("fine")), ContainSubstring("ok    good"),
			ContainSubstring("FAIL  bad")))
	})
})
