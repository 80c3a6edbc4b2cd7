// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelets_test

import (
	"context"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("Pods", func() {
	const (
		driver  = "driver.example.org"
		zoneKey = "topology.example.org/zone"
		siteKey = "site"
	)
	var (
		ctx    context.Context
		c      client.Client
		k      *kubelets.Kubelets
		server kubelets.Server
		pod    *corev1.Pod
	)

	BeforeEach(func() {
		ctx = context.Background()
		machine := &machinev1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "shoot"}, Spec: machinev1alpha1.MachineSpec{ProviderID: "platform:///id"},
		}
		c = fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(machine).
			WithStatusSubresource(&corev1.Node{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &storagev1.VolumeAttachment{}).Build()
		server = kubelets.Server{SystemUUID: "uuid"}
		k = &kubelets.Kubelets{Seed: c, Shoot: c, Namespace: "shoot", Pods: true, Starting: time.Nanosecond,
			Servers: func(context.Context) (map[string]kubelets.Server, error) {
				return map[string]kubelets.Server{"id": server}, nil
			}}
		pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "default", UID: "pod"},
			Spec: corev1.PodSpec{NodeName: "m", Containers: []corev1.Container{{Name: "main"}}}}
	})

	sync := func() {
		GinkgoHelper()
		Expect(k.Sync(ctx)).To(Succeed())
		Expect(k.Sync(ctx)).To(Succeed())
	}
	create := func(objects ...client.Object) {
		GinkgoHelper()
		for _, object := range objects {
			Expect(c.Create(ctx, object)).To(Succeed())
		}
	}
	read := func(object client.Object) {
		GinkgoHelper()
		Expect(c.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	}
	haveCondition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) gomegatypes.GomegaMatcher {
		return HaveField("Status.Conditions", ContainElement(And(HaveField("Type", kind), HaveField("Status", status))))
	}
	node := func() *corev1.Node {
		GinkgoHelper()
		object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
		read(object)
		return object
	}
	csiNode := func() *storagev1.CSINode {
		GinkgoHelper()
		object := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
		read(object)
		return object
	}

	It("should let nodes join as with an external cloud provider", func() {
		server.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.7"}}
		server.Labels = map[string]string{siteKey: "a"}
		k.Cloud, k.Taints = true, []corev1.Taint{kubelets.CriticalComponentsTaint}
		sync()
		Expect(node().Spec.ProviderID).To(BeEmpty())
		Expect(node().Status.Addresses).To(BeEmpty())
		Expect(node().Labels).To(And(HaveKeyWithValue(siteKey, "a"), HaveKeyWithValue(corev1.LabelHostname, "m")))
		Expect(node().Status.NodeInfo.SystemUUID).To(Equal("uuid"))
		Expect(node().Spec.Taints).To(ConsistOf(
			HaveField("Key", "node.cloudprovider.kubernetes.io/uninitialized"),
			HaveField("Key", "node.gardener.cloud/critical-components-not-ready")))
		Expect(csiNode().OwnerReferences).To(ConsistOf(HaveField("Name", "m")))
	})

	It("should start the pods of its nodes and end them", func() {
		elsewhere := pod.DeepCopy()
		elsewhere.Name, elsewhere.UID, elsewhere.Spec.NodeName = "elsewhere", "elsewhere", "another"
		create(pod, elsewhere)
		sync()
		read(pod)
		Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
		Expect(pod).To(haveCondition(corev1.PodReady, corev1.ConditionTrue))
		read(elsewhere)
		Expect(elsewhere.Status.Phase).To(BeEmpty())

		pod.Finalizers = []string{"wait"}
		Expect(c.Update(ctx, pod)).To(Succeed())
		Expect(c.Delete(ctx, pod)).To(Succeed())
		sync()
		read(pod)
		pod.Finalizers = nil
		Expect(c.Update(ctx, pod)).To(Succeed())
		Expect(apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(pod), pod))).To(BeTrue())
	})

	It("should remove the pods of its nodes that are gone", func() {
		create(pod)
		sync()
		Expect(c.Delete(ctx, node())).To(Succeed())
		Expect(c.DeleteAllOf(ctx, &machinev1alpha1.Machine{}, client.InNamespace("shoot"))).To(Succeed())
		sync()
		Expect(apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(pod), pod))).To(BeTrue())
	})

	Describe("of CSI drivers", func() {
		BeforeEach(func() {
			pod.Spec.Containers = []corev1.Container{
				{Name: "driver", Args: []string{"--endpoint=unix:///csi/csi.sock", "--additional-topology=" + siteKey + "=a"}},
				{Name: "registrar", Args: []string{"--kubelet-registration-path=/var/lib/kubelet/plugins/" + driver + "/csi.sock"}},
			}
		})

		It("should register the driver with its topology, and no longer when they end", func() {
			server.Topology = map[string]map[string]string{driver: {zoneKey: "nova"}}
			sync()
			Expect(csiNode().Spec.Drivers).To(BeEmpty())
			create(pod)
			sync()
			Expect(node().Labels).To(And(HaveKeyWithValue(zoneKey, "nova"), HaveKeyWithValue(siteKey, "a")))
			Expect(node().Annotations).To(HaveKeyWithValue("csi.volume.kubernetes.io/nodeid", `{"driver.example.org":"id"}`))
			Expect(csiNode().Spec.Drivers).To(ConsistOf(storagev1.CSINodeDriver{Name: driver, NodeID: "id",
				TopologyKeys: []string{siteKey, zoneKey}}))
			read(pod)
			Expect(pod).To(haveCondition(corev1.PodReady, corev1.ConditionTrue))

			pod.Finalizers = []string{"wait"}
			Expect(c.Update(ctx, pod)).To(Succeed())
			Expect(c.Delete(ctx, pod)).To(Succeed())
			sync()
			Expect(csiNode().Spec.Drivers).To(BeEmpty())
		})

		It("should not register the driver on a server of another platform", func() {
			server.Topology = map[string]map[string]string{"another": nil}
			create(pod)
			sync()
			Expect(csiNode().Spec.Drivers).To(BeEmpty())
			read(pod)
			Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
			Expect(pod).To(haveCondition(corev1.PodReady, corev1.ConditionFalse))
			Expect(pod.Status.ContainerStatuses).To(ContainElement(And(HaveField("Name", "registrar"),
				HaveField("State.Waiting.Reason", "CrashLoopBackOff"))))
		})

		It("should not register a driver whose topology contradicts the node's labels", func() {
			sync()
			object := node()
			object.Labels[siteKey] = "b"
			Expect(c.Update(ctx, object)).To(Succeed())
			create(pod)
			sync()
			Expect(csiNode().Spec.Drivers).To(BeEmpty())
			Expect(node().Labels).To(HaveKeyWithValue(siteKey, "b"))
		})
	})

	It("should start a pod once its volume is attached by a registered driver", func() {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "default"},
			Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "volume"}}
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume"}, Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "v"}}}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "data",
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}}}
		waits := func(message string) {
			GinkgoHelper()
			sync()
			read(pod)
			Expect(pod.Status.Phase).To(Equal(corev1.PodPending))
			Expect(pod.Status.ContainerStatuses).To(ConsistOf(HaveField("State.Waiting.Message", ContainSubstring(message))))
		}

		create(pod, claim, volume)
		waits("not bound")
		claim.Status.Phase = corev1.ClaimBound
		Expect(c.Status().Update(ctx, claim)).To(Succeed())
		waits("not registered")
		object := csiNode()
		object.Spec.Drivers = []storagev1.CSINodeDriver{{Name: driver, NodeID: "id"}}
		Expect(c.Update(ctx, object)).To(Succeed())
		waits("not attached")
		attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "attachment"},
			Spec: storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: "m",
				Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("volume")}}}
		create(attachment)
		attachment.Status.Attached = true
		Expect(c.Status().Update(ctx, attachment)).To(Succeed())
		sync()
		read(pod)
		Expect(pod).To(haveCondition(corev1.PodReady, corev1.ConditionTrue))
	})
})
