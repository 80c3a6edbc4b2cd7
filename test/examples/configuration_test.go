// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/VictoriaMetrics/metricsql"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/networkdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/documents"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// expectINI expects a configuration of OpenStack's drivers, or one of the network that IronCore's hosts accept.
func expectINI(_ SpecContext, b documents.Block) {
	GinkgoHelper()
	if strings.HasPrefix(b.Text, "[Match]") {
		Expect(networkdata.CheckTemplate(v1alpha1.MetalInventoryIronCore, b.Text, networkdata.Values{})).To(Succeed(), b.String())
		return
	}
	file := filepath.Join(GinkgoT().TempDir(), "cloud.conf")
	Expect(os.WriteFile(file, []byte(b.Text), 0o600)).To(Succeed())
	_, err := csi.ReadConfig([]string{file})
	Expect(err).NotTo(HaveOccurred(), b.String())
}

// expectQueries expects a query in each line that is not a comment, with metrics that are documented.
func expectQueries(_ SpecContext, b documents.Block) {
	GinkgoHelper()
	documented, err := os.ReadFile(filepath.Join(landscape.Root(), "docs", "operations", "metrics.md"))
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(b.Text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		query, err := metricsql.Parse(line)
		Expect(err).NotTo(HaveOccurred(), line)
		metrics := 0
		metricsql.VisitAll(query, func(e metricsql.Expr) {
			if metric, ok := e.(*metricsql.MetricExpr); ok {
				metrics++
				name := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(metric.LabelFilterss[0][0].Value, "")
				Expect(string(documented)).To(MatchRegexp("(?m)^\\|[^|]*`"+name+"`"), line)
			}
		})
		Expect(metrics).To(BeNumerically(">", 0), line)
	}
}

// expectZones expects a key, and zones whose policy allows what the extension writes.
func expectZones(_ SpecContext, b documents.Block) {
	GinkgoHelper()
	key := regexp.MustCompile(`^key "(\w+)" \{ algorithm hmac-sha(?:256|512); secret "[^"]+"; \};\n`).FindStringSubmatch(b.Text)
	Expect(key).To(HaveLen(2), b.String())
	types := strings.Join([]string{string(dns.TypeA), string(dns.TypeAAAA), string(dns.TypeCNAME), string(dns.TypeTXT)}, " ")
	Expect(strings.TrimPrefix(b.Text, key[0])).To(MatchRegexp(
		`^zone "[a-z.]+" \{ type primary; file "[^"]+"; update-policy \{ grant `+key[1]+` zonesub `+types+`; \}; \};\n$`), b.String())
}
