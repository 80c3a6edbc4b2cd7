// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

const (
	// extension is the job of the extension in a seed.
	extension = "gardener-extension-provider-hybrid"
	// healthyMinutes is how long everything is well before the fault, and long enough for each range.
	healthyMinutes = 20
	// lookback is how long Prometheus uses the last value of a series that has ended.
	lookback = 5
	// faultyMinutes is how much longer than `for` the fault lasts.
	faultyMinutes = 30
	// recoveredMinutes is how long everything is well after the fault.
	recoveredMinutes = 40
)

// values are the values of a series, one each minute, with a fault of so many minutes in them.
type values func(minutes int) string

// gauge is a gauge; "_" stands for a series that does not exist.
func gauge(healthy, faulty string) values {
	times := func(value string, minutes int) string {
		if value != "_" {
			minutes-- // the value itself is the first
		}
		return fmt.Sprintf("%sx%d", value, minutes)
	}
	return func(minutes int) string {
		return strings.Join([]string{times(healthy, healthyMinutes), times(faulty, minutes), times(healthy, recoveredMinutes)}, " ")
	}
}

// counter is a counter with its increases per minute.
func counter(healthy, faulty int) values {
	return func(minutes int) string {
		began := healthy * healthyMinutes
		ended := began + faulty*minutes
		return fmt.Sprintf("0+%dx%d %d+%dx%d %d+%dx%d", healthy, healthyMinutes-1, began, faulty, minutes-1, ended, healthy, recoveredMinutes)
	}
}

// fault is what makes an alert fire.
type fault struct {
	alert string
	// name is what has happened.
	name   string
	series map[string]values
	// labels are those of the only firing alert, without those of the rule.
	labels map[string]string
	// minutes is how long it takes at most until the expression sees the fault, and its end: the range of the expression.
	minutes int
}

// shootSite selects a series of a site of a shoot.
func shootSite(metric, site, more string) string {
	return fmt.Sprintf(`%s{job="gardener-extension-provider-hybrid",shoot_namespace="shoot--a--b",site=%q%s}`, metric, site, more)
}

// reconciliations selects a series of the reconciliations of a controller of the extension.
func reconciliations(controller, result string) string {
	return fmt.Sprintf(`controller_runtime_reconcile_total{job=%q,controller=%q,result=%q}`, extension, controller, result)
}

// requests selects a series of the requests to a site.
func requests(suffix, job, site, more string) string {
	return fmt.Sprintf(`hybrid_site_request_duration_seconds_%s{job=%q,site=%q,api="compute",method="GET"%s}`, suffix, job, site, more)
}

// down is the end of all replicas of a job while a replica of another one runs.
func down(alert, job, endpoint string) fault {
	return fault{alert: alert, name: "all replicas are down", series: map[string]values{
		fmt.Sprintf(`up{job=%q,endpoint=%q,instance="a"}`, job, endpoint): gauge("1", "0"),
		fmt.Sprintf(`up{job=%q,endpoint=%q,instance="b"}`, job, endpoint): gauge("1", "0"),
		`up{job="other",endpoint="metrics"}`:                              gauge("1", "1"),
	}}
}

// gone is the end of a job that Prometheus does not know any longer.
func gone(alert, job, endpoint string) fault {
	return fault{alert: alert, name: "no replica is known", minutes: lookback, series: map[string]values{
		fmt.Sprintf(`up{job=%q,endpoint=%q}`, job, endpoint): gauge("1", "_"),
	}}
}

// failing is a site most of whose requests fail, beside one of which a third does.
func failing(alert, job, code string, labels map[string]string) fault {
	return fault{alert: alert, name: "two of three requests to a site fail with " + code,
		labels: labels, minutes: 10, series: map[string]values{
			requests("count", job, "cloud", `,code="200"`):                 counter(60, 20),
			requests("count", job, "cloud", fmt.Sprintf(`,code=%q`, code)): counter(0, 40),
			requests("count", job, "vc", `,code="200"`):                    counter(40, 40),
			requests("count", job, "vc", fmt.Sprintf(`,code=%q`, code)):    counter(20, 20),
		}}
}

