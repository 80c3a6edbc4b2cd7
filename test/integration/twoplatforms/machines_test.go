// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package twoplatforms_test

import (
	"context"
	"encoding/json"
	"slices"
	"syscall"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// pool is the pool that spans both sites.
func pool() shoot.Pool {
	return shoot.Pool{Shoot: local, Name: "mixed"}
}

// machinesOf are the machines of the pool in a zone, or in all zones if that is empty.
func machinesOf(ctx context.Context, zone string) []machinev1alpha1.Machine {
	GinkgoHelper()
	machines, err := pool().Machines(ctx, zone)
	Expect(err).NotTo(HaveOccurred())
	return machines
}

// identities are the provider IDs of the machines of the pool by name.
func identities(ctx context.Context, zone string) map[string]string {
	GinkgoHelper()
	result, err := pool().Identities(ctx, zone)
	Expect(err).NotTo(HaveOccurred())
	return result
}

// expectRunning waits until the pool has so many running machines with ready nodes in a zone, and returns how long that took.
func expectRunning(ctx context.Context, zone string, size int, within time.Duration) time.Duration {
	GinkgoHelper()
	start := time.Now()
	Eventually(pool().Running).WithContext(ctx).WithArguments(zone, size).Within(within).ProbeEvery(500 * time.Millisecond).Should(Succeed())
	return time.Since(start)
}

// scale adds machines to the pool in a zone, or removes them, as cluster-autoscaler does, and returns how many are wanted then.
func scale(ctx context.Context, zone string, by int32) int {
	GinkgoHelper()
	size, err := pool().Scale(ctx, zone, by)
	Expect(err).NotTo(HaveOccurred())
	return size
}

// failure waits until the creation of a machine in a zone has failed, and returns the code, the message and how long that took.
func failure(ctx context.Context, zone string, within time.Duration) (code, message string, took time.Duration) {
	GinkgoHelper()
	start := time.Now()
	Eventually(func() string {
		for _, m := range machinesOf(ctx, zone) {
			if last := m.Status.LastOperation; last.State == machinev1alpha1.MachineStateFailed {
				code, message = last.ErrorCode, last.Description
			}
		}
		return code
	}).WithContext(ctx).Within(within).ProbeEvery(500 * time.Millisecond).ShouldNot(BeEmpty())
	return code, message, time.Since(start)
}

// orphan lets a machine object go while the driver does not see it, so that its server has none, and returns how long the server is
// there after that.
func orphan(ctx context.Context, zone string, within time.Duration) time.Duration {
	GinkgoHelper()
	m := &machinesOf(ctx, zone)[0]
	Expect(m.Spec.ProviderID).NotTo(BeEmpty())
	driver := local.Seed.Driver.PID()
	Expect(driver).NotTo(BeZero())
	Expect(syscall.Kill(driver, syscall.SIGSTOP)).To(Succeed())
	defer func() { Expect(syscall.Kill(driver, syscall.SIGCONT)).To(Succeed()) }()
	patch := client.MergeFrom(m.DeepCopy())
	m.Finalizers = nil
	Expect(local.Seed.Client.Patch(ctx, m, patch)).To(Succeed())
	Expect(local.Seed.Client.Delete(ctx, m)).To(Succeed())
	Expect(syscall.Kill(driver, syscall.SIGCONT)).To(Succeed())

	start := time.Now()
	Eventually(func() ([]string, error) {
		servers, err := local.Inspectors[0].Servers(ctx, m.Name)
		var names []string
		for _, s := range servers {
			names = append(names, s.Name)
		}
		return names, err
	}).WithContext(ctx).Within(within).ProbeEvery(time.Second).Should(BeEmpty())
	return time.Since(start)
}

// unfinished is how many machines of a zone do not run.
func unfinished(ctx context.Context, zone string) int {
	GinkgoHelper()
	return len(slices.DeleteFunc(machinesOf(ctx, zone), func(m machinev1alpha1.Machine) bool {
		return m.Status.CurrentStatus.Phase == machinev1alpha1.MachineRunning
	}))
}

// disturb applies settings to the vCenter until the spec ends.
func disturb(ctx context.Context, settings control.Settings) {
	GinkgoHelper()
	Expect(server.Set(ctx, settings)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(server.Set(ctx, control.Settings{})).To(Succeed()) })
}

// reconcileWorker changes the Worker and waits until it is reconciled.
func reconcileWorker(ctx context.Context, change func(*extensionsv1alpha1.Worker)) {
	GinkgoHelper()
	since := time.Now()
	worker, err := local.ChangeWorker(ctx, change)
	Expect(err).NotTo(HaveOccurred())
	Expect(local.Reconciled(ctx, worker, since)).To(Succeed())
}

// setZones gives the pool other zones, with room for more machines, and does not wait.
func setZones(ctx context.Context, zones ...string) {
	GinkgoHelper()
	_, err := local.ChangeWorker(ctx, func(w *extensionsv1alpha1.Worker) {
		mixed(w).Zones = zones
		mixed(w).Minimum, mixed(w).Maximum = 4, 12
	})
	Expect(err).NotTo(HaveOccurred())
}

// mixed is the pool that spans both sites.
func mixed(worker *extensionsv1alpha1.Worker) *extensionsv1alpha1.WorkerPool {
	return &worker.Spec.Pools[slices.IndexFunc(worker.Spec.Pools, func(p extensionsv1alpha1.WorkerPool) bool { return p.Name == "mixed" })]
}

// nextUserData makes the Secret with the user data of the pool's next machines, as gardenlet does for another image, and returns
// its name.
func nextUserData(ctx context.Context) string {
	GinkgoHelper()
	current := &corev1.Secret{}
	Expect(local.Seed.Client.Get(ctx, client.ObjectKey{Namespace: local.Name, Name: "gardener-node-agent-mixed"}, current)).To(Succeed())
	next := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: current.Name + "-next", Namespace: local.Name}, Data: current.Data}
	Expect(local.Seed.Client.Create(ctx, next)).To(Succeed())
	return next.Name
}

// hibernate says in the Cluster that the Shoot is hibernated, as gardenlet does.
func hibernate(ctx context.Context) {
	GinkgoHelper()
	cluster, shoot := &extensionsv1alpha1.Cluster{}, &gardencorev1beta1.Shoot{}
	Expect(local.Seed.Client.Get(ctx, client.ObjectKey{Name: local.Name}, cluster)).To(Succeed())
	Expect(json.Unmarshal(cluster.Spec.Shoot.Raw, shoot)).To(Succeed())
	enabled := true
	shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: &enabled}
	raw, err := json.Marshal(shoot)
	Expect(err).NotTo(HaveOccurred())
	cluster.Spec.Shoot = runtime.RawExtension{Raw: raw}
	Expect(local.Seed.Client.Update(ctx, cluster)).To(Succeed())
}
