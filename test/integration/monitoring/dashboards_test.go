// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
)

// labelValues is the query of a dashboard's variable, whose first argument is a query of Prometheus.
var labelValues = regexp.MustCompile(`^label_values\((.+),\s*\w+\)$`)

// variables are what Plutono replaces in queries.
var variables = strings.NewReplacer("$__rate_interval", "10s", "$site", ".*", "$shoot", ".*")

// queriesOf are the queries of the dashboards, as Plutono sends them.
func queriesOf(configs []*corev1.ConfigMap) []string {
	GinkgoHelper()
	var queries []string
	for _, config := range configs {
		for name, content := range config.Data {
			var dashboard struct {
				Panels []struct {
					Targets []struct {
						Expr string `json:"expr"`
					} `json:"targets"`
				} `json:"panels"`
				Templating struct {
					List []struct {
						Query string `json:"query"`
					} `json:"list"`
				} `json:"templating"`
			}
			if !strings.HasSuffix(name, ".json") {
				continue
			}
			Expect(json.Unmarshal([]byte(content), &dashboard)).To(Succeed(), name)
			for _, panel := range dashboard.Panels {
				for _, target := range panel.Targets {
					queries = append(queries, variables.Replace(target.Expr))
				}
			}
			for _, variable := range dashboard.Templating.List {
				match := labelValues.FindStringSubmatch(variable.Query)
				Expect(match).NotTo(BeNil(), variable.Query)
				queries = append(queries, match[1])
			}
		}
	}
	return queries
}

// expectShown expects that a Prometheus knows something for each query of dashboards since a time, except for what matches.
func expectShown(ctx SpecContext, p *prometheus, configs []*corev1.ConfigMap, since time.Time, except string) {
	GinkgoHelper()
	queries := queriesOf(configs)
	Expect(queries).NotTo(BeEmpty())
	exempt := regexp.MustCompile(except)
	var missing []string
	for _, query := range queries {
		found, warnings, err := p.QueryRange(ctx, query, prometheusv1.Range{Start: since, End: time.Now(), Step: time.Second})
		Expect(err).NotTo(HaveOccurred(), query)
		Expect(warnings).To(BeEmpty(), query)
		matrix, ok := found.(model.Matrix)
		Expect(ok).To(BeTrue(), query)
		if len(matrix) == 0 && !exempt.MatchString(query) {
			missing = append(missing, query)
		}
	}
	Expect(missing).To(BeEmpty())
}