// slow is a site one of whose 10 requests takes 30 seconds, beside one with 2 seconds.
func slow(alert, job string, labels map[string]string) fault {
	return fault{alert: alert, name: "every tenth request to a site takes 30 seconds",
		labels: labels, minutes: 10, series: map[string]values{
			requests("bucket", job, "cloud", `,code="200",le="2.5"`):  counter(60, 54),
			requests("bucket", job, "cloud", `,code="200",le="10"`):   counter(60, 54),
			requests("bucket", job, "cloud", `,code="200",le="30"`):   counter(60, 60),
			requests("bucket", job, "cloud", `,code="200",le="+Inf"`): counter(60, 60),
			requests("bucket", job, "vc", `,code="200",le="2.5"`):     counter(60, 60),
			requests("bucket", job, "vc", `,code="200",le="10"`):      counter(60, 60),
			requests("bucket", job, "vc", `,code="200",le="30"`):      counter(60, 60),
			requests("bucket", job, "vc", `,code="200",le="+Inf"`):    counter(60, 60),
		}}
}

// webhooks are the faults of the webhooks of a job.
func webhooks(prefix, job string) []fault {
	series := func(metric, webhook, more string) string {
		return fmt.Sprintf(`controller_runtime_webhook_%s{job=%q,webhook=%q%s}`, metric, job, webhook, more)
	}
	labels := map[string]string{"webhook": "/one"}
	return []fault{
		{alert: prefix + "Failing", name: "one request of a minute fails",
			labels: labels, minutes: 10, series: map[string]values{
				series("requests_total", "/one", `,code="200"`): counter(60, 59),
				series("requests_total", "/one", `,code="500"`): counter(0, 1),
				series("requests_total", "/two", `,code="200"`): counter(60, 60),
			}},
		{alert: prefix + "Failing", name: "one request of a minute panics",
			labels: labels, minutes: 10, series: map[string]values{
				series("panics_total", "/one", ""): counter(0, 1),
				series("panics_total", "/two", ""): counter(0, 0),
			}},
		{alert: prefix + "Slow", name: "every sixth request takes longer than a second",
			labels: labels, minutes: 10, series: map[string]values{
				series("latency_seconds_bucket", "/one", `,le="1"`): counter(60, 50),
				series("latency_seconds_count", "/one", ""):         counter(60, 60),
				series("latency_seconds_bucket", "/two", `,le="1"`): counter(60, 59),
				series("latency_seconds_count", "/two", ""):         counter(60, 60),
			}},
	}
}

