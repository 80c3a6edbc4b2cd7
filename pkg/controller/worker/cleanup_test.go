// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

var _ = Describe("What sites have for pools", func() {
	var (
		f    *fixture
		pool *extensionsv1alpha1.WorkerPool
		stop func()
	)

	BeforeEach(func(ctx SpecContext) {
		f = newFixture(newNamespace())
		setPolicy(f.pool("a", "cloud-a", "cloud-b", "rack-1"), "affinity")
		f.create(ctx)
		pool = f.namedPool("a")
		stop = f.playMachineControllerManager()
		DeferCleanup(stop)
		Expect(f.actuator(time.Minute).Reconcile(ctx, logr.Discard(), f.worker.DeepCopy(), f.cluster)).To(Succeed())
		Expect(f.cloud.Groups("cloud")).To(ConsistOf("a/affinity"))
		Expect(f.cloud.Groups("racks")).To(ConsistOf("a/affinity"))
	})

	reconcile := func(ctx context.Context, timeout time.Duration) error {
		f.encode()
		return f.actuator(timeout).Reconcile(ctx, logr.Discard(), f.worker.DeepCopy(), f.cluster)
	}

	It("stays as long as a machine uses it, and goes with the last", func(ctx SpecContext) {
		machine := &machinev1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: f.worker.Namespace},
			Spec: machinev1alpha1.MachineSpec{Class: machinev1alpha1.ClassSpec{Kind: "MachineClass",
				Name: f.deployments(ctx)[deploymentName("a", "cloud-a")]}},
		}
		Expect(apiServer.Create(ctx, machine)).To(Succeed())
		setPolicy(pool, "anti-affinity")
		d := f.delegate(ctx, apiServer)
		d.worker = f.worker.DeepCopy()
		Expect(d.UpdateMachineImagesStatus(ctx)).To(Succeed())
		Expect(d.DeployMachineClasses(ctx)).To(Succeed())
		Expect(cleanUpSites(ctx, d.call, resolver{machineClasses: f.platforms(), timeout: time.Minute}, d.facts, d.zones)).To(Succeed())
		Expect(f.cloud.Groups("cloud")).To(ConsistOf("a/affinity", "a/anti-affinity"))

		Expect(apiServer.Delete(ctx, machine)).To(Succeed())
		Expect(reconcile(ctx, time.Minute)).To(Succeed())
		Expect(f.cloud.Groups("cloud")).To(ConsistOf("a/anti-affinity"))
		Expect(f.cloud.Groups("racks")).To(ConsistOf("a/anti-affinity"))
	})

	DescribeTable("goes on other sites, and the site is named, if a site",
		func(ctx SpecContext, timeout time.Duration, breakSite func(), message string) {
			pool.ProviderConfig, pool.Zones = nil, []string{"cloud-a", "cloud-b"}
			breakSite()
			Expect(reconcile(ctx, timeout)).To(Succeed())
			w := &extensionsv1alpha1.Worker{}
			Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(f.worker), w)).To(Succeed())
			Expect(w.Status.Conditions).To(ConsistOf(And(
				HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionSitesReconciled)), HaveField("Status",
					gardencorev1beta1.ConditionFalse),
				HaveField("Message", And(ContainSubstring(`site "racks": `+message), Not(ContainSubstring(`site "cloud"`)))))))
			Expect(f.cloud.Groups("cloud")).To(BeEmpty())
			Expect(f.cloud.Groups("racks")).To(ConsistOf("a/affinity"))
		},
		Entry("fails", time.Minute, func() { f.cloud.Fail("racks", platform.NewError(platform.ClassTransient, "503")) }, "503"),
		Entry("hangs", time.Second, func() { DeferCleanup(f.cloud.Hang("racks")) }, "no answer"),
	)

	It("stays for a zone that cannot be resolved now", func(ctx SpecContext) {
		setPolicy(pool, "anti-affinity")
		f.profile.MachineTypes[0].Sites = f.profile.MachineTypes[0].Sites[:1]
		Expect(reconcile(ctx, time.Minute)).To(MatchError(ContainSubstring(`pool "a" in zone "rack-1" keeps its machine class`)))
		Expect(f.cloud.Groups("cloud")).To(ConsistOf("a/anti-affinity"))
		Expect(f.cloud.Groups("racks")).To(ConsistOf("a/affinity"))
	})

	It("goes with the Worker, also when only that is left to do, and a dead site does not keep the Worker", func(ctx SpecContext) {
		stop()
		for _, obj := range []client.Object{&machinev1alpha1.MachineDeployment{}, &machinev1alpha1.MachineSet{},
			&machinev1alpha1.MachineClass{}} {
			Expect(apiServer.DeleteAllOf(ctx, obj, client.InNamespace(f.worker.Namespace))).To(Succeed())
		}
		f.cloud.Fail("racks", platform.NewError(platform.ClassTransient, "503"))

		Expect(f.actuator(time.Minute).Delete(ctx, logr.Discard(), f.worker, f.cluster)).To(Succeed())
		Expect(f.cloud.Groups("cloud")).To(BeEmpty())
		Expect(f.cloud.Groups("racks")).To(ConsistOf("a/affinity"))
		Eventually(f.warnings).WithContext(ctx).WithArguments(reasonNotCleanedUp).Should(ContainElement(ContainSubstring(`site "racks": 503`)))
	})
})

var _ = Describe("A repeated deletion", func() {
	var f *fixture

	BeforeEach(func(ctx SpecContext) {
		f = newFixture(newNamespace())
		f.pool("a", "cloud-a", "rack-1")
		f.create(ctx)
	})

	deploy := func(ctx SpecContext, deleting bool) {
		GinkgoHelper()
		d := f.delegate(ctx, apiServer)
		if deleting {
			var err error
			d.classes, err = needed(ctx, d.call, d.classes)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(d.DeployMachineClasses(ctx)).To(Succeed())
	}

	It("should bring back no machine class that is gone, and update those that are left", func(ctx SpecContext) {
		deploy(ctx, false)
		classes := f.classes(ctx)
		Expect(classes).To(HaveLen(2))
		var gone, left machinev1alpha1.MachineClass
		for _, class := range classes {
			gone, left = left, class
		}
		Expect(apiServer.Delete(ctx, &gone)).To(Succeed())

		deploy(ctx, true)
		Expect(f.classes(ctx)).To(And(HaveLen(1), HaveKey(left.Name)))
	})

	It("should bring back a machine class that a machine still needs to be deleted", func(ctx SpecContext) {
		deploy(ctx, false)
		var needed string
		for name, class := range f.classes(ctx) {
			needed = name
			Expect(apiServer.Delete(ctx, &class)).To(Succeed())
		}
		machine := &machinev1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{Name: "left", Namespace: f.worker.Namespace},
			Spec:       machinev1alpha1.MachineSpec{Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: needed}},
		}
		Expect(apiServer.Create(ctx, machine)).To(Succeed())

		deploy(ctx, true)
		Expect(f.classes(ctx)).To(And(HaveLen(1), HaveKey(needed)))
	})
})

// setPolicy gives the pool a group on both sites.
func setPolicy(pool *extensionsv1alpha1.WorkerPool, policy string) {
	group := toyapi.Blocks(&toyapi.Worker{Group: policy})
	pool.ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "cloud", Blocks: group},
		{Name: "racks", Blocks: group}}})
}
