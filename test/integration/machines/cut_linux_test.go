// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

const (
	// cutTime is how long a site is cut off: several health timeouts, and more than the time after which pods are evicted.
	cutTime = 15 * time.Minute
	// evictionTime is when pods of a node are evicted that cannot be reached. It is that of Kubernetes, from when the node is unknown.
	evictionTime = 5 * time.Minute
	// othersTime is for how long machines must be kept in rows that end earlier: two health timeouts.
	othersTime = 2*healthTimeout + grace
)

// cutSpecs are about cables that are pulled and APIs whose packets are lost, as docs/usage/disconnection.md says.
func cutSpecs() {
	cloud, vc, racks, hall := shoot.Sites[0], shoot.VSphereSite, shoot.MetalSites[0], shoot.MetalSites[1]
	pull := func(pools ...string) {
		GinkgoHelper()
		for _, pool := range pools {
			Expect(lab.machine(pool).PullCable()).To(Succeed(), pool)
		}
	}
	plug := func(pools ...string) {
		GinkgoHelper()
		for _, pool := range pools {
			Expect(lab.machine(pool).PlugCable()).To(Succeed(), pool)
		}
	}
	expectStatus := func(ctx context.Context, status corev1.ConditionStatus, pools ...string) {
		GinkgoHelper()
		for _, pool := range pools {
			become(ctx, pool, status)
		}
	}
	expectQuarantine := func(ctx context.Context, site string, status gardencorev1beta1.ConditionStatus) {
		GinkgoHelper()
		Eventually(ctx, quarantined, joinTime, time.Second).WithArguments(site).Should(Equal(status), site)
	}
	// expectReplaced waits until the machines of pools are others than before, which run.
	expectReplaced := func(ctx context.Context, before map[string]map[string]string, pools ...string) {
		GinkgoHelper()
		for _, pool := range pools {
			Eventually(ctx, func(g Gomega) {
				now, err := poolOf(pool).Identities(ctx, "")
				g.Expect(err).NotTo(HaveOccurred())
				for name := range before[pool] {
					g.Expect(now).NotTo(HaveKey(name))
				}
				g.Expect(poolOf(pool).Running(ctx, "", 1)).To(Succeed())
			}, joinTime, time.Second).Should(Succeed(), pool)
			rename(ctx, pool)
		}
	}
	machines := func(ctx context.Context) map[string]map[string]string {
		GinkgoHelper()
		all := map[string]map[string]string{}
		for _, pool := range pools() {
			all[pool.name] = specs.Identities(ctx, poolOf(pool.name), "")
		}
		return all
	}

	It("should be replaced if they alone are cut off from sites that answer, and kept if their sites do not answer", func(ctx SpecContext) {
		before := machines(ctx)
		By("the only nodes of two sites lose their cables")
		begin := time.Now()
		pull(vc, racks)
		expectStatus(ctx, corev1.ConditionUnknown, vc, racks)
		// The cable of a host is in order again when that is booted for the next machine.
		Eventually(ctx, func() (map[string]string, error) { return poolOf(racks).Identities(ctx, "") }, joinTime, time.Second).
			ShouldNot(Equal(before[racks]))
		plug(racks)
		expectReplaced(ctx, before, vc, racks)
		AddReportEntry("one node, API up", fmt.Sprintf("%s and %s are replaced after %.0f s", vc, racks, time.Since(begin).Seconds()))
		for _, site := range []string{vc, racks} {
			Expect(quarantined(ctx, site)).NotTo(Equal(gardencorev1beta1.ConditionTrue), site)
		}

		before = machines(ctx)
		By("the only nodes of two sites lose their cables, and the APIs their packets")
		heal := loseAPIs(lab.vcenter.Address, strings.TrimPrefix(lab.inventory.Server(), "https://"))
		begin = time.Now()
		pull(vc, hall)
		expectStatus(ctx, corev1.ConditionUnknown, vc, hall)
		for _, site := range []string{vc, hall} {
			expectQuarantine(ctx, site, gardencorev1beta1.ConditionTrue)
			AddReportEntry("one node, API down", fmt.Sprintf("%s is in quarantine after %.0f s", site, time.Since(begin).Seconds()))
		}
		Consistently(ctx, machines, othersTime, 5*time.Second).WithContext(ctx).Should(Equal(before))
		Expect(quarantined(ctx, racks)).NotTo(Equal(gardencorev1beta1.ConditionTrue), "its node reports")
		heal()
		plug(vc, hall)
		expectStatus(ctx, corev1.ConditionTrue, vc, hall)
		for _, site := range []string{vc, hall} {
			expectQuarantine(ctx, site, gardencorev1beta1.ConditionFalse)
		}
		Expect(machines(ctx)).To(Equal(before))
	}, SpecTimeout(2*specTime))

	It("should be kept with their pods while all nodes of a site are cut off for a quarter of an hour", func(ctx SpecContext) {
		nodes := []string{cloud, peerPool}
		// Without tolerations, pods get those of Kubernetes' defaults.
		stays := []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, Operator: corev1.TolerationOpExists}}
		kept, evicted := map[string]*corev1.Pod{}, map[string]*corev1.Pod{}
		for _, pool := range nodes {
			kept[pool], evicted[pool] = runPod(ctx, "kept-"+pool, pool, stays), runPod(ctx, "evicted-"+pool, pool, nil)
		}
		before := machines(ctx)
		servers := lab.stack.servers.All()
		begin := time.Now()
		pull(nodes...)
		expectStatus(ctx, corev1.ConditionUnknown, nodes...)
		lost := time.Now()
		expectQuarantine(ctx, cloud, gardencorev1beta1.ConditionTrue)
		AddReportEntry("quarantine", fmt.Sprintf("%.0f s after the cables were pulled, %.0f s after the nodes were lost",
			time.Since(begin).Seconds(), time.Since(lost).Seconds()))

		By("the extension and machine-controller-manager are restarted, and the Worker is reconciled")
		for _, process := range lab.processesOf("extension", "machine-controller-manager") {
			process.Stop(ctx)
			Expect(process.Start()).To(Succeed())
		}
		_, err := lab.shoot.ChangeWorker(ctx, func(*extensionsv1alpha1.Worker) {})
		Expect(err).NotTo(HaveOccurred())
		for _, pool := range nodes {
			Eventually(ctx, func() (bool, error) {
				err := lab.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(evicted[pool]), evicted[pool])
				return evicted[pool].DeletionTimestamp != nil, err
			}, evictionTime+time.Minute, time.Second).Should(BeTrue(), pool)
			Expect(evicted[pool].DeletionTimestamp.Time).To(BeTemporally("~", lost.Add(evictionTime), 30*time.Second))
		}

		Consistently(ctx, machines, time.Until(begin.Add(cutTime)), 5*time.Second).WithContext(ctx).Should(Equal(before))
		Expect(quarantined(ctx, cloud)).To(Equal(gardencorev1beta1.ConditionTrue))
		Expect(lab.stack.servers.All()).To(HaveLen(len(servers)))
		for _, pool := range nodes {
			Expect(lab.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(evicted[pool]), evicted[pool])).To(Succeed(), "nobody can stop it")
		}

		plug(nodes...)
		expectStatus(ctx, corev1.ConditionTrue, nodes...)
		AddReportEntry("ready", fmt.Sprintf("%.0f s after the cables were plugged", time.Since(begin.Add(cutTime)).Seconds()))
		for _, pool := range nodes {
			Eventually(ctx, func() error {
				return lab.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(evicted[pool]), evicted[pool])
			}, flowTime, time.Second).Should(Satisfy(apierrors.IsNotFound), pool)
			now := &corev1.Pod{}
			Expect(lab.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(kept[pool]), now)).To(Succeed())
			Expect(now.DeletionTimestamp).To(BeNil())
			Expect(now.Status.ContainerStatuses).To(HaveLen(1))
			Expect(now.Status.ContainerStatuses[0].ContainerID).To(Equal(kept[pool].Status.ContainerStatuses[0].ContainerID))
			Expect(now.Status.ContainerStatuses[0].RestartCount).To(BeZero())
			Expect(lab.shoot.Seed.Client.Delete(ctx, now)).To(Succeed())
		}
		expectQuarantine(ctx, cloud, gardencorev1beta1.ConditionFalse)
		Expect(machines(ctx)).To(Equal(before))
	}, SpecTimeout(cutTime+specTime))
}

