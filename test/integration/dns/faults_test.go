// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/miekg/dns"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	unauthenticated = gardencorev1beta1.ErrorInfraUnauthenticated
	unauthorized    = gardencorev1beta1.ErrorInfraUnauthorized
	configuration   = gardencorev1beta1.ErrorConfigurationProblem
	missing         = gardencorev1beta1.ErrorRetryableConfigurationProblem
	dependencies    = gardencorev1beta1.ErrorRetryableInfraDependencies
)

var _ = Describe("Faults", func() {
	secrets := 0
	// with gives the DNSRecord a Secret of its own.
	with := func(ctx SpecContext, record *extensionsv1alpha1.DNSRecord, keys map[string]string) {
		secrets++
		record.Spec.SecretRef.Name = "keys-" + strconv.Itoa(secrets)
		makeSecret(ctx, namespace, record.Spec.SecretRef.Name, keys)
	}

	DescribeTable("a server that takes updates says what is wrong, and nothing stands in the way of the deletion",
		func(ctx SpecContext, name, value string, keys func() map[string]string, code gardencorev1beta1.ErrorCode, message string) {
			record := plain.record("fault", name, a, value)
			if name == "" {
				record.Spec.Name = "api.nowhere.example.org"
			}
			with(ctx, record, keys())
			create(ctx, record)
			text := fail(ctx, record, code)
			Expect(text).To(ContainSubstring(message))
			Expect(text).NotTo(ContainSubstring(nameserver.ReadOnly.Secret))
			remove(ctx, record)
		},
		Entry("another secret for the key", "a", "192.0.2.1", func() map[string]string {
			return updateKeys(nameserver.Key{Name: nameserver.Writer.Name, Algorithm: "hmac-sha256", Secret: nameserver.ReadOnly.Secret})
		}, unauthenticated, "different secret", SpecTimeout(limit)),
		Entry("an unknown key", "a", "192.0.2.1", func() map[string]string {
			return updateKeys(nameserver.Key{Name: "nobody", Algorithm: "hmac-sha256", Secret: nameserver.ReadOnly.Secret})
		}, unauthenticated, "does not know key nobody.", SpecTimeout(limit)),
		Entry("another algorithm", "a", "192.0.2.1", func() map[string]string {
			return updateKeys(nameserver.Key{Name: nameserver.Writer.Name, Algorithm: "hmac-sha512", Secret: nameserver.Writer.Secret})
		}, unauthenticated, "does not know key", SpecTimeout(limit)),
		Entry("a refused update", "a", "192.0.2.1", func() map[string]string { return updateKeys(nameserver.ReadOnly) }, unauthorized, "REFUSED",
			SpecTimeout(limit)),
		Entry("no zone", "", "192.0.2.1", func() map[string]string { return updateKeys(nameserver.Writer) }, missing,
			"no zone for api.nowhere.example.org.", SpecTimeout(limit)),
		Entry("a zone of others", "a.elsewhere", "192.0.2.1", func() map[string]string { return updateKeys(nameserver.Writer) }, missing,
			"is delegated to", SpecTimeout(limit)),
		Entry("no address", "a", "2001:db8::1", func() map[string]string { return updateKeys(nameserver.Writer) }, configuration,
			"spec.values[0]", SpecTimeout(limit)),
		Entry("no secret", "a", "192.0.2.1", func() map[string]string {
			return map[string]string{"server": "192.0.2.53", "tsigKeyName": "k"}
		}, configuration, "data[tsigSecret]", SpecTimeout(limit)),
		Entry("an old algorithm", "a", "192.0.2.1", func() map[string]string {
			return updateKeys(nameserver.Key{Name: "k", Algorithm: "hmac-md5", Secret: nameserver.ReadOnly.Secret})
		}, configuration, "data[tsigAlgorithm]", SpecTimeout(limit)),
		Entry("dns.site", "a", "192.0.2.1", func() map[string]string { return map[string]string{"dns.site": "cloud"} }, configuration,
			"data[dns.server]", SpecTimeout(limit)),
	)

	It("should say that a CNAME is in the way", func(ctx SpecContext) {
		Expect(nameserver.Update(ctx, named.Address, nameserver.Writer, plain.zone,
			"taken."+plain.zone+". 120 CNAME other.example.org.")).To(Succeed())
		record := plain.record("taken", "taken", a, "192.0.2.1")
		create(ctx, record)
		Expect(fail(ctx, record, dependencies)).To(ContainSubstring(`"CNAME"`))
		remove(ctx, record)
		Expect(plain.answers(ctx, "taken", dns.TypeCNAME).Values).To(ConsistOf("other.example.org."))
	}, SpecTimeout(limit))

	It("should go on by itself when a server is back, and keep what it knows meanwhile", func(ctx SpecContext) {
		old := plain.record("old", "old", a, "192.0.2.1")
		create(ctx, old)
		succeed(ctx, old)
		named.Process.Stop(ctx)

		record := plain.record("down", "down", a, "192.0.2.1")
		create(ctx, record)
		Expect(fail(ctx, record)).To(ContainSubstring("DNS server " + front.Address))
		Expect(seed.Client.Delete(ctx, old)).To(Succeed())
		fail(ctx, old)

		Expect(named.Process.Start()).To(Succeed())
		Expect(named.WaitReady(ctx, plain.zone)).To(Succeed())
		succeed(ctx, record)
		Expect(plain.answers(ctx, "down", dns.TypeA).Values).To(ConsistOf("192.0.2.1"))
		remove(ctx, old)
		Expect(plain.answers(ctx, "old", dns.TypeA).Values).To(BeEmpty())
	}, SpecTimeout(2*limit))

	It("should give up a record when the shoot is deleted by force", func(ctx SpecContext) {
		record := plain.record("forced", "forced", a, "192.0.2.1")
		create(ctx, record)
		succeed(ctx, record)
		forceDeletion(ctx, true)
		DeferCleanup(func(ctx SpecContext) { forceDeletion(ctx, false) })
		named.Process.Stop(ctx)
		remove(ctx, record)
		Eventually(ctx, func(g Gomega) {
			list := &eventsv1.EventList{}
			g.Expect(seed.Client.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
			g.Expect(list.Items).To(ContainElement(And(HaveField("Reason", "RecordLeft"), HaveField("Regarding.Name", record.Name))))
		}).WithTimeout(patience).Should(Succeed())
		Expect(named.Process.Start()).To(Succeed())
		Expect(named.WaitReady(ctx, plain.zone)).To(Succeed())
	}, SpecTimeout(limit))

	DescribeTable("OpenStack says what is wrong, and nothing stands in the way of the deletion",
		func(ctx SpecContext, domain string, change func(map[string]string), code gardencorev1beta1.ErrorCode, message string) {
			record := cloud.record("fault", "fault", a, "192.0.2.1")
			if domain != "" {
				record.Spec.Name = domain
			}
			keys := designateKeys()
			if change != nil {
				change(keys)
			}
			with(ctx, record, keys)
			create(ctx, record)
			Expect(fail(ctx, record, code)).To(ContainSubstring(message))
			remove(ctx, record)
		},
		Entry("another password", "", func(k map[string]string) { k["password"] = "wrong" }, unauthenticated, `site "dns"`, SpecTimeout(limit)),
		Entry("no zone", "api.nowhere.example.org", nil, missing,
			"no zone in Designate that is visible to the credentials contains api.nowhere.example.org.", SpecTimeout(limit)),
		Entry("no region", "", func(k map[string]string) { k["region"] = "Nowhere" }, configuration,
			"the catalog has no usable public endpoint of the DNS API", SpecTimeout(limit)),
		Entry("no password", "", func(k map[string]string) { delete(k, "password") }, configuration, "data[password]", SpecTimeout(limit)),
	)

	DescribeTable("disturbances of Designate pass",
		func(ctx SpecContext, faults ...countproxy.Fault) {
			for i := range faults {
				faults[i].Service, faults[i].Name = "designate", fmt.Sprint("fault ", i)
			}
			Expect(proxy.SetFaults(faults...)).To(Succeed())
			DeferCleanup(func() { Expect(proxy.SetFaults()).To(Succeed()) })
			record := cloud.record("disturbed", "disturbed", a, "192.0.2.1")
			create(ctx, record)
			succeed(ctx, record)
			for i := range faults {
				Expect(proxy.Acted(faults[i].Name)).To(BeNumerically(">", 0), faults[i].Name)
			}
			Expect(cloud.answers(ctx, "disturbed", dns.TypeA).Values).To(ConsistOf("192.0.2.1"))
			remove(ctx, record)
		},
		Entry("a list that fails",
			countproxy.Fault{Method: http.MethodGet, Path: "/recordsets$", Action: countproxy.ActionStatus, Status: 503,
				Times: 2}, SpecTimeout(limit)),
		Entry("a creation whose answer is lost",
			countproxy.Fault{Method: http.MethodPost, Path: "/recordsets$", Action: countproxy.ActionReset, After: true,
				Times: 1}, SpecTimeout(limit)),
		Entry("a creation that fails",
			countproxy.Fault{Method: http.MethodPost, Path: "/recordsets$", Action: countproxy.ActionStatus, Status: 500,
				Times: 2}, SpecTimeout(limit)),
	)

	It("should leave Designate alone for as long as it asks to", func(ctx SpecContext) {
		Expect(proxy.SetFaults(countproxy.Fault{
			Name: "throttle", Service: "designate", Method: http.MethodPost, Path: "/recordsets$", Action: countproxy.ActionStatus, Status: 429,
			Header: http.Header{"Retry-After": {"35"}}, Times: 1,
		})).To(Succeed())
		DeferCleanup(func() { Expect(proxy.SetFaults()).To(Succeed()) })
		proxy.SetLabel("throttle")
		defer proxy.SetLabel("")
		record := cloud.record("throttled", "throttled", a, "192.0.2.1")
		create(ctx, record)
		Expect(fail(ctx, record)).To(ContainSubstring("it asked clients to back off"))
		succeed(ctx, record)
		var refused, next time.Time
		for _, r := range proxy.Requests("throttle") {
			switch {
			case r.Status == http.StatusTooManyRequests:
				refused = r.Start
			case !refused.IsZero() && next.IsZero():
				next = r.Start
			}
		}
		Expect(next.Sub(refused)).To(BeNumerically(">=", 35*time.Second))
		remove(ctx, record)
	}, SpecTimeout(limit))
})

var _ = Describe("Many DNSRecords", func() {
	DescribeTable("should be written and removed", many,
		suite.NightlyEntries(Entry("40 in Designate", cloud, 40, SpecTimeout(10*time.Minute))),
		Entry("100 by dynamic updates", plain, 100, SpecTimeout(10*time.Minute)),
	)
	suite.Nightly("of a large landscape", func() {
		DescribeTable("should be written and removed", many,
			Entry("1,000 by dynamic updates", plain, 1000, SpecTimeout(10*time.Minute)),
		)
	})
})

// many creates a number of records at the same time, and removes them.
func many(ctx SpecContext, b *backend, count int) {
	var records []*extensionsv1alpha1.DNSRecord
	start := time.Now()
	for i := range count {
		record := b.record(fmt.Sprintf("many-%d", i), fmt.Sprintf("many-%d", i), a, fmt.Sprintf("192.0.2.%d", 1+i%250))
		Expect(seed.Client.Create(ctx, record)).To(Succeed())
		records = append(records, record)
	}
	succeed(ctx, records...)
	AddReportEntry(fmt.Sprintf("%d records of type %s", count, b.kind), time.Since(start).String())
	for i := range count {
		Expect(b.answers(ctx, fmt.Sprintf("many-%d", i), dns.TypeA).Values).To(ConsistOf(records[i].Spec.Values))
	}
	remove(ctx, records...)
	for i := range count {
		b.expectGone(ctx, fmt.Sprintf("many-%d", i))
	}
}
