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

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/scaler"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

// newScaler plays the cluster-autoscaler.
func newScaler() *scaler.Scaler {
	return &scaler.Scaler{
		Seed: local.Seed.Client, Worker: client.ObjectKey{Namespace: local.Name, Name: "hybrid"},
		Report: func(line string) { GinkgoWriter.Println("scaler: " + line) },
	}
}

// expectToldExhausted expects that the Infrastructure was told of a machine that waited for a host, and of its end.
func expectToldExhausted(ctx context.Context) {
	GinkgoHelper()
	told := &eventsv1.EventList{}
	Expect(local.Seed.Client.List(ctx, told, client.InNamespace(local.Name))).To(Succeed())
	Expect(told.Items).To(ContainElement(And(
		HaveField("Regarding.Kind", "Infrastructure"), HaveField("Reason", sitehealth.ReasonExhausted),
		HaveField("Note", HavePrefix("site \"racks\": ")))))
	Eventually(func() ([]gardencorev1beta1.Condition, error) {
		list := &extensionsv1alpha1.InfrastructureList{}
		err := local.Seed.Client.List(ctx, list, client.InNamespace(local.Name))
		return list.Items[0].Status.Conditions, err
	}).WithContext(ctx).Within(time.Minute).Should(ContainElement(And(
		HaveField("Type", BeEquivalentTo(sitehealth.ConditionPrefix+"racks")), HaveField("Reason", sitehealth.ReasonAvailable))))
}

func fillingSpecs() {
	It("should take hosts first, and servers in the cloud when no host is free", func(ctx SpecContext) {
		s := newScaler()
		s.Period = 3 * time.Second // a machine that waits for a host is seen before it is taken back
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
		specs.ExpectRunning(ctx, burst(), cloud, 2, inTime)
		specs.ExpectRunning(ctx, burst(), rack, largeHosts, inTime)
		Expect(specs.Identities(ctx, burst(), rack)).To(HaveEach(HavePrefix("metal3://hosts/rack-1-l-")))
		Expect(conflicts()).To(BeEmpty())
		expectToldExhausted(ctx)
	}, SpecTimeout(8*time.Minute))

	It("should give the hosts back when their nodes are not needed any more", func(ctx SpecContext) {
		Expect(newScaler().Remove(ctx, slices.Collect(maps.Keys(specs.Identities(ctx, burst(), "")))...)).To(Succeed())
		specs.ExpectRunning(ctx, burst(), "", 0, inTime)
		Expect(inventory.Hosts(ctx)).To(HaveLen(smallHosts + largeHosts))
		Expect(consumers(ctx)).NotTo(HaveKey(HavePrefix("rack-1-l-")))
	}, SpecTimeout(12*time.Minute))
}
