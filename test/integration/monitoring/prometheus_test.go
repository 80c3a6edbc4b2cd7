// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// prometheus is a process of Prometheus.
type prometheus struct {
	prometheusv1.API

	process *landscape.Process
	// jobs are the names of its scrape configurations.
	jobs []string
}

// startPrometheus starts a Prometheus that ends with the suite, in which a minute is a second.
func startPrometheus(ctx context.Context, name, address string, scrapes []scrapeConfig, rules []*monitoringv1.PrometheusRule) *prometheus {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	write := func(file string, content any) string {
		GinkgoHelper()
		encoded, err := yaml.Marshal(content)
		Expect(err).NotTo(HaveOccurred())
		path := filepath.Join(dir, file)
		Expect(os.WriteFile(path, encoded, 0o600)).To(Succeed())
		return path
	}
	c := config{Global: globals{ScrapeInterval: "1s", ScrapeTimeout: "1s", EvaluationInterval: "1s", ExternalLabels: map[string]string{
		"seed": "some"}}, ScrapeConfigs: scrapes}
	if len(rules) > 0 {
		c.RuleFiles = []string{write("rules.yaml", fasterRules(rules))}
	}
	binary := filepath.Join(landscape.Root(), "hack/bin/prometheus")
	Expect(binary).To(BeARegularFile(), "hack/landscape/build.sh prometheus builds it")
	p := &prometheus{process: &landscape.Process{
		Name: "prometheus-" + name, Path: binary, LogFile: filepath.Join(dir, "log"),
		Args: []string{"--config.file=" + write("config.yaml", c), "--storage.tsdb.path=" + filepath.Join(dir, "data"),
			"--web.listen-address=" + address, "--query.lookback-delta=5s"},
	}}
	for _, scrape := range scrapes {
		p.jobs = append(p.jobs, scrape.JobName)
	}
	Expect(p.process.Start()).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { p.process.Stop(ctx) })
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	Expect(err).NotTo(HaveOccurred())
	p.API = prometheusv1.NewAPI(client)
	Expect(p.process.WaitReady(ctx, "http://"+address+"/-/ready")).To(Succeed())
	return p
}

// firing are the alerts that fire and have the labels.
func (p *prometheus) firing(ctx context.Context, alert string, labels map[string]string) (bool, error) {
	found, err := p.Alerts(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(found.Alerts, func(a prometheusv1.Alert) bool {
		if a.State != prometheusv1.AlertStateFiring || string(a.Labels["alertname"]) != alert {
			return false
		}
		for name, value := range labels {
			if value != string(a.Labels[model.LabelName(name)]) {
				return false
			}
		}
		return true
	}), nil
}

// unwell are the targets that Prometheus does not reach, and the scrape configurations without a target.
func (p *prometheus) unwell(ctx context.Context) ([]string, error) {
	found, err := p.Targets(ctx)
	if err != nil {
		return nil, err
	}
	var bad []string
	missing := sets.New(p.jobs...)
	for _, t := range found.Active {
		missing.Delete(t.ScrapePool)
		if t.Health != prometheusv1.HealthGood {
			bad = append(bad, fmt.Sprintf("%s at %s: %s", t.ScrapePool, t.ScrapeURL, t.LastError))
		}
	}
	return append(bad, sets.List(missing)...), nil
}
