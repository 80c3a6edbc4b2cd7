// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler_test

import (
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/rand"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/scaler"
)

var _ = Describe("Scaler", func() {
	var (
		clock        *testingclock.FakePassiveClock
		s            *scaler.Scaler
		first, other *share
	)

	BeforeEach(func() {
		suffix := rand.String(5)
		clock = testingclock.NewFakePassiveClock(time.Now())
		s = &scaler.Scaler{Seed: seed.Client, Worker: client.ObjectKey{Namespace: namespace, Name: "worker-" + suffix}, Clock: clock}
		first = &share{name: "a-" + suffix, maximum: 10, priority: new(int32(100)), pool: "mixed", servers: 100}
		other = &share{name: "b-" + suffix, maximum: 10, priority: new(int32(10)), pool: "mixed", servers: 100}
	})

	// round lets the scaler look once and the machines that it asks for be created, or not.
	round := func(ctx SpecContext) scaler.Outcome {
		GinkgoHelper()
		outcome, err := s.Sync(ctx)
		Expect(err).NotTo(HaveOccurred())
		first.settle(ctx)
		other.settle(ctx)
		return outcome
	}
	sizes := func(ctx SpecContext) []int32 {
		GinkgoHelper()
		return []int32{first.replicas(ctx), other.replicas(ctx)}
	}
	pods := func(count int) { s.SetPods(scaler.Pods{Count: count}) }

	It("should fill the deployment with the highest priority until its site is exhausted, and then the next", func(ctx SpecContext) {
		first.servers = 3
		create(ctx, s.Worker.Name, other, first)
		pods(5)
		Expect(round(ctx).Actions).To(ConsistOf(scaler.Action{Deployment: first.name, From: 0, To: 5, Why: "priority 100"}))
		running := first.running(ctx)
		Expect(running).To(HaveLen(3))

		outcome := round(ctx)
		Expect(outcome.Actions).To(ConsistOf(
			And(HaveField("Deployment", first.name), HaveField("To", BeEquivalentTo(3)), HaveField("Why", ContainSubstring("no host is free"))),
			scaler.Action{Deployment: other.name, From: 0, To: 2, Why: "priority 10"},
		))
		Expect(outcome.Waiting).To(BeZero())
		Expect(first.running(ctx)).To(Equal(running), "what runs is not taken back")
		Expect(round(ctx).Actions).To(BeEmpty())
		Expect(sizes(ctx)).To(Equal([]int32{3, 2}))
	}, SpecTimeout(time.Minute))

	It("should go to the next at a maximum, and let pods wait when there is none", func(ctx SpecContext) {
		first.maximum, other.maximum = 2, 1
		create(ctx, s.Worker.Name, first, other)
		pods(5)
		Expect(round(ctx).Waiting).To(Equal(3))
		Expect(round(ctx).Waiting).To(Equal(2))
		outcome := round(ctx)
		Expect(outcome.Actions).To(BeEmpty())
		Expect(outcome.Waiting).To(Equal(2))
		Expect(sizes(ctx)).To(Equal([]int32{2, 1}))
	}, SpecTimeout(time.Minute))

	It("should leave an exhausted deployment alone for 5 minutes, and for twice as long the next time", func(ctx SpecContext) {
		first.servers, other.maximum = 0, 0
		create(ctx, s.Worker.Name, first, other)
		pods(1)
		Expect(round(ctx).Actions).To(HaveLen(1))
		for _, wait := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
			Expect(round(ctx).Actions).To(ConsistOf(HaveField("To", BeZero())))
			clock.SetTime(clock.Now().Add(wait - time.Second))
			Expect(round(ctx).Actions).To(BeEmpty())
			clock.SetTime(clock.Now().Add(time.Second))
			Expect(round(ctx).Actions).To(ConsistOf(HaveField("To", BeEquivalentTo(1))))
		}
		clock.SetTime(clock.Now().Add(3 * time.Hour))
		Expect(round(ctx).Actions).To(ConsistOf(HaveField("To", BeZero())))
		clock.SetTime(clock.Now().Add(5 * time.Minute))
		first.servers = 1
		Expect(round(ctx).Actions).To(ConsistOf(HaveField("To", BeEquivalentTo(1))))
		Expect(first.running(ctx)).To(HaveLen(1))
	}, SpecTimeout(2*time.Minute))

	It("should take back no machine that the minimum asks for, and wait for it instead of using others", func(ctx SpecContext) {
		first.minimum, first.servers = 2, 1
		create(ctx, s.Worker.Name, first, other)
		first.settle(ctx)
		pods(2)
		Expect(round(ctx).Actions).To(BeEmpty(), "the machine is waited for")
		clock.SetTime(clock.Now().Add(20*time.Minute + time.Second))
		Expect(round(ctx).Actions).To(ConsistOf(scaler.Action{Deployment: first.name, From: 2, To: 3, Why: "priority 100"}))
		pods(4)
		Expect(round(ctx).Actions).To(ContainElement(HaveField("Deployment", other.name)), "the first is backed off")
	}, SpecTimeout(time.Minute))

	It("should wait for machines that fail for other reasons, but not forever", func(ctx SpecContext) {
		first.servers, first.fails = 0, codes.Unavailable
		create(ctx, s.Worker.Name, first, other)
		pods(2)
		Expect(round(ctx).Actions).To(HaveLen(1))
		Expect(round(ctx).Actions).To(BeEmpty())
		Expect(sizes(ctx)).To(Equal([]int32{2, 0}))
		clock.SetTime(clock.Now().Add(20*time.Minute + time.Second))
		Expect(round(ctx).Actions).To(ConsistOf(
			scaler.Action{Deployment: first.name, From: 2, To: 0, Why: "not registered in time"},
			scaler.Action{Deployment: other.name, From: 0, To: 2, Why: "priority 10"}))
	}, SpecTimeout(time.Minute))

	It("should see what fits from node templates", func(ctx SpecContext) {
		first.capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi")}
		first.maximum = 1
		other.capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("4Gi")}
		other.virtual = corev1.ResourceList{"example.com/licences": resource.MustParse("2")}
		create(ctx, s.Worker.Name, first, other)
		request := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}
		s.SetPods(scaler.Pods{Count: 8, Request: request})
		round(ctx)
		round(ctx)
		Expect(sizes(ctx)).To(Equal([]int32{1, 2}), "5 pods on the large node and 2 on each small one")

		request["example.com/licences"] = resource.MustParse("1")
		s.SetPods(scaler.Pods{Count: 5, Request: request})
		Expect(round(ctx).Actions).To(ConsistOf(HaveField("Deployment", other.name)))
		Expect(sizes(ctx)).To(Equal([]int32{1, 3}), "only some nodes have licences")
		s.SetPods(scaler.Pods{Count: 1, Request: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("9")}})
		Expect(round(ctx)).To(Equal(scaler.Outcome{Waiting: 1}))
	}, SpecTimeout(time.Minute))

	It("should use only deployments whose nodes the pods select, and no priority as 0", func(ctx SpecContext) {
		first.pool, other.priority = "another", nil
		create(ctx, s.Worker.Name, first, other)
		s.SetPods(scaler.Pods{Count: 1, NodeSelector: map[string]string{poolLabel: "mixed"}})
		Expect(round(ctx).Actions).To(ConsistOf(scaler.Action{Deployment: other.name, From: 0, To: 1, Why: "priority 0"}))
	}, SpecTimeout(time.Minute))

	It("should remove the machines that it is told to, down to the minimum", func(ctx SpecContext) {
		first.minimum = 1
		create(ctx, s.Worker.Name, first, other)
		pods(4)
		round(ctx)
		running := first.running(ctx)
		Expect(running).To(HaveLen(4))
		pods(2)
		Expect(s.Remove(ctx, running[1], running[3])).To(Succeed())
		first.settle(ctx)
		// Which two are left is not sure: machine-controller-manager may replace the marked ones before it scales the set.
		left := first.running(ctx)
		Expect(left).To(And(HaveLen(2), Not(ContainElement(running[1])), Not(ContainElement(running[3]))))
		Expect(s.Remove(ctx, left...)).To(MatchError(ContainSubstring("has a minimum of 1")))
		Expect(s.Remove(ctx, "no-such-machine")).To(MatchError(ContainSubstring("no-such-machine")))
		Expect(round(ctx).Actions).To(BeEmpty())
	}, SpecTimeout(time.Minute))
})
