// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package threeplatforms_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

// times are how long the other sites take to create a machine and to delete one.
type times struct{ cloudCreated, cloudDeleted, vcCreated, vcDeleted time.Duration }

// String tells the times in seconds.
func (t times) String() string {
	return fmt.Sprintf("cloud: created in %.0f s, deleted in %.0f s; vc: created in %.0f s, deleted in %.0f s",
		t.cloudCreated.Seconds(), t.cloudDeleted.Seconds(), t.vcCreated.Seconds(), t.vcDeleted.Seconds())
}

// measure adds a machine to each of the other sites and removes it.
func measure(ctx context.Context) (t times) {
	GinkgoHelper()
	t.cloudCreated, t.vcCreated = scaleOthers(ctx, 1)
	t.cloudDeleted, t.vcDeleted = scaleOthers(ctx, -1)
	return t
}

// scaleOthers scales the pool on both other sites at the same time, and returns how long each took.
func scaleOthers(ctx context.Context, by int32) (inCloud, inVC time.Duration) {
	GinkgoHelper()
	cloudSize, vcSize := scale(ctx, cloud, by), scale(ctx, vc, by)
	var group sync.WaitGroup
	group.Go(func() {
		defer GinkgoRecover()
		inCloud = expectRunning(ctx, mixed(), cloud, cloudSize, inTime)
	})
	group.Go(func() {
		defer GinkgoRecover()
		inVC = expectRunning(ctx, mixed(), vc, vcSize, inTime)
	})
	group.Wait()
	return inCloud, inVC
}

// notMoreThan tells whether the times are those of undisturbed sites: a tick of machine-controller-manager and one of the test are
// no delay.
func (t times) notMoreThan(normal times) bool {
	const ticks = 15 * time.Second
	return t.cloudCreated <= normal.cloudCreated+ticks && t.cloudDeleted <= normal.cloudDeleted+ticks &&
		t.vcCreated <= normal.vcCreated+ticks && t.vcDeleted <= normal.vcDeleted+ticks
}

// orFaster takes the shorter of each two times.
func (t times) orFaster(other times) times {
	return times{
		cloudCreated: min(t.cloudCreated, other.cloudCreated), cloudDeleted: min(t.cloudDeleted, other.cloudDeleted),
		vcCreated: min(t.vcCreated, other.vcCreated), vcDeleted: min(t.vcDeleted, other.vcDeleted),
	}
}

// outage disturbs the inventory.
type outage struct{ begin, end func(context.Context) error }

func outageSpecs() {
	var normally times

	It("should take some time to create and delete machines", func(ctx SpecContext) {
		normally = measure(ctx)
	}, SpecTimeout(10*time.Minute))

	DescribeTable("should go on on the other sites as before, name the sites that do not, and recover without help",
		func(ctx SpecContext, o outage) {
			before := identities(ctx, mixed(), rack)
			maps.Copy(before, identities(ctx, mixed(), hall))
			Expect(before).NotTo(BeEmpty())
			Expect(o.begin(ctx)).To(Succeed())
			ended := false
			DeferCleanup(func(ctx SpecContext) {
				if !ended {
					Expect(o.end(ctx)).To(Succeed())
				}
			})
			racks, halls := scale(ctx, rack, 1), scale(ctx, hall, 1)
			now := measure(ctx)
			if !now.notMoreThan(normally) {
				now = now.orFaster(measure(ctx)) // what the outage delays is slow each time, what keeps the machine busy is not
			}
			Expect(mixed().Running(ctx, rack, racks)).NotTo(Succeed())
			Expect(mixed().Running(ctx, hall, halls)).NotTo(Succeed())

			since := time.Now()
			changed, err := local.ChangeWorker(ctx, func(*extensionsv1alpha1.Worker) {})
			Expect(err).NotTo(HaveOccurred())
			Eventually(func(g Gomega) {
				g.Expect(local.Seed.Client.Get(ctx, client.ObjectKeyFromObject(changed), changed)).To(Succeed())
				g.Expect(changed.Status.LastError).NotTo(BeNil())
			}).WithContext(ctx).Within(inTime).ProbeEvery(500 * time.Millisecond).Should(Succeed())
			expectOnlyNamed(changed.Status.LastError)
			message := changed.Status.LastError.Description

			Expect(o.end(ctx)).To(Succeed())
			ended = true
			recovered := expectRunning(ctx, mixed(), rack, racks, 5*time.Minute)
			recovered += expectRunning(ctx, mixed(), hall, halls, 5*time.Minute)
			Expect(local.Reconciled(ctx, changed, since)).To(Succeed())
			machines := identities(ctx, mixed(), "")
			for name, id := range before {
				Expect(machines).To(HaveKeyWithValue(name, id), "no host is lost, and none is replaced")
			}
			Expect(conflicts()).To(BeEmpty())
			racks, halls = scale(ctx, rack, -1), scale(ctx, hall, -1)
			expectRunning(ctx, mixed(), rack, racks, inTime)
			expectRunning(ctx, mixed(), hall, halls, inTime)
			AddReportEntry("other sites",
				fmt.Sprintf("%s; normally %s; bare metal recovered in %.0f s; the Worker said: %s", now, normally, recovered.Seconds(), message),
				ReportEntryVisibilityAlways)
			if !now.notMoreThan(normally) {
				normally = measure(ctx) // without the outage, as something else may keep the machine busy by now
			}
			Expect(now.notMoreThan(normally)).To(BeTrue(), "%s; normally %s", now, normally)
		},
		Entry("while the inventory's API is down", SpecTimeout(15*time.Minute), outage{
			begin: func(context.Context) error { return proxy.TakeDown(inventoryService) },
			end:   func(context.Context) error { return proxy.BringUp(inventoryService) },
		}),
		Entry("while the inventory's API hangs", SpecTimeout(15*time.Minute), outage{
			begin: func(context.Context) error {
				return proxy.SetFaults(countproxy.Fault{Service: inventoryService, Action: countproxy.ActionHang})
			},
			end: func(context.Context) error { return proxy.SetFaults() },
		}),
		Entry("while the inventory has revoked the permissions", SpecTimeout(15*time.Minute), outage{
			begin: func(ctx context.Context) error { return inventory.Revoke(ctx) },
			end:   func(ctx context.Context) error { return inventory.Grant(ctx) },
		}),
	)
}
