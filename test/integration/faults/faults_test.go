// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

// fault disturbs a site for some time.
type fault struct {
	pool string
	// lasts is the shortest time it lasts; long is that of a real outage.
	lasts, long time.Duration
	begin, end  func(context.Context) error
	// code is the code of machine-controller-manager for a creation that meets the fault.
	code string
	// recovery is how long it may take until the pool has its machines after the fault has ended; zero leaves that to a later
	// test.
	recovery time.Duration
}

var _ = Describe("A fault of one of two sites", Ordered, func() {
	const (
		atOnce = 2 * time.Minute // most of it is the boot of servers if others load OpenStack
		short  = 10 * time.Second

		faultTimeout = 10 * time.Minute
	)
	var (
		infrastructure *extensionsv1alpha1.Infrastructure
		worker         *extensionsv1alpha1.Worker
		earlySize      int
		lastEnded      time.Time
	)

	BeforeAll(func(ctx SpecContext) {
		var err error
		infrastructure, err = local.Infrastructure()
		Expect(err).NotTo(HaveOccurred())
		Expect(local.Create(ctx, infrastructure)).To(Succeed())
		worker = workerOfPools(infrastructure)
		Expect(local.Create(ctx, worker)).To(Succeed())
		for pool := range zones {
			specs.ExpectRunning(ctx, poolOf(pool), "", 1, atOnce)
		}
	}, NodeTimeout(12*time.Minute))

	DescribeTable("should lose no server, not delay the other site, and be recovered from without help",
		func(ctx SpecContext, f fault) {
			lasts := f.lasts
			if long && f.long > 0 {
				lasts = f.long
			}
			before := servers(ctx)

			Expect(f.begin(ctx)).To(Succeed())
			ended := false
			DeferCleanup(func(ctx SpecContext) {
				if !ended {
					Expect(f.end(ctx)).To(Succeed())
				}
			})
			start := time.Now()
			size := scale(ctx, f.pool, 2)
			code, message := specs.Failure(ctx, poolOf(f.pool), "", requestTimeout+30*time.Second)
			Expect(code).To(Equal(f.code), message)
			specs.ExpectIsolated(ctx, poolOf(other), zones[other])
			Expect(poolOf(f.pool).Running(ctx, "", size)).NotTo(Succeed(), "the site is still disturbed")
			select {
			case <-time.After(lasts - time.Since(start)):
			case <-ctx.Done():
			}
			Expect(f.end(ctx)).To(Succeed())
			ended, lastEnded = true, time.Now()
			lasted := time.Since(start)

			recovered := "later"
			if f.recovery > 0 {
				recovered = fmt.Sprintf("%.0f s", specs.ExpectRunning(ctx, poolOf(f.pool), "", size, f.recovery).Seconds())
				Expect(leftOver(ctx)).To(BeEmpty())
			} else {
				earlySize = size
			}
			now := servers(ctx)
			for id, name := range before {
				Expect(now).To(HaveKeyWithValue(id, name))
			}
			AddReportEntry("fault", fmt.Sprintf("lasted %.0f s; recovered in %s; %s", lasted.Seconds(), recovered, message),
				ReportEntryVisibilityAlways)
		},
		// machine-controller-manager repeats this creation after 3 minutes only: the other faults happen meanwhile.
		Entry("401 for everything", SpecTimeout(faultTimeout), fault{
			pool: early, lasts: short, long: 5 * time.Minute, code: "Unauthenticated",
			begin: answer(http.StatusUnauthorized), end: noFaults,
		}),
		Entry("503 for everything", SpecTimeout(faultTimeout), fault{
			pool: late, lasts: short, code: "Unavailable", recovery: atOnce,
			begin: answer(http.StatusServiceUnavailable), end: noFaults,
		}),
		Entry("Neutron's port quota is 0", SpecTimeout(faultTimeout), fault{
			pool: late, lasts: short, code: "ResourceExhausted", recovery: atOnce,
			begin: limitPorts, end: unlimitPorts,
		}),
		Entry("Nova is down", SpecTimeout(faultTimeout), fault{
			// After 2 minutes without a successful call, the code is ResourceExhausted and machine-controller-manager waits for 10 minutes.
			pool: late, lasts: short, long: 100 * time.Second, code: "Unavailable", recovery: atOnce,
			begin: func(context.Context) error { return proxy.TakeDown("nova") },
			end:   func(context.Context) error { return proxy.BringUp("nova") },
		}),
		Entry("Neutron hangs", SpecTimeout(faultTimeout), fault{
			pool: late, lasts: short, code: "Unavailable", recovery: atOnce,
			begin: func(context.Context) error {
				return proxy.SetFaults(countproxy.Fault{Service: "neutron", Action: countproxy.ActionHang})
			},
			end: noFaults,
		}),
	)

	It("should have been recovered from, also where machine-controller-manager waits long", func(ctx SpecContext) {
		Expect(earlySize).To(BeNumerically(">", 1))
		// An attempt that met a later fault is repeated 3 minutes after that. A negative time would be no bound at all.
		left := max(4*time.Minute-time.Since(lastEnded), time.Second)
		Expect(specs.ExpectRunning(ctx, poolOf(early), "", earlySize, left)).To(BeNumerically("<=", 4*time.Minute))
		Expect(leftOver(ctx)).To(BeEmpty())
	}, SpecTimeout(10*time.Minute))

	// When the deletion of the Worker is repeated, machine-controller-manager may see a machine class and its Secret again just before
	// they are gone; it then looks at the Secret's finalizer only after 10 minutes.
	It("should not keep machines from being deleted in the end", func(ctx SpecContext) {
		Expect(answer(http.StatusServiceUnavailable)(ctx)).To(Succeed())
		ended := time.AfterFunc(short, func() { _ = proxy.SetFaults() })
		DeferCleanup(ended.Stop)
		Expect(local.Delete(ctx, worker)).To(Succeed())
		Expect(local.Delete(ctx, infrastructure)).To(Succeed())
		objects, err := local.Objects(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(objects).To(BeEmpty())
	}, SpecTimeout(15*time.Minute))
})

// answer lets all services, Keystone too, answer with a status.
func answer(status int) func(context.Context) error {
	return func(context.Context) error {
		return proxy.SetFaults(countproxy.Fault{Action: countproxy.ActionStatus, Status: status, Body: `{"error": {"message": "fault"}}`})
	}
}

func noFaults(context.Context) error {
	return proxy.SetFaults()
}

func limitPorts(ctx context.Context) error {
	return project.SetPortQuota(ctx, 0)
}

func unlimitPorts(ctx context.Context) error {
	return project.SetPortQuota(ctx, -1)
}
