// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/miekg/dns"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = suite.Nightly("The extension that is killed after a write", func() {
	// live creates a DNSRecord, changes its values and deletes it, and looks for each in the DNS.
	live := func(ctx context.Context, b *backend, k int) {
		GinkgoHelper()
		name := fmt.Sprintf("crash-%d", k)
		record := b.record(name, name, a, "192.0.2.1")
		create(ctx, record)
		succeed(ctx, record)
		Expect(b.answers(ctx, name, dns.TypeA).Values).To(ConsistOf("192.0.2.1"))
		change(ctx, record, func(r *extensionsv1alpha1.DNSRecord) { r.Spec.Values = []string{"192.0.2.2", "192.0.2.3"} })
		Expect(b.answers(ctx, name, dns.TypeA).Values).To(ConsistOf("192.0.2.2", "192.0.2.3"))
		remove(ctx, record)
		Expect(b.answers(ctx, name, dns.TypeA).Values).To(BeEmpty())
	}

	It("should have the records in Designate that it would have", func(ctx SpecContext) {
		lines, err := proxy.AfterEachWrite(seed.Extension.Name, seed.Extension, func(k int) error {
			live(ctx, cloud, k)
			return nil
		})
		AddReportEntry("crashes", strings.Join(lines, "\n"), ReportEntryVisibilityAlways)
		Expect(err).NotTo(HaveOccurred())
		Expect(lines).To(HaveLen(1+3), "a record is made, changed and deleted with a write each")
	}, SpecTimeout(12*time.Minute))

	It("should have the records on a server that takes updates that it would have", func(ctx SpecContext) {
		front.Take()
		live(ctx, plain, 0)
		updates := 0
		for _, m := range front.Take() {
			if m.Operation == "UPDATE" {
				updates++
			}
		}
		Expect(updates).To(Equal(3))
		for k := 1; k <= updates; k++ {
			restarted := make(chan error, 1)
			front.AfterUpdate(k-1, func() {
				seed.Extension.Kill()
				restarted <- seed.Extension.Start()
			})
			live(ctx, plain, k)
			Expect(restarted).To(Receive(BeNil()), "update %d", k)
		}
	}, SpecTimeout(8*time.Minute))
})
