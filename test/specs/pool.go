// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"sync"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

// Isolated limits what a site takes to create a machine, or to delete one, while another site is disturbed. It is below the time after
// which the driver gives up a creation, so that no machine that has to wait for one of the disturbed site is there in time. It is the same
// on each machine: what is disturbed stays so until it has been measured.
var Isolated = machine.DefaultTimeouts().Create - 30*time.Second

// Machines are the machines of a pool in a zone, or in all zones if that is empty.
func Machines(ctx context.Context, pool shoot.Pool, zone string) []machinev1alpha1.Machine {
	ginkgo.GinkgoHelper()
	machines, err := pool.Machines(ctx, zone)
	Expect(err).NotTo(HaveOccurred())
	return machines
}

// Identities are the provider IDs of the machines of a pool in a zone, or in all zones if that is empty, by name.
func Identities(ctx context.Context, pool shoot.Pool, zone string) map[string]string {
	ginkgo.GinkgoHelper()
	result, err := pool.Identities(ctx, zone)
	Expect(err).NotTo(HaveOccurred())
	return result
}

// Scale adds machines to a pool in a zone, or removes them, as cluster-autoscaler does, and returns how many are wanted then.
func Scale(ctx context.Context, pool shoot.Pool, zone string, by int32) int {
	ginkgo.GinkgoHelper()
	size, err := pool.Scale(ctx, zone, by)
	Expect(err).NotTo(HaveOccurred())
	return size
}

// ExpectRunning waits until a pool has so many machines in a zone, or in all zones if that is empty, all of which run with ready nodes,
// and returns how long that took.
func ExpectRunning(ctx context.Context, pool shoot.Pool, zone string, size int, within time.Duration) time.Duration {
	ginkgo.GinkgoHelper()
	start := time.Now()
	Eventually(pool.Running).WithContext(ctx).WithArguments(zone, size).Within(within).ProbeEvery(500 * time.Millisecond).Should(Succeed())
	return time.Since(start)
}

// ExpectIsolated adds a machine to a pool in each of the zones at the same time, then removes one, while another site is disturbed.
func ExpectIsolated(ctx context.Context, pool shoot.Pool, zones ...string) {
	ginkgo.GinkgoHelper()
	for _, by := range []int32{1, -1} {
		var group sync.WaitGroup
		for _, zone := range zones {
			size := Scale(ctx, pool, zone, by)
			group.Go(func() {
				defer ginkgo.GinkgoRecover()
				ExpectRunning(ctx, pool, zone, size, Isolated)
			})
		}
		group.Wait()
	}
}

// Failure waits until the creation of a machine of a pool in a zone has failed, and returns machine-controller-manager's code and the
// message.
func Failure(ctx context.Context, pool shoot.Pool, zone string, within time.Duration) (code, message string) {
	ginkgo.GinkgoHelper()
	Eventually(func() string {
		for _, m := range Machines(ctx, pool, zone) {
			if last := m.Status.LastOperation; last.State == machinev1alpha1.MachineStateFailed {
				code, message = last.ErrorCode, last.Description
			}
		}
		return code
	}).WithContext(ctx).Within(within).ProbeEvery(500 * time.Millisecond).ShouldNot(BeEmpty())
	return code, message
}
