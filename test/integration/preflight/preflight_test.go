// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

// merged is how many of the rows of each site a merge needs.
const merged = 12

// maxRoundTrips is how many requests to a site may wait for one another. At half a second each, a run takes 10 seconds: that is promised
// for three sites, and a time would depend on what else the machine does.
const maxRoundTrips = 20

// siteRows are the rows of a site. Those of several sites are played at the same time: each is told of its own.
type siteRows struct {
	site string
	rows []row
}

var corpus = []siteRows{
	{cloudSite, named(ofSites(openStackRows))}, {vcSite, named(vSphereRows)}, {racksSite, named(racksRows)}, {hallSite, named(hallRows)},
}

// named are the rows that a check names.
func named(rows []row) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.unnamed != "" })
}

var _ = Describe("hybridctl preflight", func() {
	It("should find nothing wrong with a good shoot, soon", func(ctx SpecContext) {
		r := preflight(ctx, goodDocuments())
		Expect(r.stderr).To(BeEmpty())
		Expect(r.found("", failed, warning, unknown)).To(BeEmpty())
		Expect(r.code).To(Equal(0))
		trips := map[string]int{}
		for _, request := range append(r.cloud, r.others...) {
			trips[request.Service]++
		}
		cloud, others := countproxy.RoundTrips(countproxy.Intervals(r.cloud)), countproxy.RoundTrips(countproxy.Intervals(r.others))
		AddReportEntry("good shoot", fmt.Sprintf("%.1f s for four sites, %d requests one after the other to OpenStack, %d to the others; %v",
			r.took.Seconds(), cloud, others, trips), ReportEntryVisibilityAlways)
		Expect(cloud).To(BeNumerically("<=", maxRoundTrips))
	})

	for i := range longest() {
		if suite.ForMerge() && i >= merged {
			break
		}
		var texts []string
		for _, of := range corpus {
			if i < len(of.rows) {
				texts = append(texts, of.site+": "+of.rows[i].wrong)
			}
		}
		It("should name what is wrong: "+strings.Join(texts, "; "), func(ctx SpecContext) {
			d, made := goodDocuments(), map[string]string{}
			for _, of := range corpus {
				if i < len(of.rows) && of.rows[i].make != nil {
					made[of.site] = of.rows[i].make(ctx)
				}
			}
			for _, of := range corpus {
				if i < len(of.rows) && of.rows[i].documents != nil {
					of.rows[i].documents(d, made[of.site])
				}
			}
			r := preflight(ctx, d)
			var problems []string
			for _, of := range corpus {
				if i < len(of.rows) {
					problems = append(problems, of.rows[i].judge(of.site, r)...)
				} else {
					problems = append(problems, falseAlarms(of.site, r)...)
				}
			}
			if len(problems) > 0 {
				Fail(strings.Join(problems, "\n"))
			}
			Expect(r.code).To(Equal(1), r.stderr)
		}, NodeTimeout(5*time.Minute))
	}

	for i, of := range named(ofSites(betweenRows)) {
		if suite.ForMerge() && i >= merged {
			break
		}
		It("should name what is wrong: "+of.wrong, func(ctx SpecContext) {
			d, made := goodDocuments(), ""
			if of.make != nil {
				made = of.make(ctx)
			}
			of.documents(d, made)
			r := preflight(ctx, d)
			Expect(of.judge("", r)).To(BeEmpty())
			Expect(r.code).To(Equal(1), r.stderr)
		}, NodeTimeout(5*time.Minute))
	}
})

// longest is the number of rows of the site that has most.
func longest() int {
	most := 0
	for _, of := range corpus {
		most = max(most, len(of.rows))
	}
	return most
}

// tablePath is the page with the rows, which this variable lets the suite write.
const (
	tableVariable = "PREFLIGHT_TABLE"
	tablePath     = "docs/development/misconfigurations.md"
)

var _ = Describe("The page about misconfigurations", func() {
	It("should have each row and the check that names it", func() {
		table := page()
		if os.Getenv(tableVariable) != "" {
			Expect(os.WriteFile(filepath.Join(landscape.Root(), tablePath), []byte(table), 0o600)).To(Succeed())
		}
		content, err := os.ReadFile(filepath.Join(landscape.Root(), tablePath))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(content)).To(Equal(table), "write it with %s=1", tableVariable)
	})

	It("should have an ID in each row", func() {
		for _, of := range append(slices.Clone(corpus), siteRows{"several sites", named(betweenRows)}) {
			for _, r := range of.rows {
				Expect(r.id).NotTo(BeEmpty(), "%s: %s", of.site, r.wrong)
			}
		}
	})
})

// page is the table of all rows.
func page() string {
	text := &strings.Builder{}
	text.WriteString(`# Misconfigurations that preflight names

The suite ` + "`test/integration/preflight`" + ` makes each of these in a real OpenStack, a simulated vCenter, or a cluster with the
operators of Metal3 and IronCore, or in what a Shoot, a CloudProfile, and a Secret say about them. Then it runs
` + "`hybridctl preflight`" + `, which must name the site, the field, and this [check](../operations/preflight.md), and nothing else. Rows
without a check are not played. The suite writes this page: ` + "`" + tableVariable + `=1 go test
./test/integration/preflight -ginkgo.focus misconfigurations` + "`" + `.
`)
	for _, of := range []struct {
		title string
		rows  []row
	}{{"OpenStack", openStackRows}, {"vSphere", vSphereRows}, {"Metal3", racksRows}, {"IronCore", hallRows}, {"Several sites", betweenRows}} {
		fmt.Fprintf(text, "\n## %s\n\n| what is wrong | check |\n|---|---|\n", of.title)
		for _, r := range of.rows {
			if r.unnamed != "" {
				fmt.Fprintf(text, "| %s | none: %s |\n", r.wrong, r.unnamed)
				continue
			}
			fmt.Fprintf(text, "| %s | [%s](../operations/preflight.md#%s) |\n", r.wrong, r.id, r.id)
		}
	}
	return text.String()
}
