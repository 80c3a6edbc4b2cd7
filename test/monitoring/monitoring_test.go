// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	mcmmetrics "github.com/gardener/machine-controller-manager/pkg/util/provider/metrics"
	mdns "github.com/miekg/dns"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// runbook is where each alert is explained.
const runbook = "docs/operations/runbook.md"

// charts are what is monitored.
var charts = map[string]func() monitored{
	"the extension in a seed": func() monitored { return packed("gardener-extension-provider-hybrid", nil) },
	"the extension in a garden": func() monitored {
		return packed("gardener-extension-provider-hybrid",
			map[string]any{"gardener": map[string]any{"runtimeCluster": map[string]any{"enabled": true}}})
	},
	"the webhooks in a garden": func() monitored { return packed("gardener-extension-admission-hybrid/charts/runtime", nil) },
	"the control plane of a shoot": func() monitored {
		GinkgoHelper()
		var objects []*unstructured.Unstructured
		for _, file := range []string{
			"pkg/controller/controlplane/testdata/seed.yaml",
			"pkg/platform/openstack/controlplane/testdata/seed-controlplane.yaml",
			"pkg/platform/openstack/controlplane/testdata/seed-controlplane-shares.yaml",
			"pkg/platform/vsphere/controlplane/testdata/seed-controlplane.yaml",
		} {
			rendered, err := os.ReadFile(filepath.Join(landscape.Root(), filepath.FromSlash(file)))
			Expect(err).NotTo(HaveOccurred())
			decoded, err := rendering.Objects(string(rendered))
			Expect(err).NotTo(HaveOccurred())
			objects = append(objects, decoded...)
		}
		return of(objects)
	},
}

// federation is a selector of a job and of metrics.
var federation = regexp.MustCompile(`^\{job="([^"]+)",__name__=~"([^"]+)"\}$`)

// bucket is a selector of one bucket of how long webhooks take.
var bucket = regexp.MustCompile(`controller_runtime_webhook_latency_seconds_bucket\{[^}]*\ble=~"([^"]+)"`)

// failures is a selector of the extension's requests to sites by their codes.
var failures = regexp.MustCompile(
	`hybrid_site_request_duration_seconds_count\{job="gardener-extension-provider-hybrid[^}]*\bcode=~"([^"]+)"`)

var (
	name      = regexp.MustCompile(`fqName: "([^"]+)"`)
	variables = regexp.MustCompile(`variableLabels: {([^}]*)}`)
)

// bounded are the labels that metrics of ours may have, whose values are as many as there are shoots, sites, zones, machine types, pools,
// buckets and their entries, or a fixed list.
var bounded = []string{"shoot_namespace", "site", "platform", "from_site", "to_site", "zone", "machine_type", "pool", "bucket",
	"backup_entry", "api", "method", "code", "reason", "phase", "state", "kind"}

// ofTargets are the labels that Prometheus Operator gives to targets. A metric with such a label has it as exported_<label>, so that
// queries for it find that of the target.
var ofTargets = []string{"job", "instance", "namespace", "service", "pod", "container", "endpoint", "node"}

// boundaries are the buckets of how long webhooks take, as Prometheus names them. A webhook has them when it was called.
func boundaries() []string {
	GinkgoHelper()
	server := webhook.NewServer(webhook.Options{})
	server.Register("/some", http.NotFoundHandler())
	server.WebhookMux().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/some", nil))
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, family := range families {
		if family.GetName() == "controller_runtime_webhook_latency_seconds" {
			for _, b := range family.GetMetric()[0].GetHistogram().GetBucket() {
				names = append(names, strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64))
			}
		}
	}
	return names
}

