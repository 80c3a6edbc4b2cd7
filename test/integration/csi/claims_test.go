// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// within is how long a healthy site takes for anything at the most. The machine is busy with other tests, too.
	within = time.Minute
	// quickly is the time between two looks.
	quickly = 200 * time.Millisecond
)

// claim is a PersistentVolumeClaim of a site's class and the pod that uses it.
type claim struct {
	cloud *cloud
	pvc   *corev1.PersistentVolumeClaim
	pod   *corev1.Pod
}

// claim creates a claim and a pod. Both go in the end.
func (c *cloud) claim(ctx context.Context, change ...func(*corev1.PersistentVolumeClaim)) *claim {
	GinkgoHelper()
	name := c.name + "-" + rand.String(5)
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: namespaced(name), Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: new(c.name),
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	for _, f := range change {
		f(pvc)
	}
	Expect(shoot.Create(ctx, pvc)).To(Succeed())
	found := &claim{cloud: c, pvc: pvc, pod: &corev1.Pod{ObjectMeta: namespaced(name), Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}},
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}}},
	}}}
	Expect(shoot.Create(ctx, found.pod)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { found.delete(ctx) }, NodeTimeout(6*time.Minute))
	return found
}

// phase is the phase of the claim.
func (c *claim) phase(ctx context.Context) corev1.PersistentVolumeClaimPhase {
	GinkgoHelper()
	Expect(shoot.Get(ctx, client.ObjectKeyFromObject(c.pvc), c.pvc)).To(Succeed())
	return c.pvc.Status.Phase
}

// bound waits until the claim is bound and returns its volume.
func (c *claim) bound(ctx context.Context, limit time.Duration) *corev1.PersistentVolume {
	GinkgoHelper()
	Eventually(c.phase).WithContext(ctx).WithArguments(ctx).Within(limit).ProbeEvery(quickly).Should(Equal(corev1.ClaimBound), c.pvc.Name)
	return c.volume(ctx)
}

func (c *claim) volume(ctx context.Context) *corev1.PersistentVolume {
	GinkgoHelper()
	pv := &corev1.PersistentVolume{}
	Expect(shoot.Get(ctx, client.ObjectKey{Name: c.pvc.Spec.VolumeName}, pv)).To(Succeed())
	return pv
}

// attached are the nodes that the volume is attached to.
func (c *claim) attached(ctx context.Context) []string {
	GinkgoHelper()
	var nodes []string
	for _, a := range c.attachments(ctx) {
		if a.Status.Attached {
			nodes = append(nodes, a.Spec.NodeName)
		}
	}
	return nodes
}

// attachments are those of the volume to nodes, also those that are not made yet or not undone.
func (c *claim) attachments(ctx context.Context) []storagev1.VolumeAttachment {
	GinkgoHelper()
	list := &storagev1.VolumeAttachmentList{}
	Expect(shoot.List(ctx, list)).To(Succeed())
	return slices.DeleteFunc(list.Items, func(a storagev1.VolumeAttachment) bool {
		name := a.Spec.Source.PersistentVolumeName
		return name == nil || *name != c.pvc.Spec.VolumeName
	})
}

// deletePod deletes the pod as a kubelet does when its containers have ended.
func (c *claim) deletePod(ctx context.Context) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(shoot.Delete(ctx, c.pod, client.GracePeriodSeconds(0)))).To(Succeed())
}

// delete deletes the pod and the claim, and waits until there is no volume any more.
func (c *claim) delete(ctx context.Context) {
	GinkgoHelper()
	c.deletePod(ctx)
	// A volume that is still attached is tried again later and later.
	Eventually(c.attachments).WithContext(ctx).WithArguments(ctx).Within(2*time.Minute).ProbeEvery(quickly).Should(BeEmpty(), c.pvc.Name)
	Expect(client.IgnoreNotFound(shoot.Delete(ctx, c.pvc))).To(Succeed())
	Eventually(func(g Gomega) {
		list := &corev1.PersistentVolumeList{}
		g.Expect(shoot.List(ctx, list)).To(Succeed())
		for _, pv := range list.Items {
			g.Expect(pv.Spec.ClaimRef).NotTo(HaveField("Name", c.pvc.Name))
		}
		g.Expect(c.cloud.ours(ctx)).NotTo(ContainElement(HaveField("Metadata", HaveKeyWithValue("csi.storage.k8s.io/pvc/name", c.pvc.Name))))
	}).WithContext(ctx).Within(2*time.Minute).ProbeEvery(quickly).Should(Succeed(), c.pvc.Name)
}

// warnings are the messages of the events that say why there is no volume.
func (c *claim) warnings(ctx context.Context) []string {
	GinkgoHelper()
	list := &corev1.EventList{}
	Expect(shoot.List(ctx, list, client.InNamespace(c.pvc.Namespace))).To(Succeed())
	var messages []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name == c.pvc.Name && e.Reason == "ProvisioningFailed" {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

// snapshot takes a snapshot of the volume. It goes in the end.
func (c *claim) snapshot(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	s := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"volumeSnapshotClassName": c.cloud.name,
		"source":                  map[string]any{"persistentVolumeClaimName": c.pvc.Name},
	}}}
	s.SetAPIVersion("snapshot.storage.k8s.io/v1")
	s.SetKind("VolumeSnapshot")
	s.SetNamespace(c.pvc.Namespace)
	s.SetName(c.pvc.Name)
	Expect(shoot.Create(ctx, s)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(shoot.Delete(ctx, s))).To(Succeed())
		Eventually(func() error { return shoot.Get(ctx, client.ObjectKeyFromObject(s), s) }).WithContext(ctx).Within(within).ShouldNot(Succeed())
	}, NodeTimeout(4*time.Minute))
	Eventually(func() bool {
		Expect(shoot.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
		ready, _, err := unstructured.NestedBool(s.Object, "status", "readyToUse")
		Expect(err).NotTo(HaveOccurred())
		return ready
	}).WithContext(ctx).Within(within).ProbeEvery(quickly).Should(BeTrue())
	return s
}
