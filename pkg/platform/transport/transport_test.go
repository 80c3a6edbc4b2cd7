// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Transport", func() {
	options := func() Options {
		return Options{Site: "transport", Describe: func(*http.Request) (string, string) { return "service", "Method" }}
	}
	serve := func(handler http.HandlerFunc) *httptest.Server {
		server := httptest.NewTLSServer(handler)
		DeferCleanup(server.Close)
		return server
	}
	parse := func(address string) *url.URL {
		parsed, err := url.Parse(address)
		Expect(err).NotTo(HaveOccurred())
		return parsed
	}
	get := func(o Options, address string) error {
		o.Server = parse(address)
		t, err := New(o)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(t.CloseIdleConnections)
		response, err := NewClient(t, 0).Get(address)
		if err == nil {
			Expect(response.Body.Close()).To(Succeed())
		}
		return err
	}

	It("should count requests for what they are described as", func() {
		server := serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
		o := options()
		o.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
		Expect(get(o, server.URL)).To(Succeed())
		Expect(platform.RequestDuration.DeleteLabelValues("transport", "service", "Method", "418")).To(BeTrue())
	})

	It("should tell when a site answered, whatever that was", func() {
		server := serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
		o := options()
		o.Site, o.TLS = "answering", &v1alpha1.TLS{Thumbprint: "AA:BB"}
		Expect(get(o, server.URL)).NotTo(Succeed())
		Expect(platform.LastAnswer("answering")).To(BeZero())
		o.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
		before := time.Now()
		Expect(get(o, server.URL)).To(Succeed())
		Expect(platform.LastAnswer("answering")).To(BeTemporally(">=", before))
	})

	It("should not trust a server that the configuration does not", func() {
		server := serve(func(http.ResponseWriter, *http.Request) {})
		o := options()
		Expect(IsUntrusted(get(o, server.URL))).To(BeTrue())
		o.TLS = &v1alpha1.TLS{Thumbprint: "AA:BB"}
		Expect(IsUntrusted(get(o, server.URL))).To(BeTrue())
	})

	It("should refuse a bundle without certificates", func() {
		o := options()
		o.Server = parse("https://site.example")
		o.TLS = &v1alpha1.TLS{CACert: "nothing"}
		_, err := New(o)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	It("should go through the proxy", func() {
		var asked string
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked = r.Host }))
		DeferCleanup(proxy.Close)
		o := options()
		o.Proxy = &v1alpha1.Proxy{URL: proxy.URL}
		Expect(get(o, "http://vcenter.example")).To(Succeed())
		Expect(asked).To(Equal("vcenter.example"))
	})

	DescribeTable("should send through the proxy what is not excepted",
		func(target string, through bool) {
			config := &v1alpha1.Proxy{URL: "http://proxy:3128", NoProxy: []string{"10.0.0.0/8", ".internal", "nova.example:8774"}}
			u, err := url.Parse(target)
			Expect(err).NotTo(HaveOccurred())
			chosen, err := proxy(config)(&http.Request{URL: u})
			Expect(err).NotTo(HaveOccurred())
			if through {
				Expect(chosen).To(HaveField("Host", "proxy:3128"))
			} else {
				Expect(chosen).To(BeNil())
			}
		},
		Entry("http", "http://keystone.example/v3", true),
		Entry("https", "https://keystone.example/v3", true),
		Entry("an address", "https://192.0.2.1:5000/v3", true),
		Entry("an address that is excepted", "https://10.1.2.3:5000/v3", false),
		Entry("a domain that is excepted", "https://keystone.internal/v3", false),
		Entry("a host and port that are excepted", "https://nova.example:8774/v2.1", false),
		Entry("another port of that host", "https://nova.example/v2.1", true),
	)

	It("should ignore the proxy of the environment", func() {
		Expect(proxy(nil)).To(BeNil())
	})

	It("should keep some of its connections when there is less to do", func() {
		const requests, kept = 20, 5
		var open atomic.Int64
		begun, release := make(chan struct{}, requests), make(chan struct{})
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			begun <- struct{}{}
			<-release
		}))
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed:
				open.Add(-1)
			}
		}
		server.StartTLS()
		DeferCleanup(server.Close)
		o := options()
		o.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
		o.Server, o.MaxIdleConnectionsPerHost = parse(server.URL), kept
		t, err := New(o)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(t.CloseIdleConnections)

		var group sync.WaitGroup
		for range requests {
			group.Go(func() {
				defer GinkgoRecover()
				response, err := (&http.Client{Transport: t}).Get(server.URL)
				Expect(err).NotTo(HaveOccurred())
				Expect(response.Body.Close()).To(Succeed())
			})
		}
		Eventually(begun).Should(HaveLen(MaxConnectionsPerHost))
		Consistently(begun, "100ms").Should(HaveLen(MaxConnectionsPerHost))
		close(release)
		group.Wait()
		Eventually(open.Load).Should(BeEquivalentTo(kept))
	})

	It("should let requests share connections if asked to, and not limit those whose answers do not end", func() {
		const requests = 2 * MaxConnectionsPerHost
		protocols, release := make(chan string, requests), make(chan struct{})
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			protocols <- r.Proto
			<-release
		}))
		server.EnableHTTP2 = true
		server.StartTLS()
		DeferCleanup(server.Close)
		o := options()
		o.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
		o.Server, o.HTTP2 = parse(server.URL), true
		shared, err := New(o)
		Expect(err).NotTo(HaveOccurred())
		o.HTTP2, o.Unlimited = false, true
		unlimited, err := New(o)
		Expect(err).NotTo(HaveOccurred())

		var group sync.WaitGroup
		for _, t := range []*Transport{shared, unlimited} {
			DeferCleanup(t.CloseIdleConnections)
			for range requests {
				group.Go(func() {
					defer GinkgoRecover()
					response, err := (&http.Client{Transport: t}).Get(server.URL)
					Expect(err).NotTo(HaveOccurred())
					Expect(response.Body.Close()).To(Succeed())
				})
			}
			Eventually(protocols, "5s").Should(HaveLen(requests))
			for range requests {
				Expect(<-protocols).To(Equal(map[bool]string{true: "HTTP/2.0", false: "HTTP/1.1"}[t == shared]))
			}
		}
		close(release)
		group.Wait()
	})

	It("should show its certificate", func() {
		subjects := make(chan string, 1)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			subjects <- r.TLS.PeerCertificates[0].SerialNumber.String()
		}))
		server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
		server.StartTLS()
		DeferCleanup(server.Close)
		o := options()
		o.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
		Expect(get(o, server.URL)).NotTo(Succeed())
		o.Certificates = server.TLS.Certificates
		Expect(get(o, server.URL)).To(Succeed())
		Expect(subjects).To(Receive(Equal(server.Certificate().SerialNumber.String())))
	})

	It("should not wait longer for an answer than configured", func() {
		stop := make(chan struct{})
		server := serve(func(http.ResponseWriter, *http.Request) { <-stop })
		DeferCleanup(func() { close(stop) })
		o := options()
		o.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
		o.RequestTimeout = 50 * time.Millisecond
		Expect(get(o, server.URL)).To(MatchError(ContainSubstring("timeout")))
	})

	It("should have a timeout if none is configured", func() {
		Expect(RequestTimeout(nil)).To(Equal(time.Minute))
		Expect(RequestTimeout(&metav1.Duration{Duration: time.Second})).To(Equal(time.Second))
	})
})
