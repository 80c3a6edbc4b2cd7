// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Secrets stand in what is shown: messages, states, events and logs. There is no other detailed view, and no dry run.
var _ = Describe("CVE-2025-55190 and CVE-2026-42880", func() {
	It("should show no credential that an answer repeats, or that a failure has", func(ctx SpecContext) {
		var log bytes.Buffer
		klog.LogToStderr(false)
		klog.SetOutput(&log)
		DeferCleanup(func() { klog.LogToStderr(true) })

		echo := func(status int) *server {
			return serve("127.0.0.1", true, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(`{"error": {"code": 1, "message": "` + strings.ReplaceAll(string(body), `"`, `'`) + `"}}`))
			})
		}
		a := newAttacker()
		a.forced = true
		for _, status := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusOK} {
			a.designate(ctx, echo(status))
		}
		// The certificate of a stranger has names, which errors of TLS show.
		stranger := serve("127.0.0.1", true, http.NotFound)
		keys := login(stranger.URL+"/v3", "")
		delete(keys, "caCert")
		a.try(ctx, v1alpha1.DNSTypeDesignate, keys)
		a.try(ctx, v1alpha1.DNSTypeRFC2136,
			map[string]string{"server": hostOf(stranger.URL), "tsigKeyName": "k", "tsigSecret": "aHVzaC1odXNoLXBhc3N3b3Jk"})
		klog.Flush()
		Expect(log.String()).To(ContainSubstring("DNS service cannot be used"))
		Expect(log.String()).NotTo(Or(ContainSubstring(password), ContainSubstring(token), ContainSubstring("aHVzaC1odXNoLXBhc3N3b3Jk")))
	})
})
