// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package monitoring_test checks that alerts and dashboards ask for metrics that exist and are scraped, and that each alert is explained.
package monitoring_test

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestMonitoring(t *testing.T) {
	suite.Run(t, "Monitoring Suite")
}
