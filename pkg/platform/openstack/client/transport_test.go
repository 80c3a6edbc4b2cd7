// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha1" // #nosec G505 -- a fingerprint
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

var _ = Describe("Transport", func() {
	Describe("TLS", func() {
		var (
			server                       *httptest.Server
			caCert, otherCA              string
			fingerprint1, fingerprint256 string
		)

		BeforeEach(func() {
			c := newCloud(ok)
			server = httptest.NewUnstartedServer(c)
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.StartTLS()
			DeferCleanup(server.Close)
			raw := server.Certificate().Raw
			caCert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
			sum1, sum256 := sha1.Sum(raw), sha256.Sum256(raw) // #nosec G401 -- a fingerprint
			fingerprint1, fingerprint256 = hex.EncodeToString(sum1[:]), hex.EncodeToString(sum256[:])
			otherCA = selfSigned()
		})

		login := func(ctx context.Context, tls *v1alpha1.TLS) error {
			connection := v1alpha1.OpenStackConnection{AuthURL: server.URL + "/identity/v3", Region: "west", TLS: tls}
			_, err := NewSessions().Get(ctx, "cloud", connection, credentials())
			return err
		}

		It("should trust what it is told to trust", func(ctx SpecContext) {
			colons := strings.ToUpper(fingerprint1)
			for i := len(colons) - 2; i > 0; i -= 2 {
				colons = colons[:i] + ":" + colons[i:]
			}
			Expect(login(ctx, tlsOf(caCert, "", false))).To(Succeed())
			Expect(login(ctx, tlsOf("", fingerprint1, false))).To(Succeed())
			Expect(login(ctx, tlsOf("", colons, false))).To(Succeed())
			Expect(login(ctx, tlsOf("", fingerprint256, false))).To(Succeed())
			Expect(login(ctx, tlsOf("", "", true))).To(Succeed())
		})

		It("should trust nothing else", func(ctx SpecContext) {
			for _, tls := range []*v1alpha1.TLS{nil, {}, tlsOf(otherCA, "", false), tlsOf(otherCA, "", true),
				tlsOf("", strings.Repeat("0", 64), false), tlsOf("", fingerprint256[:40], false), tlsOf("", strings.Repeat("0", 40), true)} {
				err := login(ctx, tls)
				Expect(err).To(HaveOccurred())
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration), "%v", err)
			}
			Expect(login(ctx, tlsOf("", strings.Repeat("0", 40), false))).To(MatchError(ContainSubstring("thumbprint")))
		})

		It("should refuse a certificate that is none", func(ctx SpecContext) {
			err := login(ctx, tlsOf("nonsense", "", false))
			Expect(err).To(MatchError(`site "cloud": tls.caCert: must contain a PEM certificate`))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		})
	})

	Describe("proxy", func() {
		It("should reach the site through the proxy", func(ctx SpecContext) {
			c := newCloud(ok)
			connection := v1alpha1.OpenStackConnection{AuthURL: "http://keystone.invalid/identity/v3", Region: "west",
				Proxy: &v1alpha1.Proxy{URL: c.URL}}
			session, err := NewSessions().Get(ctx, "cloud", connection, credentials())
			Expect(err).NotTo(HaveOccurred())
			Expect(listPorts(ctx, session)).To(Succeed())
		})
	})

	It("should not open more connections than allowed, and serve all requests with them", func(ctx SpecContext) {
		var (
			active, most atomic.Int32
			full         = make(chan struct{})
			once         sync.Once
		)
		c := newCloud(func(w http.ResponseWriter, r *http.Request) {
			now := active.Add(1)
			defer active.Add(-1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			if now == sharedtransport.MaxConnectionsPerHost {
				once.Do(func() { close(full) })
			}
			<-full
			ok(w, r)
		})
		session, err := NewSessions().Get(ctx, "cloud", c.connection(), credentials())
		Expect(err).NotTo(HaveOccurred())
		Expect(concurrently(3*sharedtransport.MaxConnectionsPerHost, func() error { return listPorts(ctx, session) })).To(BeEmpty())
		Expect(most.Load()).To(BeEquivalentTo(sharedtransport.MaxConnectionsPerHost))
		Eventually(c.closed.Load).WithContext(ctx).Should(BeNumerically(">=", sharedtransport.MaxConnectionsPerHost-maxIdleConnectionsPerHost),
			"they are not kept when they are idle")
	})

	It("should end a request that takes longer than the request timeout and not repeat it", func(ctx SpecContext) {
		var requests atomic.Int32
		stop := make(chan struct{})
		c := newCloud(func(http.ResponseWriter, *http.Request) {
			requests.Add(1)
			<-stop
		})
		DeferCleanup(func() { close(stop) })
		connection := c.connection()
		connection.RequestTimeout = &metav1.Duration{Duration: 2 * time.Second}
		session, err := NewSessions().Get(ctx, "cloud", connection, credentials())
		Expect(err).NotTo(HaveOccurred())
		err = listPorts(ctx, session)
		Expect(err).To(HaveOccurred())
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(requests.Load()).To(BeEquivalentTo(1))
	})

	Describe("metrics", func() {
		DescribeTable("the service of a URL",
			func(target, service string) {
				t := &transport{services: map[string]string{}}
				t.name("http://keystone:5000/v3/", "identity")
				t.name("http://neutron:9696/", "network")
				t.name("http://api/compute/v2.1/", "compute")
				t.name("http://api/image/", "image")
				u, err := url.Parse(target)
				Expect(err).NotTo(HaveOccurred())
				Expect(t.service(u)).To(Equal(service))
			},
			Entry("a host of its own, with a version", "http://keystone:5000/v3/auth/tokens", "identity"),
			Entry("a host of its own, without a path", "http://neutron:9696/v2.0/ports?name=x", "network"),
			Entry("a shared host", "http://api/compute/v2.1/servers/detail", "compute"),
			Entry("another service on it", "http://api/image/v2/images", "image"),
			Entry("the endpoint itself", "http://api/image", "image"),
			Entry("a path that only begins alike", "http://api/imagery/v2", "discovery"),
			Entry("another version", "http://api/compute/", "discovery"),
			Entry("another port", "http://keystone:35357/v3", "discovery"),
		)

		It("should count requests by service, method and code", func(ctx SpecContext) {
			c := newCloud(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/network/v2.0/ports" {
					answer(w, http.StatusForbidden, `{}`)
					return
				}
				ok(w, r)
			})
			session, err := NewSessions().Get(ctx, "counted", c.connection(), credentials())
			Expect(err).NotTo(HaveOccurred())
			Expect(listPorts(ctx, session)).NotTo(Succeed())
			compute, err := session.Compute(ctx)
			Expect(err).NotTo(HaveOccurred())
			_, err = compute.Get(ctx, compute.ServiceURL("servers"), nil, nil)
			Expect(err).NotTo(HaveOccurred())
			volume, err := session.Volume(ctx)
			Expect(err).NotTo(HaveOccurred())
			_, err = volume.Delete(ctx, volume.ServiceURL("volumes", "1"), &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
			Expect(err).NotTo(HaveOccurred())
			c.Close()
			_, err = compute.Post(ctx, compute.ServiceURL("servers"), map[string]string{}, nil, nil)
			Expect(err).To(HaveOccurred())

			for _, labels := range []prometheus.Labels{
				{"api": "identity", "method": "POST", "code": "201"},
				{"api": "discovery", "method": "GET", "code": "200"},
				{"api": "network", "method": "GET", "code": "403"},
				{"api": "compute", "method": "GET", "code": "200"},
				{"api": "compute", "method": "POST", "code": "error"},
				{"api": "volume", "method": "DELETE", "code": "200"},
			} {
				labels["site"] = "counted"
				Expect(platform.RequestDuration.DeletePartialMatch(labels)).To(Equal(1), "%v", labels)
			}
			Expect(platform.RequestDuration.DeletePartialMatch(prometheus.Labels{"site": "counted"})).To(BeZero())
		})
	})
})

// selfSigned is the certificate of an authority that nothing trusts.
func selfSigned() string {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	Expect(err).NotTo(HaveOccurred())
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}
