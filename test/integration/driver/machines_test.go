// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
)

var _ = Describe("Machines", Ordered, func() {
	secret := func(password string) *corev1.Secret {
		data := map[string][]byte{"userData": []byte("#!/bin/sh\n")}
		for key, value := range credentials.SiteCredentials() {
			data[siteName+"."+key] = []byte(value)
		}
		if password != "" {
			data[siteName+".password"] = []byte(password)
		}
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: shoot}, Data: data}
	}
	// create makes a machine of the flavor, which goes in the end.
	create := func(ctx SpecContext, name, flavor string) *machinev1alpha1.Machine {
		GinkgoHelper()
		raw, err := codec.Encode(resolve(ctx, flavor))
		Expect(err).NotTo(HaveOccurred())
		class := &machinev1alpha1.MachineClass{
			ObjectMeta:   metav1.ObjectMeta{Name: name, Namespace: shoot},
			Provider:     machine.Provider,
			ProviderSpec: *raw,
			SecretRef:    &corev1.SecretReference{Name: "cloudprovider", Namespace: shoot},
		}
		m := &machinev1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{Name: shoot + "-" + name, Namespace: shoot},
			Spec:       machinev1alpha1.MachineSpec{Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: name}},
		}
		Expect(seed.Client.Create(ctx, class)).To(Succeed())
		Expect(seed.Client.Create(ctx, m)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(seed.Client.Delete(ctx, m)).To(Succeed())
			Eventually(func(ctx context.Context) error { return seed.Client.Get(ctx, client.ObjectKeyFromObject(m), m) }).
				WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(MatchError(apierrors.IsNotFound, "not found"))
			Expect(inspector.Servers(ctx, m.Name)).To(BeEmpty())
		}, NodeTimeout(3*time.Minute))
		return m
	}
	statusOf := func(ctx context.Context, m *machinev1alpha1.Machine) (machinev1alpha1.MachineStatus, error) {
		err := seed.Client.Get(ctx, client.ObjectKeyFromObject(m), m)
		return m.Status, err
	}

	BeforeAll(func(ctx SpecContext) { Expect(seed.Client.Create(ctx, secret(""))).To(Succeed()) })

	It("should be out of resources within seconds if no host can take them, although the site took the request", func(ctx SpecContext) {
		m := create(ctx, "huge", "m1.huge")
		Eventually(statusOf).WithContext(ctx).WithArguments(m).Within(30 * time.Second).ProbeEvery(500 * time.Millisecond).Should(And(
			HaveField("LastOperation.ErrorCode", "ResourceExhausted"),
			HaveField("LastOperation.Description", ContainSubstring("No valid host")),
			HaveField("CurrentStatus.Phase", machinev1alpha1.MachineCrashLoopBackOff),
		))
		AddReportEntry("seconds", time.Since(m.CreationTimestamp.Time).Seconds())
		Expect(m.Spec.ProviderID).To(HavePrefix("openstack:///"))
	}, SpecTimeout(time.Minute))

	It("should use credentials that were rotated in the Secret", func(ctx SpecContext) {
		Expect(seed.Client.Update(ctx, secret("wrong"))).To(Succeed())
		refused := create(ctx, "refused", "m1.tiny")
		Eventually(statusOf).WithContext(ctx).WithArguments(refused).Within(30 * time.Second).ProbeEvery(500 * time.Millisecond).
			Should(HaveField("LastOperation.ErrorCode", "Unauthenticated"))

		Expect(seed.Client.Update(ctx, secret(""))).To(Succeed())
		created := create(ctx, "created", "m1.tiny")
		Eventually(statusOf).WithContext(ctx).WithArguments(created).Within(30 * time.Second).ProbeEvery(500 * time.Millisecond).
			Should(HaveField("CurrentStatus.Phase", machinev1alpha1.MachinePending))
	}, SpecTimeout(2*time.Minute))
})
