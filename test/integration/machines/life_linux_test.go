// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

const (
	// nextMark is on the disk of a machine that replaced another one.
	nextMark = "mark-of-the-next-node-77d0e1"
)

// lifeSpecs are about what owners do with their pools, in that order. The nodes are ready before.
func lifeSpecs() {
	It("should be replaced one by one, which is reported beside the time of the same machines by hand", func(ctx SpecContext) {
		// Machines that boot twice need a token that outlives the first time.
		script := bytes.ReplaceAll(mustScript(mark), []byte("<<BOOTSTRAP_TOKEN>>"), []byte(createToken(ctx)))
		births := map[string]string{}
		for _, pool := range pools() {
			before := specs.Identities(ctx, poolOf(pool.name), "")
			rollTo(ctx, pool.name, script)
			births[pool.name] = replaced(ctx, pool.name, before)
			rename(ctx, pool.name)
		}

		for _, process := range lab.processesOf("machine-controller-manager") { // which would replace machines that boot for long
			process.Stop(ctx)
			DeferCleanup(process.Start)
		}
		var table []string
		for _, pool := range pools() {
			ready, row := platform.ParseBirthProfile(births[pool.name])[platform.BirthReady], "not tried: no machine of an own host is booted"
			if pool.name != ownSite {
				floor := bootByHand(ctx, pool.name)
				row = fmt.Sprintf("%.0f s by hand | ratio %.1f", floor.Seconds(), ready.Seconds()/floor.Seconds())
			}
			table = append(table, fmt.Sprintf("%s | %.0f s from Machine to ready | %s | %s", pool.name, ready.Seconds(), row, births[pool.name]))
		}
		AddReportEntry("seconds", strings.Join(table, "\n"))
	}, SpecTimeout(2*specTime))

	It("should be replaced on all sites at once, and run other user data", Label(life), func(ctx SpecContext) {
		begin, before := time.Now(), map[string]map[string]string{}
		for _, pool := range pools() {
			before[pool.name] = specs.Identities(ctx, poolOf(pool.name), "")
			rollTo(ctx, pool.name, mustScript(nextMark))
		}
		var table []string
		for _, pool := range pools() {
			profile := replaced(ctx, pool.name, before[pool.name])
			table = append(table, fmt.Sprintf("%s | replaced after %.0f s | %s", pool.name, time.Since(begin).Seconds(), profile))
			rename(ctx, pool.name)
			Expect(lab.isOnDisk(lab.machine(pool.name), nextMark)).To(BeTrue(), pool.name)
			if pool.name != ownSite { // whose operator deletes files, and erases no disk
				Expect(lab.isOnDisk(lab.machine(pool.name), mark)).To(BeFalse(), pool.name)
			}
		}
		AddReportEntry("replaced", strings.Join(table, "\n"))
	}, SpecTimeout(specTime))

	It("should be more and fewer", Label(life), func(ctx SpecContext) {
		before := specs.Identities(ctx, poolOf(peerPool), "")
		for _, size := range []int32{2, 1} {
			resize(ctx, size, peerPool)
			Eventually(ctx, poolOf(peerPool).Running, joinTime, time.Second).WithArguments("", int(size)).Should(Succeed())
			for _, site := range sites {
				Expect(poolOf(site).Running(ctx, "", 1)).To(Succeed())
			}
			Eventually(ctx, lab.stack.servers.All, joinTime, time.Second).Should(HaveLen(int(size) + 1))
			if size == 2 {
				now := specs.Identities(ctx, poolOf(peerPool), "")
				for name, id := range before {
					Expect(now).To(HaveKeyWithValue(name, id))
				}
			}
		}
		rename(ctx, peerPool)
	}, SpecTimeout(specTime))

	It("should be gone while the shoot is hibernated, with what is on disks that are cleaned or deleted", Label(life), func(ctx SpecContext) {
		machines := map[string]*hardware.Machine{}
		for _, pool := range pools() {
			machines[pool.name] = lab.machine(pool.name)
		}
		hibernate(ctx, true)
		for name, machine := range machines {
			Eventually(ctx, func() (*corev1.Node, error) { return lab.node(ctx, name) }, joinTime, time.Second).Should(BeNil(), name)
			Eventually(ctx, machine.On, joinTime, time.Second).Should(Equal(name == ownSite), name)
		}
		for _, site := range []string{shoot.MetalSites[0], shoot.VSphereSite, shoot.Sites[0]} {
			Eventually(ctx, func() error {
				_, err := os.Stat(machines[site].Disk())
				return err
			}, joinTime, time.Second).Should(MatchError(os.ErrNotExist), site)
		}
		expectNoMachines(ctx)
	}, SpecTimeout(specTime))

	It("should be there again when the shoot wakes up", Label(life), func(ctx SpecContext) {
		begin := time.Now()
		hibernate(ctx, false)
		for _, pool := range pools() {
			Eventually(ctx, poolOf(pool.name).Running, joinTime, time.Second).WithArguments("", 1).Should(Succeed())
			become(ctx, pool.name, corev1.ConditionTrue)
			rename(ctx, pool.name)
		}
		AddReportEntry("awake", fmt.Sprintf("all nodes are ready after %.0f s", time.Since(begin).Seconds()))
	}, SpecTimeout(specTime))

	It("should be deleted with the shoot, of which nothing is left", Label(life), func(ctx SpecContext) {
		worker := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: shootName}}
		Expect(lab.shoot.Delete(ctx, worker)).To(Succeed())
		expectNoMachines(ctx)
		infrastructures := &extensionsv1alpha1.InfrastructureList{}
		Expect(lab.shoot.Seed.Client.List(ctx, infrastructures, client.InNamespace(shootName))).To(Succeed())
		Expect(infrastructures.Items).To(HaveLen(1))
		Expect(lab.shoot.Delete(ctx, &infrastructures.Items[0])).To(Succeed())
		Expect(lab.stack.inspector.Objects(ctx, shootName)).To(BeEmpty())
		Expect(lab.vcenter.Objects(ctx, shootName)).To(BeEmpty())
		Eventually(ctx, lab.inventory.Objects, flowTime, time.Second).WithArguments(shootName).Should(BeEmpty())
	}, SpecTimeout(specTime))
}

