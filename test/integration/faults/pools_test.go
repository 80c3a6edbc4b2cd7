// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The sites and the pools of each, with the sites' zones.
const (
	disturbed, undisturbed = "cloud", "cloud2"

	// early is the pool that is scaled up in the first fault, late the one of the others, and other that of the other site.
	early, late, other = "early", "late", "other"
)

var zones = map[string]string{early: "cloud-a", late: "cloud-b", other: "cloud2-a"}

// workerOfPools is a Worker with the three pools, each with one machine.
func workerOfPools(infrastructure *extensionsv1alpha1.Infrastructure) *extensionsv1alpha1.Worker {
	GinkgoHelper()
	worker, err := local.Worker(infrastructure)
	Expect(err).NotTo(HaveOccurred())
	single := worker.Spec.Pools[1]
	worker.Spec.Pools = nil
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		pool := *single.DeepCopy()
		pool.Name, pool.Zones, pool.Maximum = name, []string{zones[name]}, 10
		pool.Labels["worker.gardener.cloud/pool"] = name
		worker.Spec.Pools = append(worker.Spec.Pools, pool)
	}
	return worker
}

// scale adds machines to a pool, or removes them, as cluster-autoscaler does, and returns how many are wanted then.
func scale(ctx context.Context, pool string, by int32) int {
	GinkgoHelper()
	deployments := &machinev1alpha1.MachineDeploymentList{}
	Expect(local.Seed.Client.List(ctx, deployments, client.InNamespace(local.Name))).To(Succeed())
	i := slices.IndexFunc(deployments.Items, func(d machinev1alpha1.MachineDeployment) bool {
		return strings.HasPrefix(d.Name, local.Name+"-"+pool+"-")
	})
	Expect(i).To(BeNumerically(">=", 0))
	deployment := &deployments.Items[i]
	before := deployment.DeepCopy()
	deployment.Spec.Replicas += by
	Expect(local.Seed.Client.Patch(ctx, deployment, client.MergeFrom(before))).To(Succeed())
	return int(deployment.Spec.Replicas)
}

// machinesOf are the machines of a pool.
func machinesOf(ctx context.Context, pool string) []machinev1alpha1.Machine {
	GinkgoHelper()
	all, err := local.Machines(ctx)
	Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(slices.Collect(maps.Values(all)), func(m machinev1alpha1.Machine) bool {
		return m.Spec.NodeTemplateSpec.Labels["worker.gardener.cloud/pool"] != pool
	})
}

// scaled waits until a pool has so many machines, all of which run, and returns how long that took.
func scaled(ctx context.Context, pool string, size int, within time.Duration) time.Duration {
	GinkgoHelper()
	start := time.Now()
	Eventually(func(g Gomega) {
		g.Expect(local.Seed.Check()).To(Succeed())
		machines := machinesOf(ctx, pool)
		g.Expect(machines).To(HaveLen(size))
		for _, m := range machines {
			g.Expect(m.Status.CurrentStatus.Phase).To(Equal(machinev1alpha1.MachineRunning), "%s: %s", m.Name, m.Status.LastOperation.Description)
		}
	}).WithContext(ctx).Within(within).ProbeEvery(500 * time.Millisecond).Should(Succeed())
	return time.Since(start)
}

// createAndDelete adds a machine to the pool of the site that is not disturbed, removes one again, and returns how long each
// took.
func createAndDelete(ctx context.Context, within time.Duration) (created, deleted time.Duration) {
	GinkgoHelper()
	created = scaled(ctx, other, scale(ctx, other, 1), within)
	deleted = scaled(ctx, other, scale(ctx, other, -1), within)
	return created, deleted
}

// failure waits until the creation of a machine of the pool has failed and returns the code and the message.
func failure(ctx context.Context, pool string) (code, message string) {
	GinkgoHelper()
	Eventually(func() string {
		for _, m := range machinesOf(ctx, pool) {
			if last := m.Status.LastOperation; last.State == machinev1alpha1.MachineStateFailed {
				code, message = last.ErrorCode, last.Description
			}
		}
		return code
	}).WithContext(ctx).Within(requestTimeout + 30*time.Second).ProbeEvery(500 * time.Millisecond).ShouldNot(BeEmpty())
	return code, message
}

// servers are the IDs and names of the servers of the disturbed site.
func servers(ctx context.Context) map[string]string {
	GinkgoHelper()
	found, err := local.Inspectors[0].Servers(ctx, local.Name)
	Expect(err).NotTo(HaveOccurred())
	result := map[string]string{}
	for id, s := range found {
		result[id] = s.Name
	}
	return result
}

// leftOver are the shoot's servers and ports of machines in OpenStack that are of no machine.
func leftOver(ctx context.Context) []string {
	GinkgoHelper()
	objects, err := local.Objects(ctx)
	Expect(err).NotTo(HaveOccurred())
	machines, err := local.Machines(ctx)
	Expect(err).NotTo(HaveOccurred())
	seen := map[string]bool{}
	var result []string
	for _, o := range objects {
		if _, known := machines[o.Name]; known && !seen[o.Kind+o.Name] {
			seen[o.Kind+o.Name] = true
			continue
		}
		if o.Kind == "server" || o.Kind == "port" && strings.HasPrefix(o.Name, local.Name) {
			result = append(result, fmt.Sprint(o))
		}
	}
	return result
}
