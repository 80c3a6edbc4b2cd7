// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vspherecsi_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/controlplane"
)

const (
	zoneKey   = "topology.csi.vmware.com/k8s-zone"
	regionKey = "topology.csi.vmware.com/k8s-region"
)

var topologyKind = schema.GroupVersionKind{Group: "cns.vmware.com", Version: "v1alpha1", Kind: "CSINodeTopology"}

// ask asks for the topology of a node, as its node service does.
func ask(ctx context.Context, node, machine string) {
	GinkgoHelper()
	Expect(shoot.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})).To(Succeed())
	topology := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"nodeID": node, "nodeuuid": machine}}}
	topology.SetGroupVersionKind(topologyKind)
	topology.SetName(node)
	Expect(shoot.Create(ctx, topology)).To(Succeed())
}

// topologyOf returns what the syncer answered, nothing unless it succeeded.
func topologyOf(ctx context.Context, node string) map[string]string {
	topology := &unstructured.Unstructured{}
	topology.SetGroupVersionKind(topologyKind)
	if err := shoot.Get(ctx, client.ObjectKey{Name: node}, topology); err != nil {
		return nil
	}
	if status, _, _ := unstructured.NestedString(topology.Object, "status", "status"); status != "Success" {
		return nil
	}
	labels := map[string]string{}
	list, _, _ := unstructured.NestedSlice(topology.Object, "status", "topologyLabels")
	for _, item := range list {
		label := item.(map[string]any)
		labels[label["key"].(string)] = label["value"].(string)
	}
	return labels
}

// register does what the kubelet does with the answer of the node service.
func register(ctx context.Context, name, machine string, labels map[string]string) {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(shoot.Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	node.Labels = labels
	Expect(shoot.Update(ctx, node)).To(Succeed())
	Expect(shoot.Create(ctx, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: controlplane.Driver, NodeID: machine,
			TopologyKeys: []string{regionKey, zoneKey}}}},
	})).To(Succeed())
}

// claim makes a claim for which the scheduler chose the node.
func claim(ctx context.Context, name, class, node string) {
	GinkgoHelper()
	Expect(shoot.Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Annotations: map[string]string{
			"volume.kubernetes.io/selected-node":       node,
			"volume.kubernetes.io/storage-provisioner": controlplane.Driver,
		}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	})).To(Succeed())
}

// volumeOf returns the volume of the claim, nil if there is none.
func volumeOf(ctx context.Context, claim string) *corev1.PersistentVolume {
	volumes := &corev1.PersistentVolumeList{}
	if err := shoot.List(ctx, volumes); err != nil {
		return nil
	}
	for i := range volumes.Items {
		if volumes.Items[i].Spec.ClaimRef.Name == claim {
			return &volumes.Items[i]
		}
	}
	return nil
}

// messagesOf returns what the events of the claim say.
func messagesOf(ctx context.Context, claim string) []string {
	events := &corev1.EventList{}
	if err := shoot.List(ctx, events, client.InNamespace("default")); err != nil {
		return nil
	}
	var messages []string
	for _, event := range events.Items {
		if event.InvolvedObject.Name == claim {
			messages = append(messages, event.Message)
		}
	}
	return messages
}

var _ = Describe("driver with two vCenters", Ordered, func() {
	It("should tell nodes where they are by the tags of their vCenter", func(ctx SpecContext) {
		for _, v := range []*vCenter{east, west} {
			machine := v.machine(ctx, "DC0_C0")
			ask(ctx, v.site, machine)
			labels := map[string]string{regionKey: "europe", zoneKey: v.site + "-1"}
			Eventually(ctx, topologyOf).WithArguments(v.site).WithTimeout(soon).Should(Equal(labels))
			register(ctx, v.site, machine, labels)
		}
	})

	It("should make volumes at the vCenter of the node, with the node's topology", func(ctx SpecContext) {
		for _, v := range []*vCenter{east, west} {
			claim(ctx, v.site, v.site, v.site)
			Eventually(ctx, volumeOf).WithArguments(v.site).WithTimeout(soon).ShouldNot(BeNil(), "%v", messagesOf(ctx, v.site))
			Expect(volumeOf(ctx, v.site).Spec.NodeAffinity.Required.NodeSelectorTerms).To(ConsistOf(HaveField("MatchExpressions", ConsistOf(
				corev1.NodeSelectorRequirement{Key: regionKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"europe"}},
				corev1.NodeSelectorRequirement{Key: zoneKey, Operator: corev1.NodeSelectorOpIn, Values: []string{v.site + "-1"}},
			))))
		}
	})

	It("should attach volumes", func(ctx SpecContext) {
		for _, v := range []*vCenter{east, west} {
			attachment := &storagev1.VolumeAttachment{
				ObjectMeta: metav1.ObjectMeta{Name: v.site},
				Spec: storagev1.VolumeAttachmentSpec{Attacher: controlplane.Driver, NodeName: v.site,
					Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volumeOf(ctx, v.site).Name}},
			}
			Expect(shoot.Create(ctx, attachment)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(shoot.Get(ctx, client.ObjectKeyFromObject(attachment), attachment)).To(Succeed())
				g.Expect(attachment.Status.Attached).To(BeTrue(), "%v", attachment.Status.AttachError)
			}).WithTimeout(soon).Should(Succeed())
		}
	})

	It("should make no volume of a site for a node of another", func(ctx SpecContext) {
		claim(ctx, "foreign", east.site, west.site)
		Eventually(ctx,
			messagesOf).WithArguments("foreign").WithTimeout(soon).Should(ContainElement(ContainSubstring("is not in allowed topologies")))
	})

	It("should make no volume of a class that names the site by its label, which the driver does not report", func(ctx SpecContext) {
		class := storage.Classes[0]
		class.Name = "labelled"
		class.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: append([]corev1.TopologySelectorLabelRequirement{
			{Key: v1alpha1.LabelSite, Values: []string{east.site}},
		}, class.AllowedTopologies[0].MatchLabelExpressions...)}}
		createClass(ctx, class)
		claim(ctx, class.Name, class.Name, east.site)
		Eventually(ctx,
			messagesOf).WithArguments(class.Name).WithTimeout(soon).Should(ContainElement(ContainSubstring("is not in allowed topologies")))
	})

	It("should have all permissions that it needs, in all of this", func() {
		for _, process := range processes {
			Expect(process.Check()).To(Succeed(), process.Name)
			Expect(logs(process)).NotTo(ContainSubstring("forbidden"), process.Name)
		}
	})

	Context("one of which is down", func() {
		BeforeAll(func() { west.stop() })

		It("should go on at the other", func(ctx SpecContext) {
			claim(ctx, "alone", east.site, east.site)
			Eventually(ctx, volumeOf).WithArguments("alone").WithTimeout(soon).ShouldNot(BeNil(), "%v", messagesOf(ctx, "alone"))
		})

		It("should tell no new node where it is, which is a limit of the driver", func(ctx SpecContext) {
			ask(ctx, "joining", east.machine(ctx, "DC0_C1"))
			Consistently(ctx, topologyOf).WithArguments("joining").WithTimeout(10 * time.Second).Should(BeEmpty())
		})

		It("should end when it starts anew, which is a limit of the driver", func(ctx SpecContext) {
			driver.Stop(ctx)
			Expect(driver.Start()).To(Succeed())
			Eventually(ctx, driver.Running).WithTimeout(soon).Should(BeFalse())
			Expect(logs(driver)).To(ContainSubstring("failed to run the driver"))
		})
	})
})
