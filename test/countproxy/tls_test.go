// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

var _ = Describe("Proxy of an API with TLS", func() {
	var (
		events chan string
		proxy  *Proxy
		client *http.Client
	)

	BeforeEach(func() {
		events = make(chan string)
		upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") == "" {
				_, _ = io.WriteString(w, r.Header.Get("Authorization"))
				return
			}
			for event := range events {
				_, _ = io.WriteString(w, event+"\n")
				_ = http.NewResponseController(w).Flush()
			}
		}))
		DeferCleanup(upstream.Close)

		authority, err := pki.NewAuthority()
		Expect(err).NotTo(HaveOccurred())
		pair, err := authority.Server("proxy")
		Expect(err).NotTo(HaveOccurred())
		roots := x509.NewCertPool()
		Expect(roots.AppendCertsFromPEM([]byte(authority.PEM))).To(BeTrue())
		client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: 10 * time.Second}
		DeferCleanup(client.CloseIdleConnections)

		proxy, err = New(Service{
			Name: "api", Upstream: upstream.URL, Certificate: pair.Certificate, Key: pair.Key,
			CA: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw})),
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(proxy.Close)
	})

	get := func(path string) (*http.Response, error) {
		request, err := http.NewRequest(http.MethodGet, proxy.URL("api")+path, nil)
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Authorization", "Bearer token")
		return client.Do(request)
	}

	It("should serve TLS and trust the service by its CA, also after an outage", func() {
		Expect(proxy.URL("api")).To(HavePrefix("https://"))
		for range 2 {
			response, err := get("/")
			Expect(err).NotTo(HaveOccurred())
			Expect(io.ReadAll(response.Body)).To(BeEquivalentTo("Bearer token"))
			Expect(response.Body.Close()).To(Succeed())

			Expect(proxy.TakeDown("api")).To(Succeed())
			_, err = get("/")
			Expect(err).To(HaveOccurred())
			Expect(proxy.BringUp("api")).To(Succeed())
		}
	})

	It("should pass the events of a watch on at once, and log it when it begins", func() {
		proxy.SetLabel("watch")
		go func() { events <- "first" }()
		response, err := get("/things?watch=true")
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		Expect(lines.Scan()).To(BeTrue())
		Expect(lines.Text()).To(Equal("first"))

		Expect(proxy.Requests("watch")).To(ConsistOf(And(HaveField("Path", "/things"), HaveField("Status", http.StatusOK))))
		events <- "second"
		Expect(lines.Scan()).To(BeTrue())
		Expect(lines.Text()).To(Equal("second"))
		close(events)
		Expect(lines.Scan()).To(BeFalse())
	})

	It("should refuse a CA and a certificate that are none", func() {
		_, err := New(Service{Name: "api", Upstream: "https://127.0.0.1:1", CA: "none"})
		Expect(err).To(MatchError(ContainSubstring("CA")))
		_, err = New(Service{Name: "api", Upstream: "https://127.0.0.1:1", Certificate: "none", Key: "none"})
		Expect(err).To(HaveOccurred())
	})
})
