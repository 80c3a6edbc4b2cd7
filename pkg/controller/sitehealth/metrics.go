// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var (
	siteAvailable = prometheus.NewDesc("hybrid_site_available",
		"1 if a site answers a shoot and its quotas are not used up, 0 with the reason if not.", []string{"shoot_namespace", "site",
			"reason"}, nil)
	siteQuota = prometheus.NewDesc("hybrid_site_quota",
		"Quotas of the account of a shoot on a site, and how much of them is used; memory in bytes.", []string{"shoot_namespace", "site",
			"resource", "state"}, nil)
	siteCapacity = prometheus.NewDesc("hybrid_site_capacity",
		"What a zone of a site has for all who use it, and how much of it is free; memory and storage in bytes.",
		[]string{"shoot_namespace", "site", "zone", "resource", "state"}, nil)
	faultyMachines = prometheus.NewDesc("hybrid_site_faulty_machines",
		"Machines of a shoot on a site that something is wrong with.", []string{"shoot_namespace", "site"}, nil)
	watchedSites = prometheus.NewDesc("hybrid_site_watched",
		"1 if the machines of a shoot on a site are watched for faults, 0 if the site cannot be watched.", []string{"shoot_namespace",
			"site"}, nil)
)

// Describe implements prometheus.Collector.
func (p *probers) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- siteAvailable
	descriptions <- siteQuota
	descriptions <- siteCapacity
	descriptions <- faultyMachines
	descriptions <- watchedSites
}

// Collect implements prometheus.Collector.
func (p *probers) Collect(metrics chan<- prometheus.Metric) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for infra, shoot := range p.shoots {
		for name, key := range shoot.keys {
			last, ok := p.probers[key].last()
			if !ok {
				continue
			}
			metrics <- prometheus.MustNewConstMetric(siteAvailable, prometheus.GaugeValue, boolean(last.err == nil), infra.Namespace, name,
				reasonOf(last.err))
			collectRoom(metrics, infra.Namespace, name, last.observed)
			if faults, ok := shoot.faults[name]; ok {
				metrics <- prometheus.MustNewConstMetric(faultyMachines, prometheus.GaugeValue, float64(len(faults)), infra.Namespace, name)
				metrics <- prometheus.MustNewConstMetric(watchedSites, prometheus.GaugeValue, boolean(last.err == nil), infra.Namespace, name)
			}
		}
	}
}

func collectRoom(metrics chan<- prometheus.Metric, namespace, name string, observed platform.Observation) {
	tell := func(description *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, append([]string{namespace, name}, labels...)...)
	}
	for _, quota := range observed.Quotas {
		tell(siteQuota, quota.Limit, string(quota.Resource), "limit")
		tell(siteQuota, quota.Used, string(quota.Resource), "used")
	}
	for _, capacity := range observed.Capacities {
		tell(siteCapacity, capacity.Total, capacity.Zone, string(capacity.Resource), "total")
		tell(siteCapacity, capacity.Free, capacity.Zone, string(capacity.Resource), "free")
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
