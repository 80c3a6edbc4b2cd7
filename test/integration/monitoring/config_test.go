// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/gomega"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// The parts of Prometheus' configuration that are needed, see https://prometheus.io/docs/prometheus/latest/configuration/configuration/.
type (
	config struct {
		Global        globals        `json:"global"`
		RuleFiles     []string       `json:"rule_files,omitempty"`
		ScrapeConfigs []scrapeConfig `json:"scrape_configs"`
	}
	globals struct {
		ScrapeInterval     string            `json:"scrape_interval"`
		ScrapeTimeout      string            `json:"scrape_timeout"`
		EvaluationInterval string            `json:"evaluation_interval"`
		ExternalLabels     map[string]string `json:"external_labels,omitempty"`
	}
	scrapeConfig struct {
		JobName              string              `json:"job_name"`
		HonorLabels          bool                `json:"honor_labels"`
		HonorTimestamps      bool                `json:"honor_timestamps"`
		MetricsPath          string              `json:"metrics_path"`
		Params               map[string][]string `json:"params,omitempty"`
		Scheme               string              `json:"scheme"`
		TLS                  *tlsConfig          `json:"tls_config,omitempty"`
		Authorization        *authorization      `json:"authorization,omitempty"`
		StaticConfigs        []target            `json:"static_configs"`
		RelabelConfigs       []relabeling        `json:"relabel_configs"`
		MetricRelabelConfigs []relabeling        `json:"metric_relabel_configs,omitempty"`
	}
	tlsConfig struct {
		CA         string `json:"ca"`
		ServerName string `json:"server_name"`
	}
	authorization struct {
		Credentials string `json:"credentials"`
	}
	target struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	relabeling struct {
		SourceLabels []string `json:"source_labels,omitempty"`
		TargetLabel  string   `json:"target_label,omitempty"`
		Regex        string   `json:"regex,omitempty"`
		Replacement  *string  `json:"replacement,omitempty"`
		Action       string   `json:"action,omitempty"`
	}
)

// relabelings are those of an object, as Prometheus' configuration has them.
func relabelings(from []monitoringv1.RelabelConfig) []relabeling {
	var to []relabeling
	for _, r := range from {
		var sources []string
		for _, label := range r.SourceLabels {
			sources = append(sources, string(label))
		}
		to = append(to, relabeling{sources, r.TargetLabel, r.Regex, r.Replacement, strings.ToLower(r.Action)})
	}
	return to
}

// invalid are the characters that labels of Kubernetes have and those of Prometheus do not.
var invalid = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// serviceLabels are the labels that service discovery gives to a target for a Service.
func serviceLabels(service *corev1.Service) map[string]string {
	labels := map[string]string{"__meta_kubernetes_namespace": service.Namespace, "__meta_kubernetes_service_name": service.Name}
	for key, value := range service.Labels {
		key = invalid.ReplaceAllString(key, "_")
		labels["__meta_kubernetes_service_label_"+key] = value
		labels["__meta_kubernetes_service_labelpresent_"+key] = "true"
	}
	return labels
}

// addresses are those of the ports of Services by the name of the Service, and by the name of the port.
type addresses map[string]map[string]string

// targets are the endpoints of Services, as service discovery finds them. ServiceMonitors choose among all of them.
func (a addresses) targets(services []*corev1.Service) []target {
	var all []target
	for _, service := range services {
		for _, port := range service.Spec.Ports {
			address := a[service.Name][port.Name]
			Expect(address).NotTo(BeEmpty(), "%s of %s", port.Name, service.Name)
			labels := serviceLabels(service)
			labels["__meta_kubernetes_endpoint_port_name"] = port.Name
			all = append(all, target{Targets: []string{address}, Labels: labels})
		}
	}
	return all
}

