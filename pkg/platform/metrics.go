// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"github.com/prometheus/client_golang/prometheus"
)

// RequestDuration counts and times the requests to the sites' APIs, in seconds. The label code is the HTTP status, the name of the
// RCODE for the service rfc2136, or "error" if there was no answer.
var RequestDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Namespace: "hybrid",
	Subsystem: "site",
	Name:      "request_duration_seconds",
	Help:      "Duration of requests to the APIs of sites.",
	Buckets:   []float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
}, []string{"site", "service", "method", "code"})

// Hosts are the hosts that a machine type selects in a zone, for sites that have a limited number of them. The state is total or
// free. Those of a site go when the shoot does not use the site any more.
var Hosts = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Namespace: "hybrid",
	Subsystem: "metal",
	Name:      "hosts",
	Help:      "Hosts for machines of a type in a zone, as of the last reconciliation of the Infrastructure.",
}, []string{"shoot_namespace", "site", "zone", "machine_type", "state"})
