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

// An answer sends the request, with its token or its body, to where the attacker wants.
var _ = Describe("Redirects", func() {
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect} {
		for _, secure := range []bool{true, false} {
			It(fmt.Sprintf("should not be followed: %d, with TLS %t", code, secure), func(ctx SpecContext) {
				// Even a host that may be connected to gets nothing.
				victim := serve("127.0.0.1", secure, stolen)
				redirect := func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, victim.URL+"/_cluster/settings", code)
				}
				a := newAttacker()
				a.guard.PlainHTTP = true

				By("the login")
				a.designate(ctx, serve("127.0.0.1", true, redirect))

				By("the look for versions")
				var evil *server
				evil = keystone(func() string { return evil.URL + "/" }, redirect)
				a.designate(ctx, evil)

				By("the list of zones")
				evil = keystone(func() string { return evil.URL + "/v2/" }, func(w http.ResponseWriter, r *http.Request) {
					if strings.Contains(r.URL.Path, "zones") {
						redirect(w, r)
						return
					}
					versions(w, evil.URL)
				})
				a.designate(ctx, evil)
				Expect(victim.requests.Load()).To(BeZero())
			})
		}
	}
})

// versions is how Designate says where its API is.
func versions(w http.ResponseWriter, address string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"versions": [{"id": "v2", "status": "CURRENT", "links": [{"href": "%s/v2", "rel": "self"}]}]}`, address)
}
