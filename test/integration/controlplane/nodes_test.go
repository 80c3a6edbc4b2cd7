// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"maps"
	"slices"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodeOf waits for the node of a machine and returns its name.
func nodeOf(ctx context.Context, machine string) string {
	GinkgoHelper()
	var name string
	Eventually(func(g Gomega) {
		object := &machinev1alpha1.Machine{}
		g.Expect(c.Get(ctx, client.ObjectKey{Namespace: local.Name, Name: machine}, object)).To(Succeed())
		name = object.Labels[machinev1alpha1.NodeLabelKey]
		g.Expect(name).NotTo(BeEmpty())
	}).WithContext(ctx).Should(Succeed())
	return name
}

// expectNothingOn waits until no pod runs on nodes that are gone, and no driver is registered on them.
func expectNothingOn(ctx context.Context, names []string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(c.List(ctx, pods)).To(Succeed())
		g.Expect(pods.Items).NotTo(ContainElement(HaveField("Spec.NodeName", BeElementOf(names))))
		for _, name := range names {
			g.Expect(node(ctx, name)).To(BeNil())
			g.Expect(drivers(ctx, name)).To(BeEmpty())
		}
	}).WithContext(ctx).Should(Succeed())
}

// nodesIn are the names of the nodes of the pool in a zone.
func nodesIn(ctx context.Context, zone string) []string {
	GinkgoHelper()
	var names []string
	for machine := range identities(ctx, zone) {
		names = append(names, nodeOf(ctx, machine))
	}
	slices.Sort(names)
	return names
}

// identitiesBeside are the provider IDs of the pool's machines in all zones but one, by name.
func identitiesBeside(ctx context.Context, zone string) map[string]string {
	GinkgoHelper()
	all, beside := identities(ctx, ""), identities(ctx, zone)
	maps.DeleteFunc(all, func(name, _ string) bool { _, ok := beside[name]; return ok })
	return all
}

// joinByHand lets a node join that is of no site. Its kubelet reports until the end of the container.
func joinByHand(ctx context.Context) *corev1.Node {
	GinkgoHelper()
	const name = "by-hand"
	Expect(c.Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{ProviderID: "static://" + name},
	})).To(Succeed())
	report := func(ctx context.Context) error {
		n := &corev1.Node{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, n); err != nil {
			return err
		}
		before := n.DeepCopy()
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(),
			LastTransitionTime: n.CreationTimestamp}}
		n.Status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourcePods: resource.MustParse("110"),
		}
		n.Status.Allocatable = n.Status.Capacity
		return c.Status().Patch(ctx, n, client.MergeFrom(before))
	}
	Expect(report(ctx)).To(Succeed())
	reporting, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for reporting.Err() == nil {
			if err := report(reporting); err != nil && reporting.Err() == nil {
				GinkgoLogr.Error(err, "The node joined by hand does not report")
			}
			select {
			case <-reporting.Done():
			case <-time.After(5 * time.Second):
			}
		}
	}()
	DeferCleanup(func() { stop(); <-done })
	var joined *corev1.Node
	Eventually(func() []corev1.Taint { // kube-controller-manager takes it as ready
		joined = node(ctx, name)
		return joined.Spec.Taints
	}).WithContext(ctx).Should(BeEmpty())
	return joined
}
