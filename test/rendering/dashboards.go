// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Dashboard is what is read of a dashboard of Plutono.
type Dashboard struct {
	Title  string `json:"title"`
	UID    string `json:"uid"`
	Panels []struct {
		Title      string  `json:"title"`
		Datasource *string `json:"datasource"`
		Targets    []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
	Templating struct {
		List []struct {
			Query      string  `json:"query"`
			Datasource *string `json:"datasource"`
		} `json:"list"`
	} `json:"templating"`
}

// Dashboards returns the dashboards in a ConfigMap, in the order of the names of their files.
func Dashboards(config *corev1.ConfigMap) ([]*Dashboard, error) {
	var all []*Dashboard
	for _, name := range slices.Sorted(maps.Keys(config.Data)) {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		d := &Dashboard{}
		if err := json.Unmarshal([]byte(config.Data[name]), d); err != nil {
			return nil, fmt.Errorf("%s of ConfigMap %s: %w", name, config.Name, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// labelValues is the query of a dashboard's variable. Its first argument is the query that Prometheus gets.
var labelValues = regexp.MustCompile(`^label_values\((.+),\s*\w+\)$`)

// Queries returns the queries of panels and variables that Prometheus gets, with Plutono's variables.
func (d *Dashboard) Queries() []string {
	var queries []string
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	for _, variable := range d.Templating.List {
		queries = append(queries, labelValues.ReplaceAllString(variable.Query, "$1"))
	}
	return queries
}
