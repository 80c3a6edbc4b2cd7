// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Nodes that somebody joined", func() {
	const shoot = "shoot--local--a"
	var (
		external = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}
		theirs   = corev1.Taint{Key: "theirs", Effect: corev1.TaintEffectNoSchedule}
	)
	newNode := func(name, providerID string, changes ...func(*corev1.Node)) *corev1.Node {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.NodeSpec{ProviderID: providerID, Taints: []corev1.Taint{theirs, external}},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}, {Type: corev1.NodeHostName, Address: name}}}}
		for _, change := range changes {
			change(node)
		}
		return node
	}
	onSite := func(node *corev1.Node) { node.Labels = map[string]string{v1alpha1.LabelSite: "own"} }
	withoutAddress := func(node *corev1.Node) { node.Status.Addresses = nil }

	It("are initialized, and others are left alone", func(ctx SpecContext) {
		client := fake.NewClientset(
			newNode("deckhouse", "static:///desk-1"), newNode("ours", "static://hosts/h/other"),
			newNode("machine", "static://hosts/h/shoot--local--a-pool-z1-abcde"), newNode("on-a-site", "static:///desk-2", onSite),
			newNode("other-scheme", "openstack:///1"), newNode("no-scheme", ""), newNode("unknown", "static:///desk-3", withoutAddress),
		)
		run, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			runJoined(run, client, shoot, 0)
		}()
		taints := func(name string) func(Gomega) []corev1.Taint {
			return func(g Gomega) []corev1.Taint {
				node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
				g.Expect(err).NotTo(HaveOccurred())
				return node.Spec.Taints
			}
		}
		for _, name := range []string{"deckhouse", "ours"} {
			Eventually(ctx, taints(name)).WithTimeout(5*time.Second).Should(ConsistOf(theirs), name)
			node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			Expect(node.Status.Addresses).To(ConsistOf(
				corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}, corev1.NodeAddress{Type: corev1.NodeHostName, Address: name}))
			Expect(node.Labels).To(BeEmpty())
		}
		Eventually(ctx, func(g Gomega) {
			events, err := client.CoreV1().Events("").List(ctx, metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(events.Items).To(ConsistOf(And(HaveField("InvolvedObject.Name", "unknown"),
				HaveField("Message", ContainSubstring("start the kubelet with --node-ip")))))
		}).WithTimeout(5 * time.Second).Should(Succeed())
		cancel()
		Eventually(ctx, done).WithTimeout(5 * time.Second).Should(BeClosed())
		for _, name := range []string{"machine", "on-a-site", "other-scheme", "no-scheme", "unknown"} {
			Expect(taints(name)(NewGomega(Fail))).To(ConsistOf(theirs, external), name)
		}
		for _, action := range client.Actions() {
			Expect(action.GetVerb()).NotTo(Equal("delete"))
		}
	})

	DescribeTable("which they are", func(providerID string, expected bool, changes ...func(*corev1.Node)) {
		Expect(isJoined(newNode("n", providerID, changes...), shoot)).To(Equal(expected))
	},
		Entry("a name", "static:///desk-1", true),
		Entry("a name like a site", "static://own/desk-1", true),
		Entry("a machine of another shoot", "static://hosts/h/shoot--local--b-pool-z1-abcde", true),
		Entry("a machine of the shoot", "static://hosts/h/shoot--local--a-pool-z1-abcde", false),
		Entry("a node of a site", "static:///desk-1", false, onSite),
		Entry("another scheme", "metal3://hosts/h/m", false),
		Entry("no scheme", "static:/desk-1", false),
		Entry("no provider ID", "", false),
	)
})
