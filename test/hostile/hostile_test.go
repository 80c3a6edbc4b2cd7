// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestMain(m *testing.M) {
	if os.Getenv(subjectVariable) != "" {
		runSubject()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestHostile(t *testing.T) {
	suite.Run(t, "Hostile Site Suite")
}

const (
	// protocolsVariable, operationsVariable and answersVariable select some protocols, operations and answers, by a regular expression each.
	protocolsVariable  = "HOSTILE_PROTOCOLS"
	operationsVariable = "HOSTILE_OPERATIONS"
	answersVariable    = "HOSTILE_ANSWERS"
	// goodVariable leaves it at the good runs.
	goodVariable = "HOSTILE_GOOD"
	// tableVariable is the file that the table is written to, and what has failed.
	tableVariable = "HOSTILE_TABLE"
)

func matchesVariable(name, text string) bool {
	return regexp.MustCompile(os.Getenv(name)).MatchString(text)
}

func selected(o *operation) bool {
	return matchesVariable(operationsVariable, o.part+"/"+o.name)
}

// eachPart calls f for each part that was selected.
func eachPart(f func(protocol, part string)) {
	for _, name := range order {
		if !matchesVariable(protocolsVariable, name) {
			continue
		}
		for _, part := range parts(name) {
			f(name, part)
		}
	}
}

var order = []string{openStack, vSphere, metal3, ironCore, rfc2136}

const rfc2136 = "rfc2136"

// processes is how many subjects run at the same time.
const processes = 5

const suiteTimeout = 17 * time.Minute

var all = &matrix{results: map[string]*partResult{}, slots: make(chan struct{}, processes)}

var _ = BeforeSuite(func(ctx SpecContext) {
	dir := GinkgoT().TempDir()
	own, err := landscape.BuildOwn(ctx, dir, GinkgoWriter, "./test/landscape/vcenter/simulator")
	Expect(err).NotTo(HaveOccurred())
	GinkgoT().Setenv(landscape.OwnVariable, own)
	all.places, err = newPlaces()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(all.places.close)
	DeferCleanup(stopSimulator)
	// What was not played by then has failed.
	ctxOfRows, cancel := context.WithTimeout(ctx, suiteTimeout)
	defer cancel()
	start := time.Now()
	var group sync.WaitGroup
	eachPart(func(name, part string) {
		group.Go(func() {
			defer GinkgoRecover()
			all.runPart(ctxOfRows, name, part)
		})
	})
	group.Wait()
	fmt.Fprintf(GinkgoWriter, "took %s\n", time.Since(start).Round(time.Second))
}, NodeTimeout(suiteTimeout+3*time.Minute))

var _ = AfterSuite(func() {
	table := all.table()
	fmt.Print(table)
	if path := os.Getenv(tableVariable); path != "" {
		Expect(os.WriteFile(path, []byte(table+all.failed()), 0o600)).To(Succeed())
	}
})

var _ = Describe("A hostile far end", func() {
	eachPart(func(name, part string) {
		It(fmt.Sprintf("of %s harms nothing of %s", name, part), func() {
			result := all.results[name+" "+part]
			if failures := result.failures(); len(failures) > 0 || len(result.rows) == 0 {
				Fail(fmt.Sprintf("%d failures in %d rows:\n%s", len(failures), len(result.rows), strings.Join(failures, "\n")))
			}
		})
	})
})

func (p *partResult) failures() []string {
	result := slices.Clone(p.problems)
	for _, r := range p.rows {
		for _, failure := range r.failures {
			result = append(result, r.String()+": "+failure)
		}
	}
	return result
}

// failed lists what has failed.
func (s *matrix) failed() string {
	var b strings.Builder
	eachPart(func(name, part string) {
		for _, failure := range s.results[name+" "+part].failures() {
			fmt.Fprintf(&b, "\n- %s", strings.ReplaceAll(failure, "\n", " "))
		}
	})
	return b.String() + "\n"
}

// table shows how many rows of how many have passed.
func (s *matrix) table() string {
	var (
		b            strings.Builder
		columns      []*partResult
		names        []string
		rows, failed int
	)
	eachPart(func(name, part string) { columns = append(columns, s.result(name, part)) })
	for _, column := range columns {
		for _, r := range column.rows {
			if !slices.Contains(names, r.answer.name) {
				names = append(names, r.answer.name)
			}
		}
	}
	b.WriteString("\n| answer |")
	for _, column := range columns {
		fmt.Fprintf(&b, " %s: %s |", column.protocol, column.part)
	}
	b.WriteString(" all |\n|---|")
	b.WriteString(strings.Repeat("---|", len(columns)+1) + "\n")
	total := map[*partResult][2]int{}
	for _, name := range names {
		fmt.Fprintf(&b, "| %s |", name)
		var sum [2]int
		for _, column := range columns {
			var count [2]int
			for _, r := range column.rows {
				if r.answer.name == name {
					count[1]++
					if len(r.failures) == 0 {
						count[0]++
					}
				}
			}
			sum[0], sum[1] = sum[0]+count[0], sum[1]+count[1]
			total[column] = [2]int{total[column][0] + count[0], total[column][1] + count[1]}
			b.WriteString(cell(count))
		}
		b.WriteString(cell(sum) + "\n")
		rows, failed = rows+sum[1], failed+sum[1]-sum[0]
	}
	b.WriteString("| all |")
	for _, column := range columns {
		b.WriteString(cell(total[column]))
	}
	fmt.Fprintf(&b, "%s\n\n%d rows, %d failed\n", cell([2]int{rows - failed, rows}), rows, failed)
	for _, column := range columns {
		for _, problem := range column.problems {
			fmt.Fprintf(&b, "%s %s: %s\n", column.protocol, column.part, cut(problem, maxMessage))
		}
	}
	return b.String()
}

func cell(count [2]int) string {
	if count[1] == 0 {
		return " |"
	}
	return fmt.Sprintf(" %d/%d |", count[0], count[1])
}
