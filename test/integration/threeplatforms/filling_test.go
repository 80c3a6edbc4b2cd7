// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package threeplatforms_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/scaler"
)

// newScaler plays the cluster-autoscaler.
func newScaler() *scaler.Scaler {
	return &scaler.Scaler{
		Seed: local.Seed.Client, Worker: client.ObjectKey{Namespace: local.Name, Name: "hybrid"},
		Report: func(line string) { GinkgoWriter.Println("scaler: " + line) },
	}
}

func fillingSpecs() {
	It("should take hosts first, and servers in the cloud when no host is free", func(ctx SpecContext) {
		s := newScaler()
		s.SetPods(scaler.Pods{Count: largeHosts + 2, NodeSelector: map[string]string{shoot.PoolLabel: "burst"}})
		scaling, end := context.WithCancel(ctx)
		var group sync.WaitGroup
		group.Go(func() { s.Run(scaling) })
		DeferCleanup(func() {
			end()
			group.Wait()
		})
		Consistently(func() (map[string]string, error) { return burst().Identities(ctx, cloud) }).
			WithContext(ctx).WithTimeout(time.Second).Should(BeEmpty())
		expectRunning(ctx, burst(), cloud, 2, inTime)
		expectRunning(ctx, burst(), rack, largeHosts, inTime)
		Expect(identities(ctx, burst(), rack)).To(HaveEach(HavePrefix("metal3://hosts/rack-1-l-")))
		Expect(inventory.Journal.Conflicts()).To(BeEmpty())
	}, SpecTimeout(8*time.Minute))

	It("should give the hosts back when their nodes are not needed any more", func(ctx SpecContext) {
		Expect(newScaler().Remove(ctx, slices.Collect(maps.Keys(identities(ctx, burst(), "")))...)).To(Succeed())
		expectRunning(ctx, burst(), "", 0, inTime)
		Expect(inventory.Hosts(ctx)).To(HaveLen(smallHosts + largeHosts))
		Expect(consumers(ctx)).NotTo(HaveKey(HavePrefix("rack-1-l-")))
	}, SpecTimeout(6*time.Minute))
}
