// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package twoplatforms_test

import (
	"fmt"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// times are how long the OpenStack site takes.
type times struct{ created, deleted, collected, zoneAdded time.Duration }

// String tells the times in seconds.
func (t times) String() string {
	return fmt.Sprintf("machine created in %.0f s, deleted in %.0f s, orphan gone in %.0f s, zone added in %.0f s",
		t.created.Seconds(), t.deleted.Seconds(), t.collected.Seconds(), t.zoneAdded.Seconds())
}

// notMoreThan tells whether the times are those of a site that nobody disturbs.
func (t times) notMoreThan(normal times) bool {
	const (
		// ticks of machine-controller-manager and of the test are no delay.
		ticks = 15 * time.Second
		// nextLook is what an orphan waits for, which waits for the vCenter for 10 s.
		nextLook = orphanPeriod + 20*time.Second
		// lookUps of all zones of the Worker are made together, and take a minute at most.
		lookUps = 75 * time.Second
	)
	return t.created <= normal.created+ticks && t.deleted <= normal.deleted+ticks &&
		t.collected <= normal.collected+nextLook && t.zoneAdded <= normal.zoneAdded+lookUps
}

// orFaster takes the shorter of each two times.
func (t times) orFaster(other times) times {
	return times{
		created: min(t.created, other.created), deleted: min(t.deleted, other.deleted),
		collected: min(t.collected, other.collected), zoneAdded: min(t.zoneAdded, other.zoneAdded),
	}
}

var _ = Describe("A shoot on OpenStack and vSphere", Ordered, func() {
	const (
		cloud, another, first, second = "cloud-a", "cloud-b", "vc-1", "vc-2"

		inTime = 3 * time.Minute
	)
	var (
		infrastructure *extensionsv1alpha1.Infrastructure
		worker         *extensionsv1alpha1.Worker
	)

	It("should have one pool with machines on both", func(ctx SpecContext) {
		var err error
		infrastructure, err = local.Infrastructure()
		Expect(err).NotTo(HaveOccurred())
		Expect(local.Create(ctx, infrastructure)).To(Succeed())
		Expect(infrastructure.Status.Networking.Nodes).To(Equal([]string{"10.250.0.0/22", "10.250.4.0/22"}))
		worker, err = local.Worker(infrastructure)
		Expect(err).NotTo(HaveOccurred())
		worker.Spec.Pools = worker.Spec.Pools[:1]
		Expect(local.Create(ctx, worker)).To(Succeed())

		for zone, prefix := range map[string]string{cloud: "openstack:///", first: "vsphere://", second: "vsphere://"} {
			expectRunning(ctx, zone, 1, inTime)
			Expect(identities(ctx, zone)).To(HaveEach(HavePrefix(prefix)))
		}
		machines, err := watch.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(machines).To(HaveLen(2))
		for _, machine := range machines {
			Expect(identities(ctx, "")).To(HaveKeyWithValue(machine.Name, "vsphere://"+machine.ID))
		}
	}, SpecTimeout(8*time.Minute))

	It("should keep its machines when it grows", func(ctx SpecContext) {
		before := identities(ctx, "")
		reconcileWorker(ctx, func(w *extensionsv1alpha1.Worker) { mixed(w).Minimum = 6 })
		expectRunning(ctx, "", 6, inTime)
		now := identities(ctx, "")
		for name, id := range before {
			Expect(now).To(HaveKeyWithValue(name, id))
		}
	}, SpecTimeout(12*time.Minute))

	It("should replace its machines on both with those of another image", func(ctx SpecContext) {
		before := identities(ctx, "")
		guests := func() map[string]int {
			machines, err := watch.Machines(ctx)
			Expect(err).NotTo(HaveOccurred())
			guests := map[string]int{}
			for _, machine := range machines {
				guests[machine.Guest]++
			}
			return guests
		}
		Expect(guests()).To(Equal(map[string]int{"debian11_64Guest": 4}))
		next := nextUserData(ctx)
		reconcileWorker(ctx, func(w *extensionsv1alpha1.Worker) {
			pool := mixed(w)
			pool.MachineImage.Version = "1877.4.0"
			pool.UserDataSecretRef.Name, pool.NodeAgentSecretName = next, &next
		})
		Eventually(func(g Gomega) {
			now := identities(ctx, "")
			g.Expect(now).To(HaveLen(6))
			for name := range before {
				g.Expect(now).NotTo(HaveKey(name))
			}
		}).WithContext(ctx).Within(2 * inTime).ProbeEvery(time.Second).Should(Succeed())
		expectRunning(ctx, "", 6, inTime)
		Expect(guests()).To(Equal(map[string]int{"debian12_64Guest": 4}))
	}, SpecTimeout(10*time.Minute))

	It("should roll nothing when a zone goes", func(ctx SpecContext) {
		kept := identities(ctx, cloud)
		for name, id := range identities(ctx, first) {
			kept[name] = id
		}
		Expect(kept).To(HaveLen(4))
		reconcileWorker(ctx, func(w *extensionsv1alpha1.Worker) {
			mixed(w).Zones = []string{cloud, first}
			mixed(w).Minimum = 4
		})
		expectRunning(ctx, "", 4, inTime)
		Expect(identities(ctx, "")).To(Equal(kept))
		Expect(watch.Machines(ctx)).To(HaveLen(2))
		Expect(server.Objects(ctx, local.Name)).To(ContainElement(And(HaveField("Kind", "rule"), HaveField("Name", HaveSuffix(".mixed."+first)))))
		Expect(server.Objects(ctx, local.Name)).NotTo(ContainElement(HaveField("Name", HaveSuffix(".mixed."+second))))
	}, SpecTimeout(12*time.Minute))

	It("should say within seconds that a datastore is full, and go on when it is not any more", func(ctx SpecContext) {
		disturb(ctx, control.Settings{Faults: []control.Fault{{Method: "CloneVM_Task", Type: "NoDiskSpace", InTask: true}}})
		size := scale(ctx, first, 1)
		code, message, took := failure(ctx, first, 30*time.Second)
		Expect(code).To(Equal("ResourceExhausted"), message)
		Expect(message).To(ContainSubstring(`site "vc"`))
		AddReportEntry("full datastore", fmt.Sprintf("known after %.1f s: %s", took.Seconds(), message), ReportEntryVisibilityAlways)

		Expect(server.Set(ctx, control.Settings{})).To(Succeed())
		expectRunning(ctx, first, size, inTime)
		expectRunning(ctx, first, scale(ctx, first, -1), inTime)
	}, SpecTimeout(12*time.Minute))

	Describe("with a vCenter that is disturbed", func() {
		var normally times

		// measure adds a machine to the OpenStack site, removes one, lets one become an orphan, and adds a zone to the pool.
		measure := func(ctx SpecContext) times {
			GinkgoHelper()
			var t times
			t.created = expectRunning(ctx, cloud, scale(ctx, cloud, 1), inTime)
			size := scale(ctx, cloud, -1)
			t.deleted = expectRunning(ctx, cloud, size, inTime)
			t.collected = orphan(ctx, cloud, inTime)
			expectRunning(ctx, cloud, size, inTime)
			setZones(ctx, cloud, another, first)
			t.zoneAdded = expectRunning(ctx, another, 1, inTime)
			return t
		}

		BeforeAll(func(ctx SpecContext) {
			normally = measure(ctx)
			setZones(ctx, cloud, first)
			expectRunning(ctx, "", 4, inTime)
		}, NodeTimeout(12*time.Minute))

		DescribeTable("should go on on OpenStack as before, and on vSphere afterwards without help",
			func(ctx SpecContext, settings control.Settings) {
				before := identities(ctx, first)
				disturb(ctx, settings)
				size := scale(ctx, first, 1)
				now := measure(ctx)
				if !now.notMoreThan(normally) {
					setZones(ctx, cloud, first)
					Eventually(func() map[string]string {
						return identities(ctx,
							another)
					}).WithContext(ctx).Within(inTime).ProbeEvery(time.Second).Should(BeEmpty())
					now = now.orFaster(measure(ctx)) // what the vCenter delays is slow each time, what keeps the machine busy is not
				}
				Expect(unfinished(ctx, first)).To(Equal(1))

				Expect(server.Set(ctx, control.Settings{})).To(Succeed())
				recovered := expectRunning(ctx, first, size, 4*time.Minute)
				machines := identities(ctx, first)
				for name, id := range before {
					Expect(machines).To(HaveKeyWithValue(name, id))
				}
				expectRunning(ctx, first, scale(ctx, first, -1), inTime)
				setZones(ctx, cloud, first)
				expectRunning(ctx, "", 4, inTime)

				if !now.notMoreThan(normally) {
					normally = measure(ctx) // without the fault, as something else may keep the machine busy by now
					setZones(ctx, cloud, first)
					expectRunning(ctx, "", 4, inTime)
				}
				AddReportEntry("the OpenStack site", fmt.Sprintf("%s; normally %s; vSphere recovered in %.0f s", now, normally, recovered.Seconds()),
					ReportEntryVisibilityAlways)
				Expect(now.notMoreThan(normally)).To(BeTrue(), "%s; normally %s", now, normally)
			},
			Entry("that is stopped", SpecTimeout(20*time.Minute), control.Settings{Down: true}),
			Entry("that answers after 60 s", SpecTimeout(20*time.Minute), control.Settings{Answer: time.Minute}),
		)
	})

	It("should have no machines while it is hibernated", func(ctx SpecContext) {
		hibernate(ctx)
		// The extension may see the Worker before the Cluster. Gardener reconciles again, too.
		Eventually(func() map[string]string {
			reconcileWorker(ctx, func(*extensionsv1alpha1.Worker) {})
			return identities(ctx, "")
		}).WithContext(ctx).Within(inTime).ProbeEvery(time.Second).Should(BeEmpty())
		Expect(watch.Machines(ctx)).To(BeEmpty())
		Expect(local.Inspectors[0].Servers(ctx, local.Name)).To(BeEmpty())
		Expect(server.Objects(ctx, local.Name)).To(ContainElement(HaveField("Kind", "folder")))
	}, SpecTimeout(12*time.Minute))

	It("should leave nothing on either", func(ctx SpecContext) {
		Expect(local.Delete(ctx, worker)).To(Succeed())
		Expect(local.Delete(ctx, infrastructure)).To(Succeed())
		Expect(local.Objects(ctx)).To(BeEmpty())
		Expect(server.Objects(ctx, local.Name)).To(BeEmpty())
	}, SpecTimeout(12*time.Minute))
})