// existing are the metrics that the binaries have, with their labels, by their names.
func existing() map[string][]string {
	GinkgoHelper()
	mgr, err := manager.New(&rest.Config{Host: "https://127.0.0.1:1"},
		manager.Options{Scheme: landscape.Scheme, Metrics: server.Options{BindAddress: "0"}})
	Expect(err).NotTo(HaveOccurred())
	Expect(sitehealth.AddToManagerWithOptions(mgr, sitehealth.AddOptions{})).To(Succeed())
	registry, ok := metrics.Registry.(prometheus.Collector)
	Expect(ok).To(BeTrue())

	names := map[string][]string{}
	for _, collector := range []prometheus.Collector{
		registry, platform.RequestDuration, platform.Hosts, platform.FreeHosts, mcmmetrics.DriverAPIRequestDuration,
		mcmmetrics.DriverFailedAPIRequests, machine.BirthDuration,
	} {
		descriptions := make(chan *prometheus.Desc)
		go func() {
			defer close(descriptions)
			collector.Describe(descriptions)
		}()
		for description := range descriptions {
			match := name.FindStringSubmatch(description.String())
			Expect(match).To(HaveLen(2), description.String())
			labels := []string{}
			if found := variables.FindStringSubmatch(description.String()); found[1] != "" {
				labels = strings.Split(found[1], ",")
			}
			for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
				names[match[1]+suffix] = labels
			}
		}
	}
	return names
}

