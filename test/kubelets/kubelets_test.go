// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelets_test

import (
	"context"
	"errors"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("Kubelets", func() {
	var (
		ctx       context.Context
		c         client.Client
		k         *kubelets.Kubelets
		machine   *machinev1alpha1.Machine
		servers   map[string]kubelets.Server
		siteError error
	)

	BeforeEach(func() {
		ctx = context.Background()
		machine = &machinev1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "shoot", Finalizers: []string{"machine"}},
			Spec:       machinev1alpha1.MachineSpec{ProviderID: "openstack:///id"},
		}
		servers, siteError = map[string]kubelets.Server{"id": {Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP,
			Address: "10.0.0.7"}}}}, nil
		c = fake.NewClientBuilder().WithScheme(landscape.Scheme).WithStatusSubresource(&corev1.Node{}).Build()
		k = &kubelets.Kubelets{Seed: c, Shoot: c, Namespace: "shoot", Heartbeat: time.Nanosecond,
			Servers: func(context.Context) (map[string]kubelets.Server, error) { return servers, siteError }}
	})

	nodes := func() []corev1.Node {
		GinkgoHelper()
		list := &corev1.NodeList{}
		Expect(c.List(ctx, list)).To(Succeed())
		return list.Items
	}
	ready := func() corev1.NodeCondition {
		GinkgoHelper()
		Expect(nodes()).To(HaveLen(1))
		Expect(nodes()[0].Status.Conditions).To(HaveLen(1))
		return nodes()[0].Status.Conditions[0]
	}

	It("should register the node of an active server once", func() {
		Expect(c.Create(ctx, machine)).To(Succeed())
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(ready().Status).To(Equal(corev1.ConditionTrue))
		Expect(nodes()[0].Name).To(Equal("m"))
		Expect(nodes()[0].Spec.ProviderID).To(Equal("openstack:///id"))
		Expect(nodes()[0].Status.Addresses).To(ConsistOf(HaveField("Address", "10.0.0.7")))

		Expect(c.Delete(ctx, &nodes()[0])).To(Succeed())
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(nodes()).To(BeEmpty())
	})

	It("should name the node and give it the provider ID as its system was told", func() {
		servers["id"] = kubelets.Server{NodeName: "host-1", ProviderID: "metal3://hosts/host-1/id"}
		Expect(c.Create(ctx, machine)).To(Succeed())
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(ready().Status).To(Equal(corev1.ConditionTrue))
		Expect(nodes()[0].Name).To(Equal("host-1"))
		Expect(nodes()[0].Spec.ProviderID).To(Equal("metal3://hosts/host-1/id"))
	})

	DescribeTable("should not register a node",
		func(change func()) {
			change()
			Expect(c.Create(ctx, machine)).To(Succeed())
			Expect(k.Sync(ctx)).To(Succeed())
			Expect(nodes()).To(BeEmpty())
		},
		Entry("before the machine has a provider ID", func() { machine.Spec.ProviderID = "" }),
		Entry("before the server is active", func() { servers = nil }),
		Entry("of another namespace", func() { machine.Namespace = "other" }),
	)

	It("should not register the node of a machine that is being deleted", func() {
		Expect(c.Create(ctx, machine)).To(Succeed())
		Expect(c.Delete(ctx, machine)).To(Succeed())
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(nodes()).To(BeEmpty())
	})

	It("should make the node unknown while its server is not active", func() {
		Expect(c.Create(ctx, machine)).To(Succeed())
		Expect(k.Sync(ctx)).To(Succeed())
		active := servers
		servers = nil
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(ready().Status).To(Equal(corev1.ConditionUnknown))
		servers = active
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(ready().Status).To(Equal(corev1.ConditionTrue))
	})

	It("should keep the node ready while its site does not answer", func() {
		Expect(c.Create(ctx, machine)).To(Succeed())
		Expect(k.Sync(ctx)).To(Succeed())
		since := ready().LastTransitionTime
		servers, siteError = nil, errors.New("site is down")
		Expect(k.Sync(ctx)).To(MatchError("site is down"))
		Expect(ready().Status).To(Equal(corev1.ConditionTrue))
		Expect(ready().LastTransitionTime).To(Equal(since))
	})

	It("should report nothing while it is cut off, and all conditions anew when it is back", func() {
		cut := false
		k.Cut = func(string) bool { return cut }
		Expect(c.Create(ctx, machine)).To(Succeed())
		Expect(k.Sync(ctx)).To(Succeed())
		before := nodes()[0]
		cut = true
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(nodes()[0].ResourceVersion).To(Equal(before.ResourceVersion))

		before.Status.Conditions[0].Status = corev1.ConditionUnknown
		before.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Hour))
		Expect(c.Status().Update(ctx, &before)).To(Succeed())
		cut = false
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(nodes()[0].Status.Conditions).To(And(
			ContainElement(And(HaveField("Type", corev1.NodeReady), HaveField("Status", corev1.ConditionTrue),
				HaveField("LastTransitionTime.Time", BeTemporally("~", time.Now(), time.Minute)))),
			ContainElement(And(HaveField("Type", corev1.NodeDiskPressure), HaveField("Status", corev1.ConditionFalse)))))
	})

	It("should leave it to kube-controller-manager that a server is not active any more, if that runs", func() {
		k.Cut = func(string) bool { return false }
		Expect(c.Create(ctx, machine)).To(Succeed())
		Expect(k.Sync(ctx)).To(Succeed())
		before := nodes()[0].ResourceVersion
		servers = nil
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(nodes()[0].ResourceVersion).To(Equal(before))
	})
})
