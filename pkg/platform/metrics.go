// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// RequestDuration is the duration of requests to the sites' APIs, in seconds. The label code is the HTTP status, the name of the
// RCODE for the API rfc2136, or "error" if there was no response.
var RequestDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Namespace: "hybrid",
	Subsystem: "site",
	Name:      "request_duration_seconds",
	Help:      "Duration of requests to the APIs of sites.",
	Buckets:   []float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
}, []string{"site", "api", "method", "code"})

// Hosts is the number of hosts that a machine type selects in a zone, and FreeHosts how many of them are free, for sites with a limited
// number of hosts. The metrics of a site are deleted when the shoot no longer uses the site.
var (
	Hosts     = newHosts("hosts", "Hosts for machines of a type in a zone, as of the last reconciliation of the Infrastructure.")
	FreeHosts = newHosts("hosts_free", "Free hosts for machines of a type in a zone, as of the last reconciliation of the Infrastructure.")
)

// ForgetHosts deletes the metrics about hosts that have all of the labels.
func ForgetHosts(labels prometheus.Labels) {
	Hosts.DeletePartialMatch(labels)
	FreeHosts.DeletePartialMatch(labels)
}

func newHosts(name, help string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "hybrid", Subsystem: "site", Name: name, Help: help},
		[]string{"shoot_namespace", "site", "zone", "machine_type"})
}

var lastAnswers sync.Map

// Answered records that a site just answered a request, successfully or not. The transport calls it, because an operation of many requests
// does not show before its end that the site works.
func Answered(site string) {
	lastAnswers.Store(site, time.Now())
}

// LastAnswer returns when a site last answered a request of this process, the zero time if it never did.
func LastAnswer(site string) time.Time {
	last, _ := lastAnswers.Load(site)
	at, _ := last.(time.Time)
	return at
}
