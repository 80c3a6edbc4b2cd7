// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Look", func() {
	look := func(server *httptest.Server, tls *v1alpha1.TLS) (Look, error) {
		GinkgoHelper()
		DeferCleanup(server.Close)
		address, err := url.Parse(server.URL)
		Expect(err).NotTo(HaveOccurred())
		t, err := New(Options{Site: "look", Server: address, TLS: tls,
			Describe: func(*http.Request) (string, string) { return "service", "HEAD" }})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(t.CloseIdleConnections)
		return t.Look(context.Background())
	}
	late := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Expect(r.Method).To(Equal(http.MethodHead))
		Expect(r.Header).NotTo(HaveKey("Authorization"))
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		http.Redirect(w, r, "https://elsewhere.invalid", http.StatusMovedPermanently)
	})

	It("should tell certificates and time of a server that is trusted, whatever it answers", func() {
		found, err := look(httptest.NewTLSServer(late), &v1alpha1.TLS{InsecureSkipVerify: true})
		Expect(err).NotTo(HaveOccurred())
		Expect(found.Untrusted).NotTo(HaveOccurred())
		Expect(found.Chains).To(HaveExactElements(HaveLen(1)))
		Expect(found.Offset).To(BeNumerically("~", -time.Hour, found.Uncertainty))
		Expect(found.Uncertainty).To(BeNumerically("<", 2*time.Second))
	})

	It("should tell certificates of a server that is not trusted, and why", func() {
		found, err := look(httptest.NewTLSServer(late), nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(found.Untrusted).To(MatchError("the server's certificate is signed by an unknown authority"))
		Expect(found.Chains).To(HaveExactElements(HaveLen(1)))
		Expect(found.Date).To(BeZero())
	})

	It("should tell that a server has another thumbprint", func() {
		found, err := look(httptest.NewTLSServer(late), &v1alpha1.TLS{Thumbprint: "AA:BB"})
		Expect(err).NotTo(HaveOccurred())
		Expect(IsUntrusted(found.Untrusted)).To(BeTrue())
	})

	It("should tell the time of a server without TLS", func() {
		found, err := look(httptest.NewServer(late), nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(found.Chains).To(BeEmpty())
		Expect(found.Date).NotTo(BeZero())
	})

	It("should fail if there is no server", func() {
		server := httptest.NewServer(late)
		server.Close()
		_, err := look(server, nil)
		Expect(err).To(HaveOccurred())
	})

	DescribeTable("should not believe a time that makes no sense", func(date string) {
		found := Look{}
		found.tell(date, time.Now(), time.Now())
		Expect(found).To(Equal(Look{}))
	}, Entry("", ""), Entry("", "yesterday"), Entry("", "2026-01-01T00:00:00Z"))
})
