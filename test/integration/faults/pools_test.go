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

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
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

// poolOf is a pool with one zone.
func poolOf(name string) shoot.Pool {
	return shoot.Pool{Shoot: local, Name: name}
}

// scale adds machines to a pool, or removes them, as cluster-autoscaler does, and returns how many are wanted then.
func scale(ctx context.Context, pool string, by int32) int {
	GinkgoHelper()
	return specs.Scale(ctx, poolOf(pool), zones[pool], by)
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