// scrape are the scrape configurations that Prometheus Operator makes of a ServiceMonitor. Secrets have the given content by their keys.
func scrape(monitor *monitoringv1.ServiceMonitor, targets []target, secrets map[string]string) []scrapeConfig {
	var all []scrapeConfig
	for i, endpoint := range monitor.Spec.Endpoints {
		c := scrapeConfig{
			JobName: fmt.Sprintf("serviceMonitor/%s/%s/%d", monitor.Namespace, monitor.Name, i), HonorLabels: endpoint.HonorLabels,
			HonorTimestamps: ptr.Deref(endpoint.HonorTimestamps, true), MetricsPath: "/metrics", Scheme: "http", StaticConfigs: targets,
			MetricRelabelConfigs: relabelings(endpoint.MetricRelabelConfigs),
		}
		if endpoint.Scheme != nil {
			c.Scheme = strings.ToLower(endpoint.Scheme.String())
		}
		if tls := endpoint.TLSConfig; tls != nil {
			c.TLS = &tlsConfig{CA: secrets[tls.CA.Secret.Key], ServerName: ptr.Deref(tls.ServerName, "")}
		}
		if endpoint.Authorization != nil {
			c.Authorization = &authorization{Credentials: secrets[endpoint.Authorization.Credentials.Key]}
		}
		for key, value := range monitor.Spec.Selector.MatchLabels {
			key = invalid.ReplaceAllString(key, "_")
			c.RelabelConfigs = append(c.RelabelConfigs, relabeling{Action: "keep", Regex: "(" + regexp.QuoteMeta(value) + ");true",
				SourceLabels: []string{"__meta_kubernetes_service_label_" + key, "__meta_kubernetes_service_labelpresent_" + key}})
		}
		c.RelabelConfigs = append(c.RelabelConfigs,
			relabeling{Action: "keep", Regex: endpoint.Port, SourceLabels: []string{"__meta_kubernetes_endpoint_port_name"}},
			relabeling{SourceLabels: []string{"__meta_kubernetes_namespace"}, TargetLabel: "namespace"},
			relabeling{SourceLabels: []string{"__meta_kubernetes_service_name"}, TargetLabel: "service"},
			relabeling{SourceLabels: []string{"__meta_kubernetes_service_name"}, TargetLabel: "job"},
			relabeling{TargetLabel: "endpoint", Replacement: &endpoint.Port},
		)
		c.RelabelConfigs = append(c.RelabelConfigs, relabelings(endpoint.RelabelConfigs)...)
		all = append(all, c)
	}
	return all
}

// federate is the scrape configuration that Prometheus Operator makes of a ScrapeConfig.
func federate(s *monitoringv1alpha1.ScrapeConfig, targets []target) scrapeConfig {
	return scrapeConfig{
		JobName: "scrapeConfig/" + s.Namespace + "/" + s.Name, HonorLabels: ptr.Deref(s.Spec.HonorLabels, false),
		HonorTimestamps: ptr.Deref(s.Spec.HonorTimestamps, true), MetricsPath: ptr.Deref(s.Spec.MetricsPath, "/metrics"),
		Params: s.Spec.Params, Scheme: "http", StaticConfigs: targets, RelabelConfigs: relabelings(s.Spec.RelabelConfigs),
	}
}

var (
	// ranges are the ranges of a query.
	ranges = regexp.MustCompile(`\[(\d+)([mh])\]`)
	// ages are the seconds that rules compare an age with.
	ages = regexp.MustCompile(`(_seconds\S*\)) > (\d+)$`)
	// latencies are the seconds that rules compare the duration of requests with.
	latencies = regexp.MustCompile(`^(histogram_quantile\(.+\)) > (\d+)$`)
	minutes   = map[string]int{"m": 1, "h": 60}
)

// faster makes a minute of a query a second: in its ranges, and in the ages that it compares with. The durations of requests that it
// compares with become a tenth, because a request of 10 seconds would be longer than a range.
func faster(query string) string {
	query = ranges.ReplaceAllStringFunc(strings.TrimSpace(query), func(text string) string {
		match := ranges.FindStringSubmatch(text)
		n, err := strconv.Atoi(match[1])
		Expect(err).NotTo(HaveOccurred(), query)
		return fmt.Sprintf("[%ds]", n*minutes[match[2]])
	})
	return ages.ReplaceAllString(latencies.ReplaceAllString(query, "$1 > $2 / 10"), "$1 > $2 / 60")
}

// fasterRules are the rules of PrometheusRules in which each minute is a second.
func fasterRules(rules []*monitoringv1.PrometheusRule) monitoringv1.PrometheusRuleSpec {
	var all monitoringv1.PrometheusRuleSpec
	for _, object := range rules {
		for _, group := range object.DeepCopy().Spec.Groups {
			for i := range group.Rules {
				rule := &group.Rules[i]
				match := ranges.FindStringSubmatch("[" + string(ptr.Deref(rule.For, "")) + "]")
				Expect(match).NotTo(BeNil(), rule.Alert)
				n, err := strconv.Atoi(match[1])
				Expect(err).NotTo(HaveOccurred(), rule.Alert)
				rule.For = new(monitoringv1.Duration(fmt.Sprintf("%ds", n*minutes[match[2]])))
				rule.Expr.StrVal = faster(rule.Expr.StrVal)
			}
			all.Groups = append(all.Groups, group)
		}
	}
	slices.SortFunc(all.Groups, func(a, b monitoringv1.RuleGroup) int { return strings.Compare(a.Name, b.Name) })
	return all
}
