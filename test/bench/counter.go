// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// counter reads from the product's own metric how many requests it sent.
type counter struct {
	registry *prometheus.Registry
}

func newCounter() (*counter, error) {
	registry := prometheus.NewRegistry()
	return &counter{registry: registry}, registry.Register(platform.RequestDuration)
}

func (c *counter) requests() (int, error) {
	families, err := c.registry.Gather()
	if err != nil {
		return 0, err
	}
	total := 0
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			total += int(metric.GetHistogram().GetSampleCount())
		}
	}
	return total, nil
}