// mustScript is the user data of a node with a mark.
func mustScript(mark string) []byte {
	GinkgoHelper()
	script, err := lab.script(mark)
	Expect(err).NotTo(HaveOccurred())
	return script
}

// rename notes which virtual machine or server the only machine of a pool is now. Hosts stay what they are.
func rename(ctx context.Context, pool string) {
	GinkgoHelper()
	switch pool {
	case shoot.VSphereSite:
		lab.names[pool] = machineOf(ctx, pool).Name
	case shoot.Sites[0], peerPool:
		lab.names[pool] = serverOf(ctx, pool)
	}
}

// rollTo replaces the machines of a pool by some with other user data, as gardenlet does. It does not wait.
func rollTo(ctx context.Context, name string, script []byte, changes ...func(*extensionsv1alpha1.WorkerPool)) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "user-data-" + name + "-" + rand.String(5), Namespace: shootName},
		Data: map[string][]byte{"script": script}}
	Expect(lab.shoot.Seed.Client.Create(ctx, secret)).To(Succeed())
	changePools(ctx, func(pool *extensionsv1alpha1.WorkerPool) {
		pool.UserDataSecretRef.Name, pool.NodeAgentSecretName = secret.Name, &secret.Name
		for _, change := range changes {
			change(pool)
		}
	}, name)
}

