// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"github.com/prometheus/client_golang/prometheus"
)

var siteAvailable = prometheus.NewDesc("hybrid_site_available",
	"1 if a site answers a shoot and its quotas are not used up, 0 with the reason if not.", []string{"shoot_namespace", "site", "reason"}, nil)

// Describe implements prometheus.Collector.
func (p *probers) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- siteAvailable
}

// Collect implements prometheus.Collector.
func (p *probers) Collect(metrics chan<- prometheus.Metric) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for infra, keys := range p.keys {
		for name, key := range keys {
			last, ok := p.probers[key].last()
			if !ok {
				continue
			}
			value := 1.0
			if last.err != nil {
				value = 0
			}
			metrics <- prometheus.MustNewConstMetric(siteAvailable, prometheus.GaugeValue, value, infra.Namespace, name, reasonOf(last.err))
		}
	}
}
