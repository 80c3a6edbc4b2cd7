// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const tarpits = 50

// silent takes connections and says nothing.
func silent() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(l.Close)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	return l.Addr().String()
}

// late answers just before most would give up.
func late() string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(59 * time.Second):
			w.WriteHeader(http.StatusServiceUnavailable)
		case <-r.Context().Done():
		}
	}))
	DeferCleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// unready is a Keystone with a Designate that takes each record and never brings it to its name servers, until over is true.
func unready(over *atomic.Bool) string {
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/auth/tokens"):
			w.Header().Set("X-Subject-Token", "t")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"token": {"expires_at": "2999-01-01T00:00:00.000000Z", "project": {"id": "p"},
				"catalog": [{"type": "dns", "endpoints": [
				{"interface": "public", "region": "R", "region_id": "R", "url": "%s/v2/"}]}]}}`, s.URL)
		case strings.Contains(r.URL.Path, "recordsets") && over.Load():
			fmt.Fprint(w, `{"recordsets": []}`)
		case strings.Contains(r.URL.Path, "recordsets"):
			name := r.URL.Query().Get("name")
			fmt.Fprintf(w, `{"recordsets": [{"id": "i", "name": %q, "type": "A", "ttl": 120,
				"records": ["192.0.2.1"], "status": "PENDING", "action": "CREATE"}]}`, name)
		case strings.Contains(r.URL.Path, "zones"):
			fmt.Fprintf(w, `{"zones": [{"id": "11111111222233334444555555555555", "name": "%s.", "type": "PRIMARY"}]}`, plain.zone)
		default:
			fmt.Fprintf(w, `{"versions": [{"id": "v2", "status": "CURRENT", "links": [{"href": "%s/v2", "rel": "self"}]}]}`, s.URL)
		}
	}))
	DeferCleanup(s.Close)
	return s.URL
}

var _ = Describe("Tarpits", func() {
	DescribeTable("of the same tenant should not keep a record from being written",
		func(ctx SpecContext, kind string, keys func(over *atomic.Bool) map[string]string) {
			var (
				over    atomic.Bool
				records []*extensionsv1alpha1.DNSRecord
			)
			for i := range tarpits {
				record := plain.record(fmt.Sprintf("tarpit-%s-%d", CurrentSpecReport().LeafNodeText[:3], i), fmt.Sprintf("tarpit-%d", i), a,
					"192.0.2.1")
				record.Spec.Type = kind
				record.Spec.SecretRef.Name = record.Name
				makeSecret(ctx, namespace, record.Name, keys(&over))
				records = append(records, record)
			}
			DeferCleanup(func(ctx SpecContext) {
				over.Store(true)
				remove(ctx, records...)
			}, NodeTimeout(10*time.Minute))
			for _, record := range records {
				Expect(seed.Client.Create(ctx, record)).To(Succeed())
			}

			good := plain.record("beside-tarpits", "beside-tarpits", a, "192.0.2.1")
			start := time.Now()
			create(ctx, good)
			succeed(ctx, good)
			took := time.Since(start)
			AddReportEntry("the good record took", took.String())
			Expect(took).To(BeNumerically("<", 30*time.Second))
			Expect(plain.answers(ctx, "beside-tarpits", 1).Values).To(ConsistOf("192.0.2.1"))
		},
		Entry("silent ones", plain.kind, func(*atomic.Bool) map[string]string {
			return map[string]string{"server": silent(), "tsigKeyName": nameserver.Writer.Name, "tsigSecret": nameserver.Writer.Secret}
		}, SpecTimeout(limit)),
		suite.NightlyEntries(
			Entry("late ones", cloud.kind, func(*atomic.Bool) map[string]string { return keystoneKeys(late()) }, SpecTimeout(limit))),
		Entry("unready ones", cloud.kind, func(over *atomic.Bool) map[string]string { return keystoneKeys(unready(over)) }, SpecTimeout(limit)),
	)
})

func keystoneKeys(address string) map[string]string {
	return map[string]string{"authURL": address + "/v3", "region": "R", "domainName": "d", "tenantName": "t", "username": "u", "password": "p"}
}