// faults has at least one fault for each alert. Each has series beside it that must not make the alert fire, such as another site's.
var faults = map[string][]fault{
	"the extension in a seed": slices.Concat([]fault{
		{alert: "HybridSiteUnreachable", name: "a site does not answer a shoot",
			labels: map[string]string{"site": "cloud"}, minutes: lookback, series: map[string]values{
				shootSite("hybrid_site_unavailable_reason", "cloud", `,reason="SiteUnreachable"`): gauge("_", "1"),
				shootSite("hybrid_site_unavailable_reason", "hall", `,reason="SiteUnauthorized"`): gauge("1", "1"),
			}},
		{alert: "HybridSiteRefusesShoot", name: "a site rejects the credentials of a shoot", minutes: lookback,
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "cloud", "reason": "SiteUnauthorized"},
			series: map[string]values{
				shootSite("hybrid_site_unavailable_reason", "cloud", `,reason="SiteUnauthorized"`): gauge("_", "1"),
				shootSite("hybrid_site_unavailable_reason", "vc", `,reason="SiteUnreachable"`):     gauge("1", "1"),
			}},
		{alert: "HybridSiteRefusesShoot", name: "a site cannot be probed with the configuration of a shoot", minutes: lookback,
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "cloud", "reason": "SiteMisconfigured"},
			series: map[string]values{
				shootSite("hybrid_site_unavailable_reason", "cloud", `,reason="SiteMisconfigured"`): gauge("_", "1"),
			}},
		{alert: "HybridSiteQuotaAlmostUsedUp", name: "91 of 100 cores of a quota are used",
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "cloud", "resource": "cores"},
			series: map[string]values{
				shootSite("hybrid_site_quota_cores_used", "cloud", ""):    gauge("90", "91"),
				shootSite("hybrid_site_quota_cores_limit", "cloud", ""):   gauge("100", "100"),
				shootSite("hybrid_site_quota_servers_used", "cloud", ""):  gauge("0", "0"),
				shootSite("hybrid_site_quota_servers_limit", "cloud", ""): gauge("0", "0"),
			}},
		{alert: "HybridSiteQuotaAlmostUsedUp", name: "nearly all memory of a quota is used",
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "cloud", "resource": "memory"},
			series: map[string]values{
				shootSite("hybrid_site_quota_memory_used_bytes", "cloud", ""):  gauge("1000", "66000000000"),
				shootSite("hybrid_site_quota_memory_limit_bytes", "cloud", ""): gauge("68719476736", "68719476736"),
			}},
		{alert: "HybridSiteQuotaAlmostUsedUp", name: "the last server of a quota is used",
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "cloud", "resource": "servers"},
			series: map[string]values{
				shootSite("hybrid_site_quota_servers_used", "cloud", ""):  gauge("4", "5"),
				shootSite("hybrid_site_quota_servers_limit", "cloud", ""): gauge("5", "5"),
			}},
		{alert: "HybridSiteWithoutRoom", name: "two machines wait for capacity",
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "cloud", "reason": "SiteExhausted"},
			series: map[string]values{
				shootSite("hybrid_machines_without_room", "cloud", `,reason="SiteExhausted"`): gauge("0", "2"),
				shootSite("hybrid_machines_without_room", "vc", `,reason="SiteExhausted"`):    gauge("0", "0"),
			}},
		{alert: "HybridSiteNotWatched", name: "the inventory of a site cannot be watched",
			labels: map[string]string{"site": "racks"}, series: map[string]values{
				shootSite("hybrid_site_watched", "racks", ""): gauge("1", "0"),
				shootSite("hybrid_site_watched", "hall", ""):  gauge("1", "1"),
			}},
		{alert: "HybridSitesFailing", name: "a site has not been reconciled for an hour",
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "kind": "Infrastructure", "reason": "SitesStay"},
			series: map[string]values{
				shootSite("hybrid_sites_failing_seconds", "", `,kind="Infrastructure",reason="SitesStay"`):      gauge("3600", "3601"),
				shootSite("hybrid_sites_failing_seconds", "", `,kind="Infrastructure",reason="DeletionFailed"`): gauge("10", "10"),
			}},
		{alert: "HybridSiteQuarantined", name: "a site is quarantined",
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "cloud"}, series: map[string]values{
				shootSite("hybrid_site_quarantined", "cloud", ""): gauge("0", "1"),
				shootSite("hybrid_site_quarantined", "vc", ""):    gauge("0", "0"),
			}},
		{alert: "HybridCloudProfileDrift", name: "a site lacks an entry of the CloudProfile",
			labels: map[string]string{"site": "cloud", "state": "Missing"}, series: map[string]values{
				shootSite("hybrid_cloudprofile_differences", "cloud", `,state="Missing"`): gauge("0", "1"),
				shootSite("hybrid_cloudprofile_differences", "cloud", `,state="Changed"`): gauge("0", "0"),
			}},
		{alert: "HybridMachinesStuck", name: "a machine has been pending for an hour",
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "cloud", "phase": "Pending"},
			series: map[string]values{
				shootSite("hybrid_machines_longest_wait_seconds", "cloud", `,phase="Pending"`): gauge("3600", "3601"),
				shootSite("hybrid_machines_longest_wait_seconds", "cloud", `,phase="Failed"`):  gauge("9999", "9999"),
				shootSite("hybrid_machines_longest_wait_seconds", "vc", `,phase="Pending"`):    gauge("60", "60"),
			}},
		{alert: "HybridMachinesFailed", name: "a machine is in CrashLoopBackOff",
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "cloud", "phase": "CrashLoopBackOff"},
			series: map[string]values{
				shootSite("hybrid_machines", "cloud", `,phase="CrashLoopBackOff"`): gauge("0", "1"),
				shootSite("hybrid_machines", "cloud", `,phase="Running"`):          gauge("3", "2"),
			}},
		{alert: "HybridMachinesMissing", name: "one of three machines does not run",
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "cloud"},
			series: map[string]values{
				shootSite("hybrid_machines_wanted", "cloud", ""):          gauge("3", "3"),
				shootSite("hybrid_machines", "cloud", `,phase="Running"`): gauge("3", "2"),
				shootSite("hybrid_machines_wanted", "vc", ""):             gauge("2", "2"),
				shootSite("hybrid_machines", "vc", `,phase="Running"`):    gauge("2", "2"),
				shootSite("hybrid_machines_wanted", "racks", ""):          gauge("0", "0"),
			}},
		{alert: "HybridMachinesMissing", name: "none of three machines runs",
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "cloud"}, minutes: lookback,
			series: map[string]values{
				shootSite("hybrid_machines_wanted", "cloud", ""):          gauge("3", "3"),
				shootSite("hybrid_machines", "cloud", `,phase="Running"`): gauge("3", "_"),
			}},
		{alert: "HybridMachinesFaulty", name: "a host reports a fault",
			labels: map[string]string{"shoot_namespace": "shoot--a--b", "site": "racks"}, series: map[string]values{
				shootSite("hybrid_machines_faulty", "racks", ""): gauge("0", "1"),
				shootSite("hybrid_machines_faulty", "hall", ""):  gauge("0", "0"),
			}},
		{alert: "HybridReconciliationsFailing", name: "two of three reconciliations of a controller fail",
			labels: map[string]string{"controller": "worker"}, minutes: 15, series: map[string]values{
				reconciliations("worker", "success"):  counter(60, 20),
				reconciliations("worker", "error"):    counter(0, 40),
				reconciliations("bastion", "success"): counter(40, 40),
				reconciliations("bastion", "error"):   counter(20, 20),
			}},
		down("HybridExtensionDown", extension, "metrics"),
		gone("HybridExtensionDown", extension, "metrics"),
		failing("HybridSiteRequestsFailing", extension, "503", map[string]string{"site": "cloud"}),
		failing("HybridSiteRequestsFailing", extension, "error", map[string]string{"site": "cloud"}),
		failing("HybridSiteRequestsFailing", extension, "REFUSED", map[string]string{"site": "cloud"}),
		slow("HybridSiteRequestsSlow", extension, map[string]string{"site": "cloud", "api": "compute"}),
	}, webhooks("HybridWebhook", extension)),
	"the extension in a garden": {
		down("HybridGardenExtensionDown", extension+"-runtime", "metrics"),
		failing("HybridGardenDNSRequestsFailing", extension+"-runtime", "SERVFAIL", map[string]string{"site": "cloud"}),
	},
	"the webhooks in a garden": append(webhooks("HybridAdmission", "gardener-extension-admission-hybrid"),
		down("HybridAdmissionDown", "gardener-extension-admission-hybrid", "metrics")),
	"the control plane of a shoot": {
		down("CloudControllerManagerDown", "cloud-controller-manager", "metrics"),
		down("MachineDriverDown", "machine-controller-manager-provider-hybrid", "metrics"),
		down("CSICinderControllerDown", "csi-cinder-controller", "metrics"),
		down("CSIManilaControllerDown", "csi-manila-controller", "metrics"),
		down("CSISnapshotControllerDown", "csi-snapshot-controller", "metrics"),
		down("CSIVSphereControllerDown", "csi-vsphere-controller", "metrics"),
		down("CSIVSphereSyncerDown", "csi-vsphere-controller", "syncer"),
		failing("SiteRequestsFailing", "csi-cinder-controller", "401", map[string]string{"site": "cloud", "job": "csi-cinder-controller"}),
		slow("SiteRequestsSlow", "cloud-controller-manager", map[string]string{"site": "cloud", "job": "cloud-controller-manager"}),
	},
}

