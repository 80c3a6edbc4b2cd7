// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"strings"

	"github.com/VictoriaMetrics/metricsql"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// overTime are the functions of PromQL that need a range. The parser, which knows more than PromQL, has one for them if there is none.
var overTime = map[string]bool{"rate": true, "increase": true, "max_over_time": true, "min_over_time": true, "avg_over_time": true,
	"changes": true}

// instant are the other functions of PromQL that queries may have.
var instant = map[string]bool{"histogram_quantile": true, "absent": true, "time": true, "vector": true, "label_replace": true,
	"clamp_min": true, "clamp_max": true}

// series are what a query selects.
type series struct {
	metric string
	// jobs are the names of the jobs that have them, none if all do.
	jobs []string
}

// seriesOf are what a query reads. A query that Prometheus would not understand is a failure.
func seriesOf(query string) []series {
	GinkgoHelper()
	parsed, err := metricsql.Parse(strings.ReplaceAll(query, "$__rate_interval", "5m")) // as dashboards do
	Expect(err).NotTo(HaveOccurred(), query)
	var all []series
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.FuncExpr:
			Expect(overTime[e.Name] || instant[e.Name]).To(BeTrue(), "%s is no function of PromQL, or has to be added here: %s", e.Name, query)
			if overTime[e.Name] {
				Expect(e.Args).To(HaveLen(1), query)
				rollup, ok := e.Args[0].(*metricsql.RollupExpr)
				Expect(ok && rollup.Window != nil).To(BeTrue(), "%s has no range: %s", e.Name, query)
			}
		case *metricsql.MetricExpr:
			Expect(e.LabelFilterss).To(HaveLen(1), query)
			all = append(all, selected(e.LabelFilterss[0]))
		}
	})
	return all
}

// selected is what a selector with the filters selects.
func selected(filters []metricsql.LabelFilter) series {
	var s series
	for _, filter := range filters {
		switch {
		case filter.Label == "__name__":
			s.metric = filter.Value
		case filter.Label == "job" && !filter.IsNegative:
			s.jobs = strings.Split(filter.Value, "|")
		}
	}
	return s
}

var _ = DescribeTable("Queries",
	func(query string, expected ...series) {
		Expect(seriesOf(query)).To(Equal(expected))
	},
	Entry("of a metric", `up`, series{metric: "up"}),
	Entry("of a job", `up{job="a"} == 0`, series{metric: "up", jobs: []string{"a"}}),
	Entry("of two jobs",
		`sum by (site) (rate(hybrid_requests{job=~"a|b",site=~"$site"}[$__rate_interval])) / on (site) group_left hybrid_machines`,
		series{metric: "hybrid_requests", jobs: []string{"a", "b"}}, series{metric: "hybrid_machines"}),
	Entry("of all jobs but one", `up{job!="a"}`, series{metric: "up"}),
)

var _ = DescribeTable("Queries that Prometheus does not understand",
	func(query string) {
		Expect(InterceptGomegaFailure(func() { seriesOf(query) })).To(HaveOccurred())
	},
	Entry("brackets", `sum(rate(up[5m])`),
	Entry("quotes", `up{job="a}`),
	Entry("functions", `range_quantile(0.5, up[5m])`),
	Entry("no range", `rate(up)`),
	Entry("operators", `up === 0`),
)

var _ = Describe("A dashboard", func() {
	It("should have the queries of its panels, and those in its variables", func() {
		dashboards, err := rendering.Dashboards(&corev1.ConfigMap{Data: map[string]string{"some.json": `{
			"panels": [{"targets": [{"expr": "hybrid_sites"}]}], "templating": {"list": [{"query": "label_values(hybrid_machines, site)"}]}}`}})
		Expect(err).NotTo(HaveOccurred())
		Expect(dashboards).To(HaveLen(1))
		Expect(dashboards[0].Queries()).To(Equal([]string{"hybrid_sites", "hybrid_machines"}))
	})
})
