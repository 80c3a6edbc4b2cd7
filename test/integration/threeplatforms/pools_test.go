// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package threeplatforms_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

// inTime is how long machines may take if nothing is disturbed; most of it is OpenStack's if others load it.
const inTime = 3 * time.Minute

// mixed is the pool on all sites.
func mixed() shoot.Pool { return shoot.Pool{Shoot: local, Name: "mixed"} }

// burst is the pool on racks and in the cloud, with priorities.
func burst() shoot.Pool { return shoot.Pool{Shoot: local, Name: "burst"} }

// scale adds machines to the pool on all sites in a zone, or removes them, and returns how many are wanted then.
func scale(ctx context.Context, zone string, by int32) int {
	GinkgoHelper()
	return specs.Scale(ctx, mixed(), zone, by)
}

// newest is the machine of the pool on all sites in a zone that none of the others is.
func newest(ctx context.Context, zone string, others map[string]string) machinev1alpha1.Machine {
	GinkgoHelper()
	var found machinev1alpha1.Machine
	Eventually(func(g Gomega) {
		machines, err := mixed().Machines(ctx, zone)
		g.Expect(err).NotTo(HaveOccurred())
		i := slices.IndexFunc(machines, func(m machinev1alpha1.Machine) bool { return others[m.Name] == "" })
		g.Expect(i).To(BeNumerically(">=", 0))
		found = machines[i]
	}).WithContext(ctx).Within(2 * time.Minute).Should(Succeed())
	return found
}

// worker is the Worker of the shoot as it is.
func worker(ctx context.Context) *extensionsv1alpha1.Worker {
	GinkgoHelper()
	w := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: local.Name}}
	Expect(local.Seed.Client.Get(ctx, client.ObjectKeyFromObject(w), w)).To(Succeed())
	return w
}

// failedMachines are the machines that machine-controller-manager reports as failed to Gardener, with their messages.
func failedMachines(ctx context.Context) []string {
	GinkgoHelper()
	deployments := &machinev1alpha1.MachineDeploymentList{}
	Expect(local.Seed.Client.List(ctx, deployments, client.InNamespace(local.Name))).To(Succeed())
	var failed []string
	for _, d := range deployments.Items {
		for _, m := range d.Status.FailedMachines {
			failed = append(failed, m.Name+": "+m.LastOperation.Description)
		}
	}
	return failed
}

// expectOnlyNamed expects an error that names sites of these and no other.
func expectOnlyNamed(failure *gardencorev1beta1.LastError, sites ...string) {
	GinkgoHelper()
	Expect(failure).NotTo(BeNil())
	named := 0
	for _, site := range siteOf {
		if !strings.Contains(failure.Description, fmt.Sprintf("site %q", site)) {
			continue
		}
		Expect(sites).To(ContainElement(site), failure.Description)
		named++
	}
	Expect(named).To(BeNumerically(">", 0), failure.Description)
}

// reconcileWorker changes the Worker and waits until it is reconciled.
func reconcileWorker(ctx context.Context, change func(*extensionsv1alpha1.Worker)) {
	GinkgoHelper()
	since := time.Now()
	changed, err := local.ChangeWorker(ctx, change)
	Expect(err).NotTo(HaveOccurred())
	Expect(local.Reconciled(ctx, changed, since)).To(Succeed())
}

// setZones gives the pool on all sites these zones, each with a machine, and does not wait.
func setZones(ctx context.Context, zones ...string) {
	GinkgoHelper()
	_, err := local.ChangeWorker(ctx, func(w *extensionsv1alpha1.Worker) { changeZones(w, zones) })
	Expect(err).NotTo(HaveOccurred())
}

// changeZones gives the pool on all sites these zones, each with a machine and room for more.
func changeZones(w *extensionsv1alpha1.Worker, zones []string) {
	pool := mixedIn(w)
	pool.Zones, pool.Minimum, pool.Maximum = zones, int32(len(zones)), int32(4*len(zones))
}

// mixedIn is the pool on all sites in the Worker.
func mixedIn(w *extensionsv1alpha1.Worker) *extensionsv1alpha1.WorkerPool {
	return &w.Spec.Pools[slices.IndexFunc(w.Spec.Pools, func(p extensionsv1alpha1.WorkerPool) bool { return p.Name == mixed().Name })]
}

// consumers are the consumers of all hosts and servers that have one.
func consumers(ctx context.Context) map[string]string {
	GinkgoHelper()
	hosts, err := inventory.Hosts(ctx)
	Expect(err).NotTo(HaveOccurred())
	servers, err := inventory.Servers(ctx)
	Expect(err).NotTo(HaveOccurred())
	maps.Copy(hosts, servers)
	used := map[string]string{}
	for name, host := range hosts {
		if host.Consumer != "" {
			used[name] = host.Consumer
		}
	}
	return used
}
