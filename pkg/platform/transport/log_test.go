// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// sendVariable is the environment variable with the URL to which this test sends requests when it is its own child, whose log is read.
const sendVariable = "TEST_SEND_REQUESTS_TO"

// secrets are parts of requests that must not be logged.
var secrets = []string{"token-in-header", "secret-in-query", "password-in-body", "user-in-url", "password-in-url"}

// send sends a request to each of two sites, with secrets in all places.
func send(ctx context.Context, address string) error {
	for _, site := range []string{"cloud", "other"} {
		server, err := neturl.Parse(address)
		if err != nil {
			return err
		}
		t, err := transport.New(transport.Options{Site: site, Server: server,
			Describe: func(*http.Request) (string, string) { return "compute", "POST" }})
		if err != nil {
			return err
		}
		url := strings.Replace(address, "://", "://user-in-url:password-in-url@", 1) + "/v2/" + site + "/servers?key=secret-in-query"
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("password-in-body"))
		if err != nil {
			return err
		}
		request.Header.Set("X-Auth-Token", "token-in-header")
		response, err := transport.NewClient(t, 0).Do(request)
		if err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil {
			return err
		}
	}
	return nil
}

// TestSendRequests is what the child does, and nothing otherwise.
func TestSendRequests(t *testing.T) {
	if address := os.Getenv(sendVariable); address != "" {
		if err := send(t.Context(), address); err != nil {
			t.Fatal(err)
		}
	}
}

var _ = Describe("Log of requests", func() {
	const id = "req-6f0a1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"
	// logged returns what a process with the sites logs that sends requests. The site sends the token back in one header, too.
	logged := func(ctx context.Context, sites string) string {
		GinkgoHelper()
		var bodies []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			Expect(err).NotTo(HaveOccurred())
			bodies = append(bodies, string(body)+r.Header.Get("X-Auth-Token")+r.URL.RawQuery)
			w.Header().Set("X-Openstack-Request-Id", r.Header.Get("X-Auth-Token"))
			w.Header().Set("X-Compute-Request-Id", id)
			w.WriteHeader(http.StatusAccepted)
		}))
		defer server.Close()
		command := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSendRequests$") // #nosec G204 -- this test
		command.Env = append(os.Environ(), sendVariable+"="+server.URL, transport.LogVariable+"="+sites)
		output, err := command.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(output))
		Expect(bodies).To(And(HaveLen(2), HaveEach(ContainSubstring("token-in-header"))), "the requests were sent")
		return string(output)
	}

	It("has the requests to the sites alone that are named, and no secrets", func(ctx SpecContext) {
		output := logged(ctx, "cloud,unknown")
		Expect(output).To(MatchRegexp(
			`"Request to site" site="cloud" service="compute" method="POST" host="[0-9.:]+" path="/v2/cloud/servers" code="202" ` +
				`duration="[^"]+" requestID="` + id + `"`))
		Expect(output).NotTo(ContainSubstring("other"))
		for _, secret := range secrets {
			Expect(output).NotTo(ContainSubstring(secret))
		}
	})

	It("has the requests to all sites", func(ctx SpecContext) {
		Expect(logged(ctx, transport.AllSites)).To(And(ContainSubstring("/v2/cloud/servers"), ContainSubstring("/v2/other/servers")))
	})

	It("is empty by default", func(ctx SpecContext) {
		Expect(logged(ctx, "")).NotTo(ContainSubstring("Request to site"))
	})
})