// ruleFile is a file with rules of Prometheus.
type ruleFile struct {
	Groups []ruleGroup `json:"groups"`
}

type ruleGroup struct {
	Name  string  `json:"name"`
	Rules []alert `json:"rules"`
}

// The format of unit tests is described at https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/.
type (
	unitTests struct {
		RuleFiles          []string   `json:"rule_files"`
		EvaluationInterval string     `json:"evaluation_interval"`
		Tests              []unitTest `json:"tests"`
	}
	unitTest struct {
		Name        string        `json:"name"`
		Interval    string        `json:"interval"`
		InputSeries []inputSeries `json:"input_series"`
		PromQL      []promQLTest  `json:"promql_expr_test"`
	}
	inputSeries struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	promQLTest struct {
		Expr       string   `json:"expr"`
		EvalTime   string   `json:"eval_time"`
		ExpSamples []sample `json:"exp_samples,omitempty"`
	}
	sample struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
)

// wait returns the minutes of the rule's `for`.
func wait(a alert) int {
	GinkgoHelper()
	pending, err := time.ParseDuration(a.For)
	Expect(err).NotTo(HaveOccurred(), a.Alert)
	return int(pending.Minutes())
}

// fires and stops return after how many minutes of the fault, or after its end, the alert fires or has stopped.
func (f fault) fires(a alert) int { return wait(a) + f.minutes }

func (f fault) stops() int { return max(f.minutes, lookback) + 1 }