var _ = Describe("Monitoring", Ordered, func() {
	var known map[string][]string

	BeforeAll(func() { known = existing() })

	for _, chart := range slices.Sorted(maps.Keys(charts)) {
		It("should ask for metrics that exist and are scraped: "+chart, func() {
			m := charts[chart]()
			Expect(m.alerts).NotTo(BeEmpty())
			kept := map[string][]*regexp.Regexp{}
			for _, monitor := range m.monitors {
				for job, expressions := range monitor.kept() {
					kept[job] = append(kept[job], expressions...)
				}
			}
			for _, query := range m.expressions() {
				used := seriesOf(query)
				Expect(used).NotTo(BeEmpty(), query)
				for _, selected := range used {
					if len(selected.jobs) == 0 {
						selected.jobs = slices.Collect(maps.Keys(kept))
					}
					for _, job := range selected.jobs {
						Expect(kept).To(HaveKey(job), query)
					}
					if selected.metric == "up" {
						continue
					}
					Expect(known).To(HaveKey(selected.metric), query)
					Expect(slices.ContainsFunc(selected.jobs, func(job string) bool {
						return slices.ContainsFunc(kept[job], func(r *regexp.Regexp) bool { return r.MatchString(selected.metric) })
					})).To(BeTrue(), "%s is dropped: %s", selected.metric, query)
				}
			}
		})
	}

	It("should ask for buckets that exist", func() {
		found := boundaries()
		var asked int
		for _, chart := range slices.Sorted(maps.Keys(charts)) {
			for _, query := range charts[chart]().expressions() {
				for _, match := range bucket.FindAllStringSubmatch(query, -1) {
					asked++
					Expect(found).To(ContainElement(MatchRegexp("^("+match[1]+")$")), query)
				}
			}
		}
		Expect(asked).To(Equal(3), "two alerts and a dashboard")
	})

	It("should see what DNS servers refuse, whose codes are not those of HTTP", func() {
		var asked int
		for _, chart := range slices.Sorted(maps.Keys(charts)) {
			for _, query := range charts[chart]().expressions() {
				for _, match := range failures.FindAllStringSubmatch(query, -1) {
					asked++
					for _, rcode := range []int{mdns.RcodeNotAuth, mdns.RcodeRefused, mdns.RcodeServerFailure} {
						Expect(mdns.RcodeToString[rcode]).To(MatchRegexp("^("+match[1]+")$"), query)
					}
					Expect(mdns.RcodeToString[mdns.RcodeSuccess]).NotTo(MatchRegexp("^("+match[1]+")$"), query)
				}
			}
		}
		Expect(asked).To(Equal(3), "two alerts and a dashboard")
	})

	It("should tell the Prometheus of a seed that notifies all that its alerts ask for", func() {
		m := charts["the extension in a seed"]()
		Expect(m.readers).To(ConsistOf("aggregate"), "prometheus-seed notifies nobody")
		Expect(m.federated).To(HaveLen(1))
		Expect(m.federated[0].Spec.HonorLabels).To(BeTrue(), "alerts and queries name the job")
		Expect(m.federated[0].Spec.Params["match[]"]).To(HaveLen(1))
		match := federation.FindStringSubmatch(m.federated[0].Spec.Params["match[]"][0])
		Expect(match).NotTo(BeNil())
		for _, a := range m.alerts {
			for _, used := range seriesOf(a.Expr) {
				Expect(used.metric).To(MatchRegexp("^("+match[2]+")$"), a.Alert)
				if len(used.jobs) > 0 {
					Expect(used.jobs).To(ConsistOf(match[1]), a.Alert)
				}
			}
		}
		Expect(charts["the extension in a garden"]().readers).To(ConsistOf("garden"))
		Expect(charts["the extension in a garden"]().federated).To(BeEmpty())
	})

	It("should ask the Prometheus that has the metrics for what dashboards show", func() {
		Expect(charts["the extension in a seed"]().sources).To(And(Not(BeEmpty()), HaveEach("prometheus-seed")),
			"Plutono's own is the aggregate Prometheus")
		Expect(charts["the control plane of a shoot"]().sources).To(And(Not(BeEmpty()), HaveEach("")), "Plutono's own is that of the shoot")
	})

	It("should explain each alert, and no other", func() {
		content, err := os.ReadFile(filepath.Join(landscape.Root(), filepath.FromSlash(runbook)))
		Expect(err).NotTo(HaveOccurred())
		var explained, alerts []string
		for line := range strings.Lines(string(content)) {
			if heading, ok := strings.CutPrefix(line, "### "); ok {
				explained = append(explained, strings.TrimSpace(heading))
			}
		}
		for _, chart := range slices.Sorted(maps.Keys(charts)) {
			for _, a := range charts[chart]().alerts {
				alerts = append(alerts, a.Alert)
				Expect(a.Annotations).To(HaveKeyWithValue("runbook_url",
					"https://github.com/gardener/gardener-extension-provider-hybrid/blob/main/"+runbook+"#"+strings.ToLower(a.Alert)), a.Alert)
				Expect(a.Annotations).To(And(HaveKeyWithValue("summary", Not(BeEmpty())), HaveKeyWithValue("description", Not(BeEmpty()))), a.Alert)
				Expect(a.Labels).To(HaveKeyWithValue("severity", BeElementOf("warning", "critical")), a.Alert)
				Expect(a.Labels).To(HaveKeyWithValue("type", BeElementOf("seed", "garden")), a.Alert)
				Expect(a.Labels).To(HaveKeyWithValue("visibility", BeElementOf("operator", "all")), a.Alert)
				Expect(a.Labels).To(HaveKeyWithValue("service", Not(BeEmpty())), a.Alert)
				Expect(a.For).NotTo(BeEmpty(), a.Alert)
			}
		}
		slices.Sort(alerts)
		Expect(explained).To(ConsistOf(slices.Compact(alerts)))
	})

	It("should have labels with a bounded number of values", func() {
		var ours int
		for metric, labels := range known {
			if strings.HasPrefix(metric, "hybrid_") {
				ours++
				Expect(bounded).To(ContainElements(labels), metric)
				Expect(labels).NotTo(ContainElement(BeElementOf(ofTargets)), metric)
			}
		}
		Expect(ours).To(BeNumerically(">", 30))
	})

	It("should describe each metric of ours", func() {
		content, err := os.ReadFile(filepath.Join(landscape.Root(), "docs/operations/metrics.md"))
		Expect(err).NotTo(HaveOccurred())
		for metric := range known {
			if strings.HasPrefix(metric, "hybrid_") && !strings.HasSuffix(metric, "_bucket") && !strings.HasSuffix(metric, "_sum") &&
				!strings.HasSuffix(metric, "_count") {
				Expect(string(content)).To(ContainSubstring("`" + metric + "`"))
			}
		}
	})
})
