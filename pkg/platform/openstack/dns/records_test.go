// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"net/http"
	"net/http/httptest"

	"github.com/gophercloud/gophercloud/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

var _ = Describe("Records", func() {
	record := dns.Record{Name: "api.example.test.", Type: dns.TypeA, TTL: 120, Values: []string{"192.0.2.1"}}
	const (
		path    = "/zones/zone/recordsets"
		pending = `{"id": "1", "name": "api.example.test.", "type": "A", "ttl": 120, "records": ["192.0.2.1"], "status": "PENDING"}`
	)

	// open returns a provider of an API that answers with a status and a body to each method and path.
	type answer struct {
		status int
		body   string
	}
	open := func(answers map[string]answer) *provider {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			given, ok := answers[r.Method+" "+r.URL.Path]
			if !ok {
				given = answer{http.StatusTeapot, ""}
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(given.status)
			_, _ = w.Write([]byte(given.body))
		}))
		DeferCleanup(api.Close)
		return &provider{
			session: &client.Session{Site: "cloud"},
			api:     &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: api.URL + "/"},
		}
	}
	sets := func(body string) answer { return answer{http.StatusOK, `{"recordsets": [` + body + `]}`} }
	fault := func(status int) answer { return answer{status, `{"code": 1, "type": "t", "message": "no"}`} }

	DescribeTable("should be on their way until the name servers answer with them",
		func(ctx SpecContext, existing string, answers map[string]answer, done bool) {
			answers["GET "+path] = sets(existing)
			err := open(answers).Ensure(ctx, "zone", record, false)
			Expect(platform.IsProgress(err)).To(Equal(!done))
			Expect(err == nil).To(Equal(done))
		},
		Entry("after the creation", "", map[string]answer{"POST " + path: {http.StatusAccepted, pending}}, false),
		Entry("after a change", `{"id": "1", "name": "api.example.test.", "type": "A", "ttl": 60, "records": ["192.0.2.1"], "status": "ACTIVE"}`,
			map[string]answer{"PUT " + path + "/1": {http.StatusAccepted, pending}}, false),
		Entry("after an earlier change", pending, map[string]answer{}, false),
		Entry("while the set is deleted",
			`{"id": "1", "name": "api.example.test.", "type": "A", "records": ["192.0.2.7"], "status": "PENDING", "action": "DELETE"}`,
			map[string]answer{}, false),
		Entry("and no longer", `{"id": "1", "name": "api.example.test.", "type": "A", "ttl": 120, "records": ["192.0.2.1"], "status": "ACTIVE"}`,
			map[string]answer{}, true),
	)

	It("should be on their way until the name servers answer without them", func(ctx SpecContext) {
		ours := `{"id": "1", "name": "api.example.test.", "type": "A", "records": ["192.0.2.1"], "status": "ACTIVE"}`
		Expect(platform.IsProgress(open(map[string]answer{"GET " + path: sets(ours),
			"DELETE " + path + "/1": {http.StatusAccepted, pending}}).Delete(ctx, "zone", record))).To(BeTrue())
		going := `{"id": "1", "name": "api.example.test.", "type": "A", "records": ["192.0.2.1"], "status": "PENDING", "action": "DELETE"}`
		Expect(platform.IsProgress(open(map[string]answer{"GET " + path: sets(going)}).Delete(ctx, "zone", record))).To(BeTrue())
		Expect(open(map[string]answer{"GET " + path: sets("")}).Delete(ctx, "zone", record)).To(Succeed())
	})

	It("should be no success, and no panic, when Designate answers with nothing", func(ctx SpecContext) {
		for _, body := range []string{"null", "{}"} {
			Expect(open(map[string]answer{"GET " + path: sets(""), "POST " + path: {http.StatusAccepted, body}}).Ensure(ctx, "zone", record,
				false)).NotTo(Succeed())
		}
	})

	DescribeTable("should tell what a refused write means",
		func(ctx SpecContext, refusal int, class platform.Class) {
			p := open(map[string]answer{"GET " + path: sets(""), "POST " + path: fault(refusal)})
			Expect(platform.ClassOf(p.Ensure(ctx, "zone", record, false))).To(Equal(class))
		},
		Entry("without valid credentials", http.StatusUnauthorized, platform.ClassUnauthenticated),
		Entry("without the role", http.StatusForbidden, platform.ClassForbidden),
		Entry("over the quota", http.StatusRequestEntityTooLarge, platform.ClassQuota),
		Entry("that is made twice", http.StatusConflict, platform.ClassConflict),
	)
})
