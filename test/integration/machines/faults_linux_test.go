// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"fmt"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

const (
	// creationTimeout is when a machine that does not join is replaced in the spec for that.
	creationTimeout = 2 * time.Minute
	// slowness is how much longer a request to a slow disk takes.
	slowness = 100 * time.Millisecond
)

// faultSpecs are about one node of a site on which something goes wrong.
func faultSpecs(at onNode) {
	// others are the machines of all other pools, which stay.
	others := func(ctx context.Context) map[string]string {
		GinkgoHelper()
		all := map[string]string{}
		for _, site := range sites {
			for name, id := range specs.Identities(ctx, poolOf(site), "") {
				all[name] = id
			}
		}
		return all
	}
	// expectNext waits until the only machine of the pool is another one, which runs, and the site has no more servers than before.
	expectNext := func(ctx context.Context, before string, servers int) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			g.Expect(stopIfEnded()).To(Succeed())
			machines, err := poolOf(peerPool).Machines(ctx, "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(machines).To(ConsistOf(HaveField("Name", Not(Equal(before)))))
			g.Expect(poolOf(peerPool).Running(ctx, "", 1)).To(Succeed())
		}, joinTime, time.Second).Should(Succeed())
		Eventually(ctx, lab.stack.servers.All, joinTime, time.Second).Should(HaveLen(servers))
		rename(ctx, peerPool)
	}
	// conditionOf is a condition of the pool's node.
	conditionOf := func(ctx context.Context, name corev1.NodeConditionType) func() (corev1.ConditionStatus, error) {
		return func() (corev1.ConditionStatus, error) {
			node, err := lab.node(ctx, peerPool)
			if node != nil {
				for _, c := range node.Status.Conditions {
					if c.Type == name {
						return c.Status, nil
					}
				}
			}
			return "", err
		}
	}

	// script runs a script on the pool's node.
	script := func(text string) func(context.Context) error {
		return func(ctx context.Context) error {
			out, err := at(ctx, peerPool, text)
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}
	}

	It("should stay while its disk is slow, and run what is new there", func(ctx SpecContext) {
		kept, slow := others(ctx), specs.Identities(ctx, poolOf(peerPool), "")
		DeferCleanup(lab.machine(peerPool).SlowDisk, time.Duration(0))
		Expect(lab.machine(peerPool).SlowDisk(slowness)).To(Succeed())
		begin := time.Now()
		specs.Complete(ctx, lab.shoot.Seed.Client, podOn(peerPool, "true"), joinTime)
		AddReportEntry("pod", fmt.Sprintf("ended %.0f s after it was created", time.Since(begin).Seconds()))
		Consistently(ctx, func(g Gomega) {
			node, err := lab.node(ctx, peerPool)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(readiness(node)).To(Equal(corev1.ConditionTrue))
			g.Expect(specs.Identities(ctx, poolOf(peerPool), "")).To(Equal(slow))
		}, healthTimeout+grace, time.Second).Should(Succeed())
		Expect(others(ctx)).To(Equal(kept))
	}, SpecTimeout(specTime))

	DescribeTable("should be replaced after the health timeout, while the site's other node stays", func(ctx SpecContext,
		fail func(context.Context) error, condition corev1.NodeConditionType, status corev1.ConditionStatus) {
		kept, servers, before := others(ctx), len(lab.stack.servers.All()), machineOf(ctx, peerPool)
		begin := time.Now()
		Expect(fail(ctx)).To(Succeed())
		Eventually(ctx, conditionOf(ctx, condition), joinTime, time.Second).Should(Equal(status))
		seen := time.Now()
		AddReportEntry("seen", fmt.Sprintf("%s is %s after %.0f s", condition, status, seen.Sub(begin).Seconds()))
		expectNext(ctx, before.Name, servers)
		AddReportEntry("replaced", fmt.Sprintf("the next node is ready after %.0f s", time.Since(begin).Seconds()))
		Expect(time.Since(seen)).To(BeNumerically(">=", healthTimeout))
		Expect(others(ctx)).To(Equal(kept))
		Expect(quarantined(ctx, shoot.Sites[0])).NotTo(Equal(gardencorev1beta1.ConditionTrue))
	},
		Entry("if its cable is pulled", func(context.Context) error { return lab.machine(peerPool).PullCable() },
			corev1.NodeReady, corev1.ConditionUnknown, SpecTimeout(specTime)),
		Entry("if its disk is full", script("fallocate --length $(($(stat --file-system --format='%a * %S' /) - (32 << 20))) /var/full"),
			corev1.NodeDiskPressure, corev1.ConditionTrue, SpecTimeout(specTime)),
		Entry("if its clock is years ahead", script("date --set='+3 years' && systemctl restart kubelet"),
			corev1.NodeReady, corev1.ConditionUnknown, SpecTimeout(specTime)),
	)

	It("should be created again while their user data fails, and join when it is mended", func(ctx SpecContext) {
		kept, servers := others(ctx), len(lab.stack.servers.All())
		settings := func(timeout *metav1.Duration) func(*extensionsv1alpha1.WorkerPool) {
			return func(pool *extensionsv1alpha1.WorkerPool) {
				pool.MachineControllerManagerSettings = &gardencorev1beta1.MachineControllerManagerSettings{MachineCreationTimeout: timeout}
			}
		}
		before, begin := machineOf(ctx, peerPool), time.Now()
		rollTo(ctx, peerPool, []byte("#!/bin/bash\necho it fails >/dev/console\nexit 1\n"), settings(&metav1.Duration{Duration: creationTimeout}))
		failing := ""
		Eventually(ctx, func(g Gomega) {
			machines, err := poolOf(peerPool).Machines(ctx, "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(machines).To(ConsistOf(And(HaveField("Name", Not(Equal(before.Name))), HaveField("Spec.ProviderID", Not(BeEmpty())))))
			failing = machines[0].Name
		}, joinTime, time.Second).Should(Succeed())
		id := serverOf(ctx, peerPool)
		Eventually(ctx, func() string {
			if machine := lab.stack.servers.Machine(id); machine != nil {
				return machine.Console(200)
			}
			return ""
		}, joinTime, time.Second).Should(ContainSubstring("it fails"))

		next := ""
		Eventually(ctx, func(g Gomega) {
			machines, err := poolOf(peerPool).Machines(ctx, "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(machines).To(ConsistOf(HaveField("Name", Not(BeElementOf(before.Name, failing)))))
			next = machines[0].Name
		}, joinTime, time.Second).Should(Succeed())
		AddReportEntry("created again", fmt.Sprintf("after %.0f s", time.Since(begin).Seconds()))
		Expect(lab.node(ctx, peerPool)).To(BeNil())
		Eventually(ctx, lab.stack.servers.All, joinTime, time.Second).ShouldNot(HaveKey(id))

		rollTo(ctx, peerPool, mustScript(mark), settings(nil))
		expectNext(ctx, next, servers)
		Expect(lab.machine(peerPool).Console(200)).To(ContainSubstring("user data of "))
		Expect(others(ctx)).To(Equal(kept))
	}, SpecTimeout(specTime))
}
