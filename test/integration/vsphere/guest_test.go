// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

var _ = Describe("Guests", func() {
	var (
		previous          *vcenter.VCenter
		previousInspector *vim25.Client
	)

	BeforeEach(func(ctx SpecContext) {
		previous, previousInspector = server, inspector
		var err error
		server, err = vcenter.Start(ctx, GinkgoT().TempDir(), vcenter.Options{Guest: 100 * time.Millisecond})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			server.Stop(ctx)
			server, inspector = previous, previousInspector
		})
		inspector, err = server.Client(ctx)
		Expect(err).NotTo(HaveOccurred())
	}, NodeTimeout(2*time.Minute))

	It("should tell the addresses of a guest and let it shut down before it is deleted", func(ctx SpecContext) {
		place := newBed(ctx)
		r := platform.MachineRequest{Name: place.shoot + "-guest", Spec: place.spec(ctx, "DC0_C0"), Credentials: siteCredentials(),
			UserData: []byte("#!/bin/sh\n")}
		part := machines.New(newSessions())
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		Eventually(func(ctx context.Context) ([]corev1.NodeAddress, error) {
			m, err := part.Get(ctx, r)
			return m.Addresses, err
		}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(100 * time.Millisecond).Should(ConsistOf(
			corev1.NodeAddress{Type: corev1.NodeHostName, Address: r.Name},
			HaveField("Type", corev1.NodeInternalIP),
		))

		count(ctx)
		start := time.Now()
		Expect(part.Delete(ctx, r)).To(Succeed())
		polls := int(time.Since(start) / (200 * time.Millisecond)) // at most, for a guest and tasks that take long on a busy machine
		counts := count(ctx)
		Expect(counts).To(And(HaveKeyWithValue("vim25 ShutdownGuest", 1), Not(HaveKey("vim25 PowerOffVM_Task"))))
		Expect(counts.Total()).To(BeNumerically("<=", 4+polls), "%v", counts)
		Expect(place.vm(ctx, r.Spec, r.Name)).To(BeNil())
	}, NodeTimeout(2*time.Minute))
})
