// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("A repeated deletion", func() {
	var f *fixture

	BeforeEach(func(ctx SpecContext) {
		f = newFixture(newNamespace())
		f.pool("a", "cloud-a", "rack-1")
		f.create(ctx)
	})

	deploy := func(ctx SpecContext, deleting bool) {
		GinkgoHelper()
		d := f.delegate(apiServer)
		d.worker = f.worker.DeepCopy()
		d.deleting = deleting
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
