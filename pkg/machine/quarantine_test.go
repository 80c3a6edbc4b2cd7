// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

var _ = Describe("Quarantine", func() {
	const untilAnnotation = "hybrid.provider.extensions.gardener.cloud/quarantined-until"

	var (
		ctx    = context.Background()
		toy    *spy
		d      driver.Driver
		class  *machinev1alpha1.MachineClass
		m      *machinev1alpha1.Machine
		secret = &corev1.Secret{Data: map[string][]byte{"racks.token": []byte("t0p-s3cret"), "userData": []byte("#!/bin/sh")}}
		in     = func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	)

	BeforeEach(func() {
		toy = &spy{Machines: toyplatform.NewMachines(toyplatform.NewCloud())}
		d = machine.NewDriver(platform.Registry[platform.Machines]{toyplatform.Platform: toy}, timeouts)
		raw, err := codec.Encode(&v1alpha1.MachineProviderSpec{Site: "racks", Shoot: "shoot--p--s", Blocks: toyapi.Blocks(&toyapi.MachineSpec{})})
		Expect(err).NotTo(HaveOccurred())
		class = &machinev1alpha1.MachineClass{
			ObjectMeta:   metav1.ObjectMeta{Name: "class", Annotations: map[string]string{untilAnnotation: in(time.Hour)}},
			Provider:     machine.Provider,
			ProviderSpec: *raw,
		}
		deleted := metav1.Now()
		m = &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "1", DeletionTimestamp: &deleted}}
		m.Spec.ProviderID = "toy:///racks/m"
		m.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	})

	expect := func(err error, code codes.Code, message string) {
		GinkgoHelper()
		failure, ok := status.FromError(err)
		Expect(ok).To(BeTrue(), "%v", err)
		Expect(failure.Code()).To(Equal(code))
		Expect(failure.Message()).To(ContainSubstring(message))
	}
	remove := func() error {
		_, err := d.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: m, MachineClass: class, Secret: secret})
		return err
	}

	DescribeTable("should keep a machine without any request to the site", func(change func(), message string) {
		change()
		expect(remove(), codes.Unavailable, message)
		Expect(toy.deleted).To(BeZero())
	},
		Entry("that was running", func() {}, `site "racks": the site is in quarantine until `),
		Entry("and say how to delete it", func() {}, "to delete it now, set annotation hybrid.provider.extensions.gardener.cloud/delete-anyway"),
		Entry("whose node answers", func() { m.Status.Conditions[0].Status = corev1.ConditionTrue }, "the machine is kept"),
		Entry("whose conditions are unknown and that was assigned a node", func() {
			m.Status.Conditions, m.Labels = nil, map[string]string{machinev1alpha1.NodeLabelKey: "m"}
		}, "the machine is kept"),
		Entry("that is to be deleted by force", func() { m.Labels = map[string]string{"force-deletion": "True"} }, "the machine is kept"),
		Entry("if no reason is given", func() { m.Annotations = map[string]string{v1alpha1.AnnotationDeleteAnyway: ""} }, "the machine is kept"),
		Entry("if the end cannot be read", func() { class.Annotations[untilAnnotation] = "tomorrow" }, "without a valid end"),
		Entry("if there is no end", func() { class.Annotations[untilAnnotation] = "" }, "without a valid end"),
		Entry("that is an orphan", func() { m = &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: m.Spec} },
			"orphans are not deleted"),
	)

	DescribeTable("should not keep a machine", func(change func()) {
		change()
		Expect(remove()).To(Succeed())
		Expect(toy.deleted.Name).To(Equal("m"))
	},
		Entry("that was never running", func() { m.Status.Conditions = nil }),
		Entry("whose node was never registered", func() {
			m.Status.Conditions = []corev1.NodeCondition{{Type: "Other"}}
			m.Labels = map[string]string{machinev1alpha1.NodeLabelKey: "m"}
		}),
		Entry("that is to be deleted anyway", func() { m.Annotations = map[string]string{v1alpha1.AnnotationDeleteAnyway: "disk failed"} }),
		Entry("after the end", func() { class.Annotations[untilAnnotation] = in(-time.Second) }),
		Entry("without a quarantine", func() { class.Annotations = nil }),
	)

	It("should create no machine, so that another site is tried", func() {
		m = &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "1"}}
		create := func() error {
			_, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: class, Secret: secret})
			return err
		}
		expect(create(), codes.ResourceExhausted, `site "racks": the site is in quarantine until `)
		Expect(toy.created).To(BeZero())

		class.Annotations[untilAnnotation] = in(-time.Second)
		Expect(create()).To(Succeed())
	})

	It("should still look for machines and list them", func() {
		class.Annotations = nil
		_, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())

		class.Annotations = map[string]string{untilAnnotation: in(time.Hour)}
		found, err := d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(found.ProviderID).To(Equal("toy:///racks/m"))
		list, err := d.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(list.MachineList).To(HaveLen(1))
	})
})
