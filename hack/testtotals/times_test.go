// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
)

var _ = Describe("Times", func() {
	const events = `{"Action":"pass","Package":"example.com/a/test/slow","Test":"TestA"}
{"Action":"pass","Package":"example.com/a/test/slow","Elapsed":90.5}
{"Action":"pass","Package":"example.com/a/pkg","Test":"TestA"}
{"Action":"pass","Package":"example.com/a/pkg","Elapsed":100}
{"Action":"skip","Package":"example.com/a/none","Elapsed":0.1}`

	DescribeTable("limits of packages",
		func(limits Limits, failed int, said string) {
			out := gbytes.NewBuffer()
			totals, times, err := Sum(strings.NewReader(events), out, Expectation{Limits: limits})
			Expect(err).NotTo(HaveOccurred())
			Expect(totals).To(Equal(Totals{Passed: 2, Failed: failed}))
			Expect(times).To(HaveExactElements(
				Took{Name: "example.com/a/test/slow", Time: 90500 * time.Millisecond}, Took{Name: "example.com/a/pkg", Time: 100 * time.Second},
			))
			Expect(string(out.Contents())).To(ContainSubstring(said))
		},
		Entry("none", nil, 0, "ok    example.com/a/test/slow (90.5s): 1 passed, 0 failed, 0 skipped"),
		Entry("that is kept", Limits{"test/slow": 91 * time.Second}, 0, "ok    example.com/a/test/slow"),
		Entry("that is passed", Limits{"test/slow": 90 * time.Second}, 1, "FAIL  example.com/a/test/slow (90.5s): 1 passed, 1 failed, 0 skipped"),
		Entry("of another", Limits{"slow/test": time.Second, "est/slow": time.Second}, 0, "ok    example.com/a/test/slow"),
	)

	DescribeTable("the list of suites",
		func(content string, expected Limits, refused string) {
			limits, err := ReadLimits(strings.NewReader(content))
			if refused != "" {
				Expect(err).To(MatchError(ContainSubstring(refused)))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(limits).To(Equal(expected))
		},
		Entry("a suite", "# comment\n\ntest/a   nightly 9\n", Limits{"test/a": 9 * time.Minute}, ""),
		Entry("no tier", "test/a 9", nil, "is not a folder, a tier and a number of minutes"),
		Entry("no number", "test/a test soon", nil, "has no number of minutes"),
	)

	It("should have the folders and tiers that there are in the list of the project", func() {
		root := filepath.Join("..", "..")
		content, err := os.ReadFile(filepath.Join(root, "test", "suites.txt"))
		Expect(err).NotTo(HaveOccurred())
		Expect(ReadLimits(strings.NewReader(string(content)))).NotTo(BeEmpty())
		for line := range strings.Lines(string(content)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			fields := strings.Fields(line)
			Expect(filepath.Join(root, fields[0])).To(BeADirectory())
			Expect(fields[1]).To(BeElementOf("fast", "test", "nightly"))
		}
	})

	It("should tell the times of specs that suites report, the longest first", func() {
		dir := GinkgoT().TempDir()
		report := `[{"SuiteDescription":"A Suite","SpecReports":[
			{"ContainerHierarchyTexts":["A machine"],"LeafNodeType":"It","LeafNodeText":"is created","RunTime":1500000000},
			{"LeafNodeType":"BeforeSuite","RunTime":2000000000}]}]`
		Expect(os.WriteFile(filepath.Join(dir, "a.json"), []byte(report), 0o600)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(dir, "killed.json"), []byte(`[{"Sui`), 0o600)).To(Succeed())
		times, err := SpecTimes(dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(Table(times)).To(Equal("2.0\tA Suite: BeforeSuite\n1.5\tA Suite: A machine is created\n"))
	})
})
