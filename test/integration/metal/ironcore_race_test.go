// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/ironcore"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

var _ = Describe("Servers of IronCore that many want", Ordered, func() {
	const (
		rack      = "ic-race"
		processes = 4
		machines  = 16
		count     = 10
	)
	var servers []string

	BeforeAll(func(ctx SpecContext) { servers = newServers(ctx, rack, count, false) }, NodeTimeout(2*time.Minute))

	It("are claimed once each, and the rest is told that there are none", func(ctx SpecContext) {
		owners := newOwner()
		drivers := make([]*ironcore.Inventory, processes)
		for n := range drivers {
			drivers[n] = newIronCore(ctx, owners)
		}
		var (
			mutex     sync.Mutex
			group     sync.WaitGroup
			claimed   = map[string]string{}
			exhausted []int
		)
		try := func(n int) {
			defer GinkgoRecover()
			machine := fmt.Sprintf("%s-%d", owners.Shoot, n)
			for {
				host, err := drivers[n%processes].Claim(ctx, claimOf(machine, rack))
				// What is late is tried again, as machine-controller-manager does.
				if err != nil && platform.ClassOf(err) == platform.ClassTransient && ctx.Err() == nil {
					continue
				}
				mutex.Lock()
				defer mutex.Unlock()
				if err == nil {
					claimed[machine] = host.Name
					return
				}
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted), "%v", err)
				exhausted = append(exhausted, n)
				return
			}
		}
		for n := range machines {
			group.Go(func() { try(n) })
		}
		group.Wait()
		// A server that a slow metal-operator had not bound in time is free now, and whoever tries again gets it.
		for _, n := range exhausted {
			if len(claimed) < count {
				exhausted = exhausted[1:]
				try(n)
			}
		}

		Expect(claimed).To(HaveLen(count))
		Expect(exhausted).To(HaveLen(machines - count))
		used := map[string]bool{}
		for machine, name := range claimed {
			used[name] = true
			Expect(serverClaim(ctx, machine).Spec.ServerRef.Name).To(Equal(name))
			Eventually(server(ctx, name), soon).Should(HaveField("Consumer", "hosts/"+machine))
		}
		Expect(used).To(HaveLen(len(servers)))
		claims, err := landscape.Claims(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, n := range exhausted {
			Expect(claims).NotTo(HaveKey(fmt.Sprintf("%s-%d", owners.Shoot, n)))
		}
		for machine := range claimed {
			Expect(landscape.Journal.HostsOf("hosts/" + machine)).To(HaveLen(1))
		}
		// Other specs copy hosts on purpose.
		Expect(landscape.Journal.Conflicts()).NotTo(ContainElement(ContainSubstring(owners.Shoot)))

		for machine := range claimed {
			group.Go(func() {
				defer GinkgoRecover()
				release(ctx, drivers[0], machine)
			})
		}
		group.Wait()
	}, SpecTimeout(4*time.Minute))

	It("wait for metal-operator, and for the same server after it", func(ctx SpecContext) {
		o := newOwner()
		machine := o.Shoot + "-1"
		i := newIronCore(ctx, o)
		DeferCleanup(release, i, machine)
		landscape.IronCore.Pause()
		DeferCleanup(landscape.IronCore.Resume)

		begun := time.Now()
		_, err := i.Claim(ctx, claimOf(machine, rack))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(err).To(MatchError(fmt.Sprintf("metal-operator has not processed server claim %q yet", machine)))
		Expect(time.Since(begun)).To(And(BeNumerically(">=", 9*time.Second), BeNumerically("<", 20*time.Second)))
		waiting := serverClaim(ctx, machine)
		Expect(i.Find(ctx, machine, "")).To(HaveValue(HaveField("Complete", false)))

		landscape.IronCore.Resume()
		host, err := i.Claim(ctx, claimOf(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Expect(host.Name).To(Equal(waiting.Spec.ServerRef.Name))
		Expect(serverClaim(ctx, machine).UID).To(Equal(waiting.UID))
	}, SpecTimeout(2*time.Minute))

	It("give way to another server when someone else got theirs", func(ctx SpecContext) {
		o, other := newOwner(), newOwner()
		machine, rival := o.Shoot+"-1", other.Shoot+"-1"
		i, competitor := newIronCore(ctx, o), newIronCore(ctx, other)
		DeferCleanup(release, i, machine)
		DeferCleanup(release, competitor, rival)
		landscape.IronCore.Pause()
		DeferCleanup(landscape.IronCore.Resume)
		_, err := i.Claim(ctx, claimOf(machine, rack))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		wanted := serverClaim(ctx, machine).Spec.ServerRef.Name
		// metal-operator takes back a reference to a claim that does not exist.
		Expect(administrator().Create(ctx, &metalv1alpha1.ServerClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: rival, Labels: other.MachineLabels(rival)},
			Spec: metalv1alpha1.ServerClaimSpec{Power: metalv1alpha1.PowerOff, Image: "other",
				ServerRef: &corev1.LocalObjectReference{Name: wanted}},
		})).To(Succeed())
		patchServer(ctx, wanted, `{"spec":{"serverClaimRef":{"namespace":"hosts","name":"`+rival+`"}}}`)

		landscape.IronCore.Resume()
		host, err := i.Claim(ctx, claimOf(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Expect(host.Name).NotTo(Equal(wanted))
		Expect(landscape.Journal.HostsOf("hosts/" + machine)).To(ConsistOf(host.Name))
	}, SpecTimeout(2*time.Minute))
})

var _ = Describe("Servers of IronCore that are not wiped", Ordered, func() {
	const rack = "ic-clean"
	var recycled, retained []string

	BeforeAll(func(ctx SpecContext) {
		recycled = newServers(ctx, rack, 1, false)
		retained = newServers(ctx, rack+"-kept", 1, true)
	}, NodeTimeout(2*time.Minute))

	It("are used only if they are retained, and by nobody else before someone has cleaned them", func(ctx SpecContext) {
		o := newOwner()
		machine, next := o.Shoot+"-1", o.Shoot+"-2"
		i := newIronCore(ctx, o)

		request := claimOf(machine, rack)
		request.Cleaning = v1alpha1.MetalCleaningMetadata
		_, err := i.Claim(ctx, request)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))
		Expect(err).To(MatchError(ContainSubstring("1 not retained after release")))

		request = claimOf(machine, rack+"-kept")
		request.Cleaning = v1alpha1.MetalCleaningMetadata
		host, err := i.Claim(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		Expect(host.Name).To(Equal(retained[0]))
		Eventually(server(ctx, host.Name), soon).Should(HaveField("On", true))
		release(ctx, i, machine)
		Expect(server(ctx, host.Name)(Default)).To(And(HaveField("State", "Released"), HaveField("On", false)))

		second := request
		second.Machine = next
		_, err = i.Claim(ctx, second)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))
		By("not being mistaken for the server of a machine that has the same name")
		_, err = i.Claim(ctx, request)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(err).To(MatchError(ContainSubstring("was retained, and waits for its cleaning")))

		Expect(landscape.Clean(ctx, host.Name)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			release(ctx, i, next)
			Expect(landscape.Clean(ctx, host.Name)).To(Succeed())
		})
		Eventually(ctx, func() error {
			_, err := i.Claim(ctx, second)
			return err
		}, soon).Should(Succeed())
	}, SpecTimeout(2*time.Minute))

	It("are let go of before they were ever switched on if they are no longer retained", func(ctx SpecContext) {
		o := newOwner()
		machine := o.Shoot + "-1"
		i := newIronCore(ctx, o)
		DeferCleanup(release, i, machine)
		patchServer(ctx, recycled[0], `{"spec":{"reclaimPolicy":"Retain"}}`)

		landscape.IronCore.Pause()
		DeferCleanup(landscape.IronCore.Resume)
		request := claimOf(machine, rack)
		request.Cleaning = v1alpha1.MetalCleaningMetadata
		request.Data = nil
		result := make(chan error, 1)
		go func() {
			_, err := i.Claim(context.WithoutCancel(ctx), request)
			result <- err
		}()
		Eventually(ctx, func(g Gomega) {
			claims, err := landscape.Claims(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(claims).To(HaveKey(machine))
		}, soon).Should(Succeed())
		patchServer(ctx, recycled[0], `{"spec":{"reclaimPolicy":"Recycle"}}`)
		landscape.IronCore.Resume()

		Eventually(result, soon).Should(Receive(And(HaveOccurred(),
			WithTransform(platform.ClassOf, BeElementOf(platform.ClassExhausted, platform.ClassTransient)))))
		By("trying again, because metal-operator may give the server to the deleted claim, and take it back")
		Eventually(ctx, func() platform.Class {
			_, err := i.Claim(ctx, request)
			return platform.ClassOf(err)
		}, soon).Should(Equal(platform.ClassExhausted))
		Expect(landscape.Claims(ctx)).NotTo(HaveKey(machine))
		Eventually(server(ctx, recycled[0]), soon).Should(And(HaveField("State", "Available"), HaveField("On", false), HaveField("Consumer", "")))
	}, SpecTimeout(2*time.Minute))
})
