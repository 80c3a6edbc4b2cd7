// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// variables are what Plutono replaces in queries.
var variables = strings.NewReplacer("$__rate_interval", "10s", "$site", ".*", "$shoot", ".*")

// queriesOf are the queries of the dashboards, as Plutono sends them.
func queriesOf(configs []*corev1.ConfigMap) []string {
	GinkgoHelper()
	var queries []string
	for _, config := range configs {
		dashboards, err := rendering.Dashboards(config)
		Expect(err).NotTo(HaveOccurred())
		for _, dashboard := range dashboards {
			for _, query := range dashboard.Queries() {
				queries = append(queries, variables.Replace(query))
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
