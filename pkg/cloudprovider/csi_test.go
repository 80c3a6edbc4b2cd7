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
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	cloudproviderapi "k8s.io/cloud-provider/api"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// oneSite is a platform with the machines.
type oneSite struct{ machines *fakeMachines }

func (o *oneSite) Open(context.Context, platform.NodesRequest) (platform.NodeSite, error) {
	return platform.NodeSite{Machines: o.machines}, nil
}

func joining(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "1", Labels: map[string]string{v1alpha1.LabelSite: "a"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true",
			Effect: corev1.TaintEffectNoSchedule}}},
	}
}

func csiNode(name string, drivers ...string) *storagev1.CSINode {
	object := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name,
		OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: name, UID: "1"}}}}
	for _, driver := range drivers {
		object.Spec.Drivers = append(object.Spec.Drivers, storagev1.CSINodeDriver{Name: driver, NodeID: "x"})
	}
	return object
}

var _ = Describe("CSI drivers", func() {
	const first, second = "cinder.csi.openstack.org", "another"

	DescribeTable("are missing on nodes that are not initialized",
		func(wanted []string, csi *storagev1.CSINode, change func(*corev1.Node), missing ...string) {
			drivers := newCSIDrivers(fake.NewClientset(), &v1alpha1.CloudControllerSite{Name: "a", CSIDrivers: wanted})
			if csi != nil {
				Expect(drivers.csiNodes.Informer().GetStore().Add(csi)).To(Succeed())
			}
			node := joining("node")
			change(node)
			Expect(drivers.missingOn(node)).To(HaveExactElements(missing))

			machine := platform.NodeMachine{ProviderID: "toy://node", Zones: []string{"a-1"}}
			i := &instances{ctx: context.Background(), drivers: drivers, births: newBirths(nil),
				machines: &fakeMachines{machines: map[string]platform.NodeMachine{"toy://node": machine}},
				config:   &siteConfig{Shoot: "shoot--local--a", Region: "west", Site: &v1alpha1.CloudControllerSite{Name: "a"}}}
			metadata, err := i.InstanceMetadata(context.Background(), node)
			if len(missing) == 0 {
				Expect(err).NotTo(HaveOccurred())
				Expect(metadata).NotTo(BeNil())
				return
			}
			Expect(metadata).To(BeNil())
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			for _, name := range missing {
				Expect(err).To(MatchError(And(HavePrefix(`site "a": node "node"`), ContainSubstring(name))))
			}
		},
		Entry("none where the site has none", nil, nil, func(*corev1.Node) {}),
		Entry("all without a CSINode", []string{first, second}, nil, func(*corev1.Node) {}, first, second),
		Entry("all with that of another node", []string{first}, csiNode("other", first), func(*corev1.Node) {}, first),
		Entry("all with that of an earlier node of the name", []string{first}, csiNode("node", first),
			func(n *corev1.Node) { n.UID = "2" }, first),
		Entry("those that are not registered", []string{first, second}, csiNode("node", second, "x"), func(*corev1.Node) {}, first),
		Entry("none once they are registered", []string{first, second}, csiNode("node", second, first), func(*corev1.Node) {}),
		Entry("none on nodes that were initialized", []string{first}, csiNode("node"), func(n *corev1.Node) { n.Spec.Taints = nil }),
	)

	It("let a node be initialized as soon as the last one is registered", func(ctx SpecContext) {
		machines := &fakeMachines{machines: map[string]platform.NodeMachine{}}
		names := []string{"early", "late", "never"}
		for _, name := range names {
			machines.machines["toy://"+name] = platform.NodeMachine{ProviderID: "toy://" + name, Zones: []string{"a-1"},
				Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}}
		}
		client := fake.NewClientset(joining("early"), joining("late"), csiNode("early", first), csiNode("late"), csiNode("foreign", first))
		s := &set{
			siteConfig: &siteConfig{Shoot: "shoot--local--a", Region: "west",
				Site: &v1alpha1.CloudControllerSite{Name: "a", CSIDrivers: []string{first}}},
			options: &Options{
				Metrics:           controllersmetrics.NewControllerManagerMetrics("csi"),
				NodeMonitorPeriod: time.Second, NodeStatusUpdateFrequency: 100 * time.Millisecond, NodeSyncs: 1, NodeStatusUpdates: 1,
			},
			platform: &oneSite{machines}, client: client, rules: newRuleSource(),
		}
		running, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		DeferCleanup(func() {
			cancel()
			Eventually(done).WithTimeout(10 * time.Second).Should(BeClosed())
		})
		go func() {
			defer close(done)
			s.run(running)
		}()
		get := func(name string) func() *corev1.Node {
			return func() *corev1.Node {
				node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
				Expect(err).NotTo(HaveOccurred())
				return node
			}
		}
		beInitialized, beNew := HaveField("Spec.Taints", BeEmpty()), And(HaveField("Spec.Taints", HaveLen(1)), HaveField("Spec.ProviderID", ""))

		Eventually(get("early")).WithTimeout(5 * time.Second).Should(beInitialized)
		_, err := client.CoreV1().Nodes().Create(ctx, joining("never"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Consistently(get("late")).WithTimeout(500 * time.Millisecond).Should(beNew)
		Expect(get("never")()).To(beNew)

		_, err = client.StorageV1().CSINodes().Update(ctx, csiNode("late", "x"), metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Consistently(get("late")).WithTimeout(200 * time.Millisecond).Should(beNew)
		_, err = client.StorageV1().CSINodes().Update(ctx, csiNode("late", "x", first), metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(get("late")).WithTimeout(2 * time.Second).Should(beInitialized)
		Expect(get("never")()).To(beNew)

		By("unregistering the driver of an initialized node")
		Expect(client.StorageV1().CSINodes().Delete(ctx, "early", metav1.DeleteOptions{})).To(Succeed())
		Consistently(get("early")).WithTimeout(300 * time.Millisecond).Should(HaveField("Status.Addresses", Not(BeEmpty())))
	})

	It("keep nothing of a CSINode but the names", func() {
		object := csiNode("node", first)
		object.Annotations = map[string]string{"a": "b"}
		object.Spec.Drivers[0].Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(1))}
		stripped, err := stripCSINode(object)
		Expect(err).NotTo(HaveOccurred())
		expected := csiNode("node", first)
		expected.Spec.Drivers[0].NodeID = ""
		Expect(stripped).To(Equal(expected))
		Expect(stripCSINode("x")).To(Equal("x"))
	})
})
