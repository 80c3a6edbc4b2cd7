// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rfc2136_test

import (
	"context"
	"net"
	"net/netip"

	mdns "github.com/miekg/dns"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns/rfc2136"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

const secret = "aHVzaA=="

// server answers with what handle makes of each message.
func server(handle func(question *mdns.Msg, answer *mdns.Msg)) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	s := &mdns.Server{Listener: listener, TsigSecret: map[string]string{"key.": secret},
		Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, question *mdns.Msg) {
			answer := new(mdns.Msg).SetReply(question)
			answer.Authoritative = true
			if signature := question.IsTsig(); signature != nil && w.TsigStatus() == nil {
				answer.SetTsig(signature.Hdr.Name, signature.Algorithm, 300, int64(signature.TimeSigned))
			}
			handle(question, answer)
			_ = w.WriteMsg(answer)
		})}
	// What it takes is up to handle.
	s.MsgAcceptFunc = func(mdns.Header) mdns.MsgAcceptAction { return mdns.MsgAccept }
	go func() { _ = s.ActivateAndServe() }()
	DeferCleanup(s.Shutdown)
	return listener.Addr().String()
}

var guard = &transport.Guard{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

func open(address string) dns.Provider {
	return openWith(rfc2136.New(guard), address, secret)
}

func openWith(service dns.Service, address, secret string) dns.Provider {
	provider, err := service.Open(context.Background(),
		dns.Access{Credentials: dns.Credentials{"server": address, "tsigKeyName": "KEY", "tsigSecret": secret}})
	Expect(err).NotTo(HaveOccurred())
	return provider
}

var _ = Describe("Provider", func() {
	record := dns.Record{Name: "api.example.test.", Type: dns.TypeA, TTL: 120, Values: []string{"192.0.2.1"}}

	DescribeTable("errors",
		func(ctx SpecContext, class platform.Class, handle func(*mdns.Msg, *mdns.Msg)) {
			err := open(server(handle)).Ensure(ctx, "example.test.", record, false)
			Expect(err).To(HaveOccurred())
			Expect(platform.ClassOf(err)).To(Equal(class))
			Expect(err.Error()).NotTo(ContainSubstring(secret))
		},
		Entry("an answer without a signature", platform.ClassUnauthenticated, func(_, answer *mdns.Msg) { answer.Extra = nil }),
		Entry("a failure without a signature", platform.ClassTransient,
			func(_, answer *mdns.Msg) { answer.Extra, answer.Rcode = nil, mdns.RcodeServerFailure }),
		Entry("no updates", platform.ClassConfiguration, func(_, answer *mdns.Msg) { answer.Rcode = mdns.RcodeNotImplemented }),
		Entry("a zone that is not there", platform.ClassNotFound, func(_, answer *mdns.Msg) { answer.Rcode = mdns.RcodeNotAuth }),
		Entry("a name outside of the zone", platform.ClassConfiguration, func(_, answer *mdns.Msg) { answer.Rcode = mdns.RcodeNotZone }),
		Entry("refused", platform.ClassForbidden, func(_, answer *mdns.Msg) { answer.Rcode = mdns.RcodeRefused }),
		Entry("clocks that differ", platform.ClassTransient, func(_, answer *mdns.Msg) {
			answer.Rcode = mdns.RcodeNotAuth
			answer.IsTsig().Error = mdns.RcodeBadTime
		}),
	)

	It("should be told of a server that is not there", func(ctx SpecContext) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		Expect(listener.Close()).To(Succeed())
		err = open(listener.Addr().String()).Ensure(ctx, "example.test.", record, true)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(err).To(MatchError(ContainSubstring("could not be used as a DNS service")))
	})

	It("should have deleted what was in a zone that is not there", func(ctx SpecContext) {
		Expect(open(server(func(_, answer *mdns.Msg) { answer.Rcode = mdns.RcodeNotAuth })).Delete(ctx, "example.test.", record)).To(Succeed())
	})

	It("should not believe an answer that is not the authority's", func(ctx SpecContext) {
		updates := 0
		address := server(func(question, answer *mdns.Msg) {
			if question.Opcode == mdns.OpcodeUpdate {
				updates++
				return
			}
			answer.Authoritative = updates > 0
			rr, _ := mdns.NewRR("api.example.test. 120 A 192.0.2.1")
			answer.Answer = append(answer.Answer, rr)
		})
		Expect(open(address).Ensure(ctx, "example.test.", record, true)).To(Succeed())
		Expect(updates).To(Equal(1))
	})

	It("should wait until the server answers with the record", func(ctx SpecContext) {
		looks := 0
		address := server(func(question, answer *mdns.Msg) {
			if question.Opcode == mdns.OpcodeQuery && question.Question[0].Qtype == mdns.TypeA {
				if looks++; looks > 2 {
					rr, _ := mdns.NewRR("API.example.test. 120 A 192.0.2.1")
					answer.Answer = append(answer.Answer, rr)
				}
			}
		})
		Expect(open(address).Ensure(ctx, "example.test.", record, false)).To(Succeed())
		Expect(looks).To(Equal(3))
	})

	DescribeTable("should not say that nothing was written if only the look at it is refused",
		func(ctx SpecContext, code int) {
			address := server(func(question, answer *mdns.Msg) {
				if question.Opcode == mdns.OpcodeQuery {
					answer.Rcode = code
				}
			})
			err := open(address).Ensure(ctx, "example.test.", record, false)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			Expect(err).To(MatchError(ContainSubstring("accepted record api.example.test. of type A, but cannot be queried for it")))
		},
		Entry("by a primary that answers nobody", mdns.RcodeRefused),
		Entry("by one that says it is not authoritative", mdns.RcodeNotAuth),
	)

	DescribeTable("should not say that nothing was written if only the signature of the answer is wrong",
		func(ctx SpecContext, message string, spoil func(*mdns.Msg)) {
			address := server(func(question, answer *mdns.Msg) {
				if question.Opcode == mdns.OpcodeUpdate {
					spoil(answer)
				}
			})
			err := open(address).Ensure(ctx, "example.test.", record, false)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			Expect(err).To(MatchError(And(ContainSubstring("accepted record api.example.test. of type A, but its response cannot be trusted"),
				ContainSubstring(message))))
		},
		Entry("as there is none", "does not sign its responses (NOERROR)", func(answer *mdns.Msg) { answer.Extra = nil }),
		Entry("as it is too old", "bad time", func(answer *mdns.Msg) { answer.IsTsig().TimeSigned -= 3600 }),
	)

	It("should walk up past an alias that a wildcard makes", func(ctx SpecContext) {
		var asked []string
		address := server(func(question, answer *mdns.Msg) {
			name := question.Question[0].Name
			asked = append(asked, name)
			text := name + " 60 CNAME other.test."
			if name == "example.test." {
				text = name + " 60 SOA ns.example.test. admin.example.test. 1 1 1 1 1"
			}
			rr, _ := mdns.NewRR(text)
			answer.Answer = append(answer.Answer, rr)
		})
		provider := open(address)
		for range 2 {
			Expect(provider.Zone(ctx, "", "a.b.example.test")).To(Equal("example.test."))
		}
		Expect(asked).To(Equal([]string{"a.b.example.test.", "b.example.test.", "example.test."}))
	})

	It("should tell what it found with a secret to nobody who has another", func(ctx SpecContext) {
		address := server(func(question, answer *mdns.Msg) {
			rr, _ := mdns.NewRR("example.test. 60 SOA ns.example.test. admin.example.test. 1 1 1 1 1")
			answer.Ns = append(answer.Ns, rr)
		})
		service := rfc2136.New(guard)
		Expect(openWith(service, address, secret).Zone(ctx, "", "api.example.test")).To(Equal("example.test."))
		_, err := openWith(service, address, "b3RoZXI=").Zone(ctx, "", "api.example.test")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
	})

	It("should be progress if the server does not answer with what it accepted", func(ctx SpecContext) {
		err := open(server(func(*mdns.Msg, *mdns.Msg) {})).Ensure(ctx, "example.test.", record, false)
		Expect(platform.IsProgress(err)).To(BeTrue())
	})

	It("should take the zone that is given, if the name is in it", func(ctx SpecContext) {
		provider := open("127.0.0.1:1")
		Expect(provider.Zone(ctx, "Example.test", "api.example.test")).To(Equal("example.test."))
		_, err := provider.Zone(ctx, "other.test", "api.example.test")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	It("should not make an alias of a zone's own name", func(ctx SpecContext) {
		alias := dns.Record{Name: "example.test.", Type: dns.TypeCNAME, TTL: 120, Values: []string{"other.test."}}
		Expect(platform.ClassOf(open("127.0.0.1:1").Ensure(ctx, "example.test.", alias, false))).To(Equal(platform.ClassConfiguration))
	})
})

var _ = Describe("Open", func() {
	DescribeTable("should refuse",
		func(ctx SpecContext, access dns.Access) {
			_, err := rfc2136.New(guard).Open(ctx, access)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("a site", dns.Access{Site: &v1alpha1.CloudProfileSite{}}),
		Entry("no key", dns.Access{Credentials: dns.Credentials{"server": "ns.test"}}),
		Entry("an old algorithm",
			dns.Access{Credentials: dns.Credentials{"server": "ns.test", "tsigKeyName": "k", "tsigSecret": secret, "tsigAlgorithm": "hmac-sha1"}}),
	)
})