// test returns the unit test of a fault: the alert must not fire before the fault has lasted as long as its rule says, must fire with
// exactly these labels then, and must have stopped after the fault.
func (f fault) test(a alert) unitTest {
	GinkgoHelper()
	lasts := wait(a) + faultyMinutes
	t := unitTest{Name: f.alert + ": " + f.name, Interval: "1m"}
	for _, selector := range slices.Sorted(maps.Keys(f.series)) {
		t.InputSeries = append(t.InputSeries, inputSeries{Series: selector, Values: f.series[selector](lasts)})
	}
	labels := maps.Clone(a.Labels)
	maps.Copy(labels, f.labels)
	labels["alertname"], labels["alertstate"] = a.Alert, "firing"
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, fmt.Sprintf("%s=%q", name, labels[name]))
	}
	firing := []sample{{Labels: "ALERTS{" + strings.Join(pairs, ",") + "}", Value: 1}}
	at := func(minute int, samples []sample) {
		t.PromQL = append(t.PromQL, promQLTest{
			Expr: fmt.Sprintf(`ALERTS{alertname=%q,alertstate="firing"}`, a.Alert), EvalTime: fmt.Sprintf("%dm", minute), ExpSamples: samples,
		})
	}
	at(healthyMinutes-1, nil)
	at(healthyMinutes+wait(a)-1, nil)
	at(healthyMinutes+f.fires(a), firing)
	at(healthyMinutes+lasts-1, firing)
	at(healthyMinutes+lasts+f.stops(), nil)
	return t
}

// labelled is a label in the text of an annotation.
var labelled = regexp.MustCompile(`\$labels\.(\w+)`)

var _ = Describe("Alerts", func() {
	for _, chart := range slices.Sorted(maps.Keys(charts)) {
		It("should fire on their faults, not before, and stop afterwards: "+chart, func(ctx SpecContext) {
			m := charts[chart]()
			folder := GinkgoT().TempDir()
			write := func(name string, content any) string {
				GinkgoHelper()
				encoded, err := yaml.Marshal(content)
				Expect(err).NotTo(HaveOccurred())
				path := filepath.Join(folder, name)
				Expect(os.WriteFile(path, encoded, 0o600)).To(Succeed())
				return path
			}
			promtool := func(args ...string) {
				GinkgoHelper()
				output, err := exec.CommandContext(ctx, filepath.Join(landscape.Root(), "hack/bin/promtool"), args...).CombinedOutput()
				Expect(err).NotTo(HaveOccurred(), string(output))
			}

			rules := write("rules.yaml", ruleFile{Groups: []ruleGroup{{Name: "all", Rules: m.alerts}}})
			promtool("check", "rules", "--lint=all", "--lint-fatal", rules)

			alerts := map[string]alert{}
			for _, a := range m.alerts {
				alerts[a.Alert] = a
			}
			shown := sets.Set[string]{}
			tests := unitTests{RuleFiles: []string{"rules.yaml"}, EvaluationInterval: "1m"}
			for _, f := range faults[chart] {
				Expect(alerts).To(HaveKey(f.alert))
				a := alerts[f.alert]
				shown.Insert(f.alert)
				for _, text := range a.Annotations {
					for _, match := range labelled.FindAllStringSubmatch(text, -1) {
						Expect(f.labels).To(HaveKey(match[1]), "%s has no label for: %s", f.alert, text)
					}
				}
				tests.Tests = append(tests.Tests, f.test(a))
			}
			Expect(sets.List(shown)).To(ConsistOf(slices.Collect(maps.Keys(alerts))), "each alert has a fault")
			promtool("test", "rules", write("tests.yaml", tests))
		})
	}

	It("should fire and stop as fast as the document says", func() {
		var b strings.Builder
		b.WriteString(`# How fast alerts fire

The unit tests of the alerts, run by promtool, show each of them with the following faults: it does not fire before the duration in
its rule, it fires and stops within these times, and it does not fire for healthy sites. Scraping adds up to a minute. What to do is in
the [runbook](runbook.md).

| alert | fault | fires within | stops within |
|---|---|---|---|
`)
		for _, chart := range slices.Sorted(maps.Keys(charts)) {
			alerts := map[string]alert{}
			for _, a := range charts[chart]().alerts {
				alerts[a.Alert] = a
			}
			for _, f := range faults[chart] {
				fmt.Fprintf(&b, "| [%s](runbook.md#%s) | %s | %d min | %d min |\n",
					f.alert, strings.ToLower(f.alert), f.name, f.fires(alerts[f.alert]), f.stops())
			}
		}
		content, err := rendering.Golden(filepath.Join(landscape.Root(), "docs/operations/alerts.md"), b.String())
		Expect(err).NotTo(HaveOccurred())
		Expect(content).To(Equal(b.String()), "run UPDATE_GOLDEN=1 go test ./test/monitoring")
	})
})
