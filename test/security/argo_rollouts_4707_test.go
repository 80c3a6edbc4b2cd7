// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// What a far end says becomes readable in a status.
var _ = Describe("argo-rollouts#4707", func() {
	long := loot + strings.Repeat("x", 2<<20)

	DescribeTable("should not pass on what an answer says",
		func(ctx SpecContext, status int, body string) {
			answer := func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("X-Openstack-Request-Id", loot)
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
			}
			a := newAttacker()
			a.forced = true

			By("to the login")
			a.designate(ctx, serve("127.0.0.1", true, answer))

			By("to the look for versions")
			var evil *server
			evil = keystone(func() string { return evil.URL + "/" + loot }, answer)
			a.designate(ctx, evil)

			By("to the list of zones")
			evil = keystone(func() string { return evil.URL + "/v2/" }, func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "zones") {
					answer(w, r)
					return
				}
				versions(w, evil.URL)
			})
			a.designate(ctx, evil)

			By("to the look for the record")
			evil = keystone(func() string { return evil.URL + "/v2/" }, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.Contains(r.URL.Path, "recordsets"):
					answer(w, r)
				case strings.Contains(r.URL.Path, "zones"):
					zones(w, "11111111222233334444555555555555")
				default:
					versions(w, evil.URL)
				}
			})
			a.designate(ctx, evil)
		},
		Entry("a document", http.StatusOK, `{"Code": "Success", "AccessKeyId": "`+loot+`"}`),
		Entry("a document of versions", http.StatusMultipleChoices, `{"versions": "`+loot+`"}`),
		Entry("a text", http.StatusOK, loot),
		Entry("another type", http.StatusOK, `{"zones": "`+loot+`", "recordsets": "`+loot+`"}`),
		Entry("a fault", http.StatusBadRequest, `{"code": 400, "type": "`+loot+`", "message": "`+loot+`"}`),
		Entry("a fault that is nested", http.StatusForbidden, `{"error": {"code": 403, "title": "`+loot+`", "message": "`+loot+`"}}`),
		Entry("a fault of a field", http.StatusBadRequest, `{"code": 400, "errors": {"errors": [{"message": "`+loot+`"}]}}`),
		Entry("no such thing", http.StatusNotFound, `{"message": "`+loot+`"}`),
		Entry("a conflict", http.StatusConflict, `{"message": "`+loot+`"}`),
		Entry("a failure", http.StatusInternalServerError, loot),
		Entry("a long fault", http.StatusBadRequest, `{"message": "`+long+`"}`),
	)

	It("should not pass on what records and zones say", func(ctx SpecContext) {
		for _, id := range []string{loot, "../../../" + loot, strings.Repeat("z", 1<<20)} {
			var evil *server
			evil = keystone(func() string { return evil.URL + "/v2/" }, func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "zones") {
					zones(w, id)
					return
				}
				versions(w, evil.URL)
			})
			Expect(newAttacker().designate(ctx, evil).text).To(
				ContainSubstring("no zone in Designate that is visible to the credentials contains api.example.test."))
		}
		for _, set := range []string{`"status": "ERROR"`, `"status": "` + loot + `"`, `"status": "PENDING", "records": ["` + loot + `"]`,
			`"type": "` + loot + `"`} {
			var evil *server
			evil = keystone(func() string { return evil.URL + "/v2/" }, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.Contains(r.URL.Path, "recordsets") && r.Method == http.MethodGet:
					_, _ = w.Write([]byte(`{"recordsets": []}`))
				case strings.Contains(r.URL.Path, "recordsets"):
					w.WriteHeader(http.StatusAccepted)
					_, _ = fmt.Fprintf(w, `{"id": "%[1]s", "name": "%[1]s", "type": "A", %[2]s}`, loot, set)
				case strings.Contains(r.URL.Path, "zones"):
					zones(w, "11111111222233334444555555555555")
				default:
					versions(w, evil.URL)
				}
			})
			newAttacker().designate(ctx, evil)
		}
	})
})

func zones(w http.ResponseWriter, id string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"zones": [{"id": %q, "name": "example.test.", "type": "PRIMARY"}]}`, id)
}
