// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"github.com/prometheus/client_golang/prometheus"
)

var (
	siteAvailable = prometheus.NewDesc("hybrid_site_available",
		"1 if a site answers a shoot and its quotas are not used up, 0 with the reason if not.", []string{"shoot_namespace", "site", "reason"}, nil)
	siteQuota = prometheus.NewDesc("hybrid_site_quota",
		"Quotas of the account of a shoot on a site, and how much of them is used; memory in bytes.", []string{"shoot_namespace", "site", "resource", "state"}, nil)
)

// Describe implements prometheus.Collector.
func (p *probers) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- siteAvailable
	descriptions <- siteQuota
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
			for _, quota := range last.quotas {
				resource := string(quota.Resource)
				metrics <- prometheus.MustNewConstMetric(siteQuota, prometheus.GaugeValue, quota.Limit, infra.Namespace, name, resource, "limit")
				metrics <- prometheus.MustNewConstMetric(siteQuota, prometheus.GaugeValue, quota.Used, infra.Namespace, name, resource, "used")
			}
		}
	}
}