// loseAPIs drops what is sent to addresses, until the returned function is called.
func loseAPIs(addresses ...string) func() {
	GinkgoHelper()
	filter := func(how string) error {
		var errs []error
		for _, address := range addresses {
			u, err := url.Parse("https://" + address)
			if err == nil {
				// #nosec G204 -- an address of the landscape
				err = exec.Command("iptables", "-w", how, "INPUT", "-p", "tcp", "--dport", u.Port(), "-j", "DROP").Run()
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	Expect(filter("-I")).To(Succeed())
	healed := false
	heal := func() {
		GinkgoHelper()
		if !healed {
			healed = true
			Expect(filter("-D")).To(Succeed())
		}
	}
	DeferCleanup(heal)
	return heal
}

// runPod runs a pod on the node of a pool.
func runPod(ctx context.Context, name, pool string, tolerations []corev1.Toleration) *corev1.Pod {
	GinkgoHelper()
	node, err := lab.node(ctx, pool)
	Expect(err).NotTo(HaveOccurred())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{
			NodeName: node.Name, Tolerations: tolerations, TerminationGracePeriodSeconds: new(int64(1)), EnableServiceLinks: new(false),
			AutomountServiceAccountToken: new(false),
			Containers:                   []corev1.Container{{Name: "sleep", Image: toolsImage}},
		},
	}
	Expect(lab.shoot.Seed.Client.Create(ctx, pod)).To(Succeed())
	Eventually(ctx, func() (corev1.PodPhase, error) {
		err := lab.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return pod.Status.Phase, err
	}, joinTime, time.Second).Should(Equal(corev1.PodRunning), name)
	return pod
}
