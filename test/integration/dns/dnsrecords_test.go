// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"fmt"
	"strings"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/miekg/dns"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	a, aaaa    = extensionsv1alpha1.DNSRecordTypeA, extensionsv1alpha1.DNSRecordTypeAAAA
	cname, txt = extensionsv1alpha1.DNSRecordTypeCNAME, extensionsv1alpha1.DNSRecordTypeTXT
	limit      = 4 * time.Minute
)

var _ = Describe("DNSRecords", func() {
	DescribeTable("should be what the DNS server answers, until they are deleted",
		func(ctx SpecContext, b *backend) {
			long := strings.Repeat("0123456789", 30)
			expected := map[string]struct {
				record *extensionsv1alpha1.DNSRecord
				kind   uint16
				asked  string
				values []string
			}{
				"address": {b.record("a", "api", a, "192.0.2.1"), dns.TypeA, "api", []string{"192.0.2.1"}},
				"several": {b.record("aa", "several", a, "192.0.2.3", "192.0.2.2", "192.0.2.3"), dns.TypeA, "several",
					[]string{"192.0.2.2", "192.0.2.3"}},
				"IPv6": {b.record("aaaa", "api", aaaa, "2001:db8::1", "2001:DB8:0::2"), dns.TypeAAAA, "api",
					[]string{"2001:db8::1", "2001:db8::2"}},
				"alias": {b.record("cname", "alias", cname, "Lb.Example.org"), dns.TypeCNAME, "alias", []string{"lb.example.org."}},
				"text": {b.record("txt", "text", txt, `say "hi" \o/ to ü`, long), dns.TypeTXT, "text",
					[]string{`"` + long[:253] + `" "` + long[253:] + `"`, `"say \"hi\" \\o/ to \195\188"`}},
				"wildcard": {b.record("wild", "*.ingress", a, "192.0.2.9"), dns.TypeA, "any.ingress", []string{"192.0.2.9"}},
				"shadowed": {b.record("shadowed", "own.ingress", a, "192.0.2.9"), dns.TypeA, "own.ingress", []string{"192.0.2.9"}},
			}
			for _, e := range expected {
				create(ctx, e.record)
			}
			for what, e := range expected {
				By(what)
				succeed(ctx, e.record)
				Expect(*e.record.Status.Zone).To(Equal(b.id))
				Expect(b.answers(ctx, e.asked, e.kind)).To(Equal(nameserver.Answer{Values: e.values, TTL: 120}))
			}

			By("one that a wildcard with the same value covers is there itself")
			remove(ctx, expected["wildcard"].record)
			Expect(b.answers(ctx, "own.ingress", dns.TypeA).Values).To(ConsistOf("192.0.2.9"))

			By("other values and another TTL")
			change(ctx, expected["several"].record, func(r *extensionsv1alpha1.DNSRecord) {
				r.Spec.Values, r.Spec.TTL = []string{"192.0.2.4", "192.0.2.2"}, new(int64(60))
			})
			Expect(b.answers(ctx, "several", dns.TypeA)).To(Equal(nameserver.Answer{Values: []string{"192.0.2.2", "192.0.2.4"}, TTL: 60}))

			for what, e := range expected {
				By("deletion: " + what)
				remove(ctx, e.record)
				// Designate does not show a deleted record any more while it tells its name servers.
				Eventually(ctx, func() []string { return b.answers(ctx, e.asked, e.kind).Values }).WithTimeout(patience).Should(BeEmpty())
			}
		},
		Entry("Designate", cloud, SpecTimeout(3*limit)),
		Entry("dynamic updates", plain, SpecTimeout(limit)),
	)

	It("should ask Designate once if there is nothing to do", func(ctx SpecContext) {
		record := cloud.record("noop", "noop", a, "192.0.2.1", "192.0.2.2")
		create(ctx, record)
		succeed(ctx, record)
		get(ctx, record)
		for i := range 3 {
			label := fmt.Sprintf("noop-%d", i)
			proxy.SetLabel(label)
			change(ctx, record, nil)
			proxy.SetLabel("")
			Expect(proxy.Requests(label)).To(ConsistOf(HaveField("Method", "GET")))
		}
	}, SpecTimeout(limit))

	It("should ask a server once if there is nothing to do", func(ctx SpecContext) {
		record := plain.record("noop", "noop", a, "192.0.2.1", "192.0.2.2")
		create(ctx, record)
		succeed(ctx, record)
		for range 3 {
			front.Take()
			change(ctx, record, nil)
			Expect(operations(front.Take())).To(Equal([]string{"QUERY"}))
		}
	}, SpecTimeout(limit))

	It("should put back what somebody changed", func(ctx SpecContext) {
		record := plain.record("drift", "drift", a, "192.0.2.1")
		create(ctx, record)
		succeed(ctx, record)
		Expect(nameserver.Update(ctx, named.Address, nameserver.Writer, plain.zone, "drift."+plain.zone+". 120 A 192.0.2.66")).To(Succeed())
		change(ctx, record, nil)
		Expect(plain.answers(ctx, "drift", dns.TypeA).Values).To(ConsistOf("192.0.2.1"))
	}, SpecTimeout(limit))

	DescribeTable("should delete its own values only",
		func(ctx SpecContext, b *backend) {
			record := b.record("shared", "shared", a, "192.0.2.1")
			create(ctx, record)
			succeed(ctx, record)
			other := b.record("other", "shared", a, "192.0.2.1", "192.0.2.2")
			create(ctx, other)
			succeed(ctx, other)
			remove(ctx, record)
			Expect(b.answers(ctx, "shared", dns.TypeA).Values).To(ConsistOf("192.0.2.2"))
			remove(ctx, other)
			b.expectGone(ctx, "shared")
		},
		Entry("Designate", cloud, SpecTimeout(limit)),
		Entry("dynamic updates", plain, SpecTimeout(limit)),
	)

	It("should take the zone with the longest name, and refuse one whose records nobody sees", func(ctx SpecContext) {
		found := plain.record("longest", "x.deep", a, "192.0.2.1")
		create(ctx, found)
		succeed(ctx, found)
		Expect(*found.Status.Zone).To(Equal("deep.plain.example.test."))

		asked := plain.record("asked", "y.deep", txt, "here")
		asked.Spec.Zone = new(plain.zone)
		create(ctx, asked)
		Expect(fail(ctx, asked, missing)).To(ContainSubstring("answers y.deep.plain.example.test. from zone deep.plain.example.test."))
		change(ctx, asked, func(r *extensionsv1alpha1.DNSRecord) { r.Spec.Zone = new("deep." + plain.zone) })
		Expect(*asked.Status.Zone).To(Equal("deep.plain.example.test."))
		Expect(plain.answers(ctx, "y.deep", dns.TypeTXT).Values).To(ConsistOf(`"here"`))
	}, SpecTimeout(limit))

	suite.NightlyIt("should find a zone of Designate again that was deleted and made anew", func(ctx SpecContext) {
		zone := "anew-" + run + ".example.test"
		id, err := designate.MakeZone(ctx, zone)
		Expect(err).NotTo(HaveOccurred())
		b := &backend{kind: cloud.kind, secret: cloud.secret, zone: zone, server: cloud.server}
		record := b.record("anew", "api", a, "192.0.2.1")
		create(ctx, record)
		succeed(ctx, record)
		Expect(*record.Status.Zone).To(Equal(id))

		Expect(designate.DeleteZone(ctx, id)).To(Succeed())
		id, err = designate.MakeZone(ctx, zone)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(designate.DeleteZone(ctx, id)).To(Succeed()) }, NodeTimeout(2*time.Minute))
		change(ctx, record, nil)
		Expect(*record.Status.Zone).To(Equal(id))
		Expect(b.answers(ctx, "api", dns.TypeA).Values).To(ConsistOf("192.0.2.1"))
		remove(ctx, record)
	}, SpecTimeout(2*limit))

	DescribeTable("should serve the garden and seeds",
		func(ctx SpecContext, class extensionsv1alpha1.ExtensionClass, b *backend) {
			record := b.record(string(class), string(class), a, "192.0.2.1")
			record.Namespace, record.Spec.SecretRef.Namespace, record.Spec.Class = garden, garden, &class
			create(ctx, record)
			succeed(ctx, record)
			Expect(b.answers(ctx, string(class), dns.TypeA).Values).To(ConsistOf("192.0.2.1"))
		},
		Entry("garden, Designate", extensionsv1alpha1.ExtensionClassGarden, cloud, SpecTimeout(limit)),
		Entry("seed, dynamic updates", extensionsv1alpha1.ExtensionClassSeed, plain, SpecTimeout(limit)),
	)

	It("should use the credentials and the endpoint of a site, and its session", func(ctx SpecContext) {
		keys := map[string]string{"dns.site": "cloud", "cloud2.username": "nobody"}
		for key, value := range access.SiteCredentials() {
			keys["cloud."+key] = value
		}
		makeSecret(ctx, namespace, "shoot", keys)
		record := cloud.record("site", "site", a, "192.0.2.1")
		record.Spec.SecretRef.Name = "shoot"
		create(ctx, record)
		succeed(ctx, record)
		Expect(cloud.answers(ctx, "site", dns.TypeA).Values).To(ConsistOf("192.0.2.1"))
	}, SpecTimeout(limit))

	It("should take keys with the prefix, strong keys and those of external-dns-management", func(ctx SpecContext) {
		keys := map[string]string{"cloud.username": "somebody"}
		for key, value := range updateKeys(nameserver.Strong) {
			keys["dns."+key] = value
		}
		makeSecret(ctx, namespace, "prefixed", keys)
		makeSecret(ctx, namespace, "aliases", map[string]string{
			"Server": front.Address, "TSIGKeyName": nameserver.Strong.Name +
				".", "TSIGSecret": nameserver.Strong.Secret, "TSIGSecretAlgorithm": "hmac-sha512.",
		})
		for _, secret := range []string{"prefixed", "aliases"} {
			record := plain.record(secret, secret, a, "192.0.2.1")
			record.Spec.SecretRef.Name = secret
			create(ctx, record)
			succeed(ctx, record)
		}
	}, SpecTimeout(limit))

	DescribeTable("should leave the record alone when the shoot migrates, and know it after",
		func(ctx SpecContext, b *backend) {
			record := b.record("moving", "moving", a, "192.0.2.1")
			create(ctx, record)
			succeed(ctx, record)
			state := record.Status.State
			order(ctx, record, v1beta1constants.GardenerOperationMigrate, nil)
			Eventually(ctx, func() []string { get(ctx, record); return record.Finalizers }).WithTimeout(patience).Should(BeEmpty())
			remove(ctx, record)
			Expect(b.answers(ctx, "moving", dns.TypeA).Values).To(ConsistOf("192.0.2.1"))

			// The other seed has its own load balancer.
			restored := b.record("moving", "moving", a, "192.0.2.2")
			restored.Annotations = operation(v1beta1constants.GardenerOperationWaitForState)
			create(ctx, restored)
			restored.Status.State = state
			Expect(seed.Client.Status().Update(ctx, restored)).To(Succeed())
			order(ctx, restored, v1beta1constants.GardenerOperationRestore, nil)
			succeed(ctx, restored)
			Expect(b.answers(ctx, "moving", dns.TypeA).Values).To(ConsistOf("192.0.2.2"))
		},
		Entry("Designate", cloud, SpecTimeout(limit)),
		Entry("dynamic updates", plain, SpecTimeout(limit)),
	)
})
