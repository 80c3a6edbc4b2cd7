// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"github.com/prometheus/client_golang/prometheus"
)

var (
	faultyMachines = prometheus.NewDesc("hybrid_site_faulty_machines",
		"Machines of a shoot on a site that something is wrong with.", []string{"shoot_namespace", "site"}, nil)
	watchedSites = prometheus.NewDesc("hybrid_site_watched",
		"1 if the machines of a shoot on a site are watched for faults, 0 if the site cannot be watched.", []string{"shoot_namespace", "site"}, nil)
)

// Describe implements prometheus.Collector.
func (w *Watches) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- faultyMachines
	descriptions <- watchedSites
}

// Collect implements prometheus.Collector.
func (w *Watches) Collect(metrics chan<- prometheus.Metric) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for key, watched := range w.workers {
		for name, running := range watched.sites {
			s := running.now()
			metrics <- prometheus.MustNewConstMetric(faultyMachines, prometheus.GaugeValue, float64(len(s.faults)), key.Namespace, name)
			metrics <- prometheus.MustNewConstMetric(watchedSites, prometheus.GaugeValue, boolean(s.watched), key.Namespace, name)
		}
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