// replaced waits until a pool has one machine, which is none of some before, and runs. It returns the machine's birth profile.
func replaced(ctx context.Context, name string, before map[string]string) string {
	GinkgoHelper()
	Expect(before).To(HaveLen(1))
	profile := ""
	Eventually(ctx, func(g Gomega) {
		g.Expect(stopIfEnded()).To(Succeed())
		machines, err := poolOf(name).Machines(ctx, "")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(machines).To(HaveLen(1))
		g.Expect(before).NotTo(HaveKey(machines[0].Name))
		profile = machines[0].Annotations[v1alpha1.AnnotationBirthProfile]
		g.Expect(profile).NotTo(BeEmpty())
		g.Expect(poolOf(name).Running(ctx, "", 1)).To(Succeed())
	}, 2*joinTime, time.Second).Should(Succeed(), name)
	return profile
}

// resize says how many machines pools have.
func resize(ctx context.Context, size int32, names ...string) {
	GinkgoHelper()
	changePools(ctx, func(pool *extensionsv1alpha1.WorkerPool) { pool.Minimum, pool.Maximum = size, size }, names...)
}

// changePools changes pools of the Worker, and lets it be reconciled.
func changePools(ctx context.Context, change func(*extensionsv1alpha1.WorkerPool), names ...string) {
	GinkgoHelper()
	_, err := lab.shoot.ChangeWorker(ctx, func(worker *extensionsv1alpha1.Worker) {
		for i := range worker.Spec.Pools {
			for _, name := range names {
				if worker.Spec.Pools[i].Name == name {
					change(&worker.Spec.Pools[i])
				}
			}
		}
	})
	Expect(err).NotTo(HaveOccurred())
}

// hibernate does what gardenlet does when a shoot is hibernated or wakes up.
func hibernate(ctx context.Context, enabled bool) {
	GinkgoHelper()
	Expect(lab.changeShoot(ctx, func(object *gardencorev1beta1.Shoot) error {
		object.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: &enabled}
		return nil
	})).To(Succeed())
	since := time.Now()
	worker, err := lab.shoot.ChangeWorker(ctx, func(*extensionsv1alpha1.Worker) {})
	Expect(err).NotTo(HaveOccurred())
	Expect(lab.shoot.Reconciled(ctx, worker, since)).To(Succeed())
}

// expectNoMachines waits until the sites of virtual machines have none.
func expectNoMachines(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, lab.stack.servers.All, joinTime, time.Second).Should(BeEmpty())
	Eventually(ctx, lab.virtualMachines, joinTime, time.Second).WithContext(ctx).Should(BeEmpty())
}

// createToken creates a bootstrap token and returns it.
func createToken(ctx context.Context) string {
	GinkgoHelper()
	secret := rand.String(16)
	Expect(lab.shoot.Seed.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-b4hand", Namespace: metav1.NamespaceSystem},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{"token-id": "b4hand", "token-secret": secret, "usage-bootstrap-authentication": "true"},
	})).To(Succeed())
	return "b4hand." + secret
}

// bootByHand erases the disk of the only machine of a pool, boots it with what its platform gave it, and returns how long its node took to
// be ready.
func bootByHand(ctx context.Context, pool string) time.Duration {
	GinkgoHelper()
	before, err := lab.node(ctx, pool)
	Expect(err).NotTo(HaveOccurred())
	machine := lab.machine(pool)
	Expect(os.Remove(machine.Disk())).To(Succeed()) // The machine has it open until it ends.
	begin := time.Now()
	if lab.hosts.Machine(lab.names[pool]) != nil { // which its operator would switch on later
		Expect(machine.Reset()).To(Succeed())
	} else {
		Expect(lab.cutPower(ctx, pool)).To(Succeed())
	}
	Eventually(ctx, func(g Gomega) {
		now, err := lab.node(ctx, pool)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(now.UID).To(Equal(before.UID))
		g.Expect(now.Status.NodeInfo.BootID).NotTo(Equal(before.Status.NodeInfo.BootID))
		g.Expect(readiness(now)).To(Equal(corev1.ConditionTrue))
	}, joinTime, 100*time.Millisecond).Should(Succeed(), pool)
	return time.Since(begin)
}
