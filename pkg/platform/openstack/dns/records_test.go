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

	DescribeTable("should not be said to be unwritten if only the look at an accepted one is refused",
		func(ctx SpecContext, existing string, refusal int) {
			p := open(map[string]answer{
				"GET " + path:        sets(existing),
				"POST " + path:       {http.StatusAccepted, pending},
				"PUT " + path + "/1": {http.StatusAccepted, pending},
				"GET " + path + "/1": fault(refusal),
			})
			err := p.Ensure(ctx, "zone", record, false)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			Expect(err).To(MatchError(ContainSubstring(`site "cloud": Designate accepted record api.example.test. of type A, but cannot be asked for it: `)))
		},
		Entry("after its creation, as the credentials are not valid any more", "", http.StatusUnauthorized),
		Entry("after its creation, as the role is gone", "", http.StatusForbidden),
		Entry("after its creation, as the zone is gone", "", http.StatusNotFound),
		Entry("after a change", `{"id": "1", "name": "api.example.test.", "type": "A", "ttl": 60, "records": ["192.0.2.1"], "status": "ACTIVE"}`, http.StatusForbidden),
		Entry("in an earlier attempt", pending, http.StatusForbidden),
	)

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
