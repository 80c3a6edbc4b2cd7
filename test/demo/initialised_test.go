// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("nodes", func() {
	node := func() *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{
				v1alpha1.LabelSite: cloud, v1alpha1.LabelInitializedBy: cloud, corev1.LabelTopologyZone: "cloud-a", corev1.LabelTopologyRegion: "local",
			}},
			Spec: corev1.NodeSpec{ProviderID: "openstack:///1"},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "n"},
				{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}},
		}
	}

	It("should be initialised if they have all that the cloud controllers of their site give them", func() {
		Expect(notInitialised(node())).To(BeEmpty())
		Expect(addresses(node())).To(Equal([]string{"10.0.0.1"}))
		Expect(taints(node())).To(Equal("none"))
	})

	DescribeTable("should not be initialised", func(change func(*corev1.Node), why string) {
		n := node()
		change(n)
		Expect(notInitialised(n)).To(ContainSubstring(why))
	},
		Entry("with a taint", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: uninitialized}} }, "taints "+uninitialized),
		Entry("by another site", func(n *corev1.Node) { n.Labels[v1alpha1.LabelInitializedBy] = vc }, `by site "vc"`),
		Entry("without a site", func(n *corev1.Node) { n.Labels = nil }, `site ""`),
		Entry("without a provider ID", func(n *corev1.Node) { n.Spec.ProviderID = "" }, "no provider ID"),
		Entry("without a zone", func(n *corev1.Node) { delete(n.Labels, corev1.LabelTopologyZone) }, "no zone"),
		Entry("without a region", func(n *corev1.Node) { delete(n.Labels, corev1.LabelTopologyRegion) }, "no region"),
		Entry("without an address", func(n *corev1.Node) { n.Status.Addresses = n.Status.Addresses[:1] }, "no address"),
	)

	It("should be seen joining", func() {
		j, n, start := &joins{nodes: map[string]join{}}, node(), time.Now()
		n.Spec.Taints = []corev1.Taint{{Key: uninitialized}}
		j.see(n, start)
		Expect(j.took("n")).To(BeZero())
		n.Spec.Taints = nil
		j.see(n, start.Add(time.Second))
		j.see(n, start.Add(time.Minute))
		Expect(j.took("n")).To(Equal(time.Second))
		j.forget("n")
		Expect(j.took("n")).To(BeZero())
		Expect(j.maximum()).To(Equal(1))
	})

	It("should have the pods of their site", func() {
		set := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "csi", Generation: 1}}
		Expect(podsMissing([]appsv1.DaemonSet{set})).To(ContainSubstring("csi"), "nobody has seen it")
		set.Status.ObservedGeneration, set.Status.DesiredNumberScheduled = 1, 2
		Expect(podsMissing([]appsv1.DaemonSet{set})).To(ContainSubstring("csi"))
		set.Status.NumberReady = 2
		Expect(podsMissing([]appsv1.DaemonSet{set})).To(BeEmpty())
	})
})
