// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"io"
	"net"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Messages tell which hosts, ports and protocols there are.
var _ = Describe("argo-cd#2705", func() {
	// listen answers each connection with what talk writes.
	listen := func(talk func(net.Conn)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(l.Close)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					talk(conn)
				}()
			}
		}()
		return l.Addr().String()
	}
	say := func(text string) func(net.Conn) {
		return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
	}
	closed := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		Expect(l.Close()).To(Succeed())
		return l.Addr().String()
	}
	web := func(tls bool, status int, body string) func() string {
		return func() string {
			return hostOf(serve("127.0.0.1", tls, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			}).URL)
		}
	}

	DescribeTable("should say the same whatever is there",
		func(ctx SpecContext, target func() string) {
			address := target()
			trusted := serve("127.0.0.1", true, http.NotFound).authority() // all have the same certificate
			designate := newAttacker().try(ctx, v1alpha1.DNSTypeDesignate, login("https://"+address+"/v3", trusted))
			Expect(designate.text).To(Equal(`site "dns": Designate behind <target> ` + unusable))
			Expect(designate.codes).To(BeEmpty())

			a := newAttacker()
			update := a.try(ctx, v1alpha1.DNSTypeRFC2136, map[string]string{"server": address, "tsigKeyName": "k", "tsigSecret": "aHVzaA=="})
			Expect(update.text).To(Equal("DNS server <target> " + unusable))
			Expect(update.codes).To(BeEmpty())
		},
		Entry("nothing", closed),
		Entry("an address that may not be connected to", func() string { return "127.0.0.3:22" }),
		Entry("another address that may not be connected to", func() string { return "10.1.2.3:443" }),
		Entry("a name that does not exist", func() string { return "does-not-exist.svc:443" }),
		Entry("a service that is silent", func() string { return listen(func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }) }),
		Entry("a service that hangs up", func() string { return listen(func(net.Conn) {}) }),
		Entry("SSH", func() string { return listen(say("SSH-2.0-OpenSSH_9.2p1\r\n")) }),
		Entry("SMTP", func() string { return listen(say("220 mail ESMTP\r\n")) }),
		Entry("HTTP", web(false, http.StatusOK, "{}")),
		Entry("HTTPS that has no such path", web(true, http.StatusNotFound, "")),
		Entry("HTTPS that answers with a page", web(true, http.StatusOK, "<html></html>")),
		Entry("HTTPS that answers with nothing", web(true, http.StatusCreated, "null")),
		Entry("HTTPS that has a failure", web(true, http.StatusBadGateway, "")),
		Entry("HTTPS that wants something else", web(true, http.StatusBadRequest, "")),
	)

	It("should say the same of a certificate that is not trusted", func(ctx SpecContext) {
		s := serve("127.0.0.1", true, http.NotFound)
		keys := login(s.URL+"/v3", "")
		delete(keys, "caCert")
		result := newAttacker().try(ctx, v1alpha1.DNSTypeDesignate, keys)
		Expect(result.text).To(Equal(`site "dns": Designate behind <target> ` + unusable))
		Expect(result.codes).To(BeEmpty())
	})
})
