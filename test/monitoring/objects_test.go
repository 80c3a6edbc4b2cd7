// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// alert is one rule of a PrometheusRule.
type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// prometheusRule is what is read of a PrometheusRule.
type prometheusRule struct {
	Spec struct {
		Groups []struct {
			Rules []alert `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

// relabeling is a rule that changes or drops what is scraped.
type relabeling struct {
	Action      string `json:"action"`
	TargetLabel string `json:"targetLabel"`
	Replacement string `json:"replacement"`
	Regex       string `json:"regex"`
}

// serviceMonitor is what is read of a ServiceMonitor.
type serviceMonitor struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Endpoints []struct {
			Relabelings       []relabeling `json:"relabelings"`
			MetricRelabelings []relabeling `json:"metricRelabelings"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// kept returns the metrics that are kept for each job. Without another rule the job is the name of the Service.
func (m serviceMonitor) kept() map[string][]*regexp.Regexp {
	kept := map[string][]*regexp.Regexp{}
	for _, endpoint := range m.Spec.Endpoints {
		job := strings.TrimPrefix(m.Metadata.Name, "shoot-")
		for _, r := range endpoint.Relabelings {
			if r.TargetLabel == "job" {
				job = r.Replacement
			}
		}
		for _, r := range endpoint.MetricRelabelings {
			if r.Action == "keep" {
				kept[job] = append(kept[job], regexp.MustCompile(r.Regex))
			}
		}
	}
	return kept
}

// scrapeConfig is what is read of a ScrapeConfig.
type scrapeConfig struct {
	Spec struct {
		HonorLabels bool                `json:"honorLabels"`
		Params      map[string][]string `json:"params"`
		Relabelings []relabeling        `json:"relabelings"`
	} `json:"spec"`
}

// monitored is what Prometheus and Plutono get from one chart.
type monitored struct {
	alerts   []alert
	monitors []serviceMonitor
	// federated are what the Prometheus that has the alerts gets from others.
	federated []scrapeConfig
	// readers are the names of the Prometheis that read alerts.
	readers []string
	// queries are those of dashboards, and sources are where they are asked.
	queries, sources []string
}

// expressions are those of the dashboards and of the alerts.
func (m monitored) expressions() []string {
	result := slices.Clone(m.queries)
	for _, a := range m.alerts {
		result = append(result, a.Expr)
	}
	return result
}

// packed is what the chart in a folder has, which Gardener installs.
func packed(chart string, values map[string]any) monitored {
	GinkgoHelper()
	rendered, err := rendering.Packed(filepath.Join(landscape.Root(), "charts", filepath.FromSlash(chart)), "provider-hybrid", "check", values)
	Expect(err).NotTo(HaveOccurred())
	objects, err := rendering.Objects(rendered)
	Expect(err).NotTo(HaveOccurred())
	return of(objects)
}

func of(objects []*unstructured.Unstructured) monitored {
	GinkgoHelper()
	found := monitored{}
	decode := func(o *unstructured.Unstructured, into any) {
		GinkgoHelper()
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into)).To(Succeed(), o.GetName())
	}
	for _, o := range objects {
		switch o.GetKind() {
		case "PrometheusRule":
			rule := prometheusRule{}
			decode(o, &rule)
			found.readers = append(found.readers, o.GetLabels()["prometheus"])
			for _, group := range rule.Spec.Groups {
				found.alerts = append(found.alerts, group.Rules...)
			}
		case "ServiceMonitor":
			monitor := serviceMonitor{}
			decode(o, &monitor)
			found.monitors = append(found.monitors, monitor)
		case "ScrapeConfig":
			Expect(o.GetLabels()).To(HaveKeyWithValue("prometheus", "aggregate"))
			config := scrapeConfig{}
			decode(o, &config)
			found.federated = append(found.federated, config)
		case "ConfigMap":
			config := corev1.ConfigMap{}
			decode(o, &config)
			queries, sources := queriesOf(config)
			found.queries, found.sources = append(found.queries, queries...), append(found.sources, sources...)
		}
	}
	return found
}

// queriesOf are the queries of the dashboards in a ConfigMap, and the data sources that they name; "" is that of Plutono.
func queriesOf(config corev1.ConfigMap) (queries, sources []string) {
	GinkgoHelper()
	for label := range config.Labels {
		if !strings.HasPrefix(label, "dashboard.monitoring.gardener.cloud/") {
			continue
		}
		dashboards, err := rendering.Dashboards(&config)
		Expect(err).NotTo(HaveOccurred())
		Expect(dashboards).To(HaveLen(len(config.Data)), config.Name)
		for _, d := range dashboards {
			Expect(d.Title).NotTo(BeEmpty(), config.Name)
			Expect(d.UID).NotTo(BeEmpty(), d.Title)
			for _, panel := range d.Panels {
				Expect(panel.Targets).NotTo(BeEmpty(), panel.Title)
				sources = append(sources, ptr.Deref(panel.Datasource, ""))
			}
			for _, variable := range d.Templating.List {
				sources = append(sources, ptr.Deref(variable.Datasource, ""))
			}
			queries = append(queries, d.Queries()...)
		}
	}
	return queries, sources
}
