// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scheduling_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Sites in one cluster", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		for site := range sites {
			Expect(c.Create(ctx, nodeService(site))).To(Succeed())
			Expect(c.Create(ctx, storageClass(site))).To(Succeed())
		}
	})

	It("should run the node service of a site on the nodes of that site alone", func(ctx SpecContext) {
		for _, site := range []string{"a", "b"} {
			for i := range 2 {
				label(ctx, join(ctx, fmt.Sprintf("%s-%d", site, i), site, nil), site)
			}
		}
		Expect(c.Create(ctx,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: corev1.NodeSpec{ProviderID: "static://by-hand"}})).To(Succeed())

		Eventually(func(g Gomega) {
			for site, driver := range sites {
				for i := range 2 {
					name := fmt.Sprintf("%s-%d", site, i)
					g.Expect(drivers(ctx, name)).To(ConsistOf(driver))
					g.Expect(taints(ctx, name)).To(BeEmpty())
				}
				set := nodeService(site)
				g.Expect(c.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
				g.Expect(set.Status.NumberReady).To(BeEquivalentTo(2))
			}
		}).Should(Succeed())

		pods := &corev1.PodList{}
		Expect(c.List(ctx, pods, client.InNamespace(metav1.NamespaceSystem))).To(Succeed())
		var places []string
		for _, pod := range pods.Items {
			places = append(places, pod.Labels["app"]+" on "+pod.Spec.NodeName)
		}
		Expect(places).To(ConsistOf("csi-a on a-0", "csi-a on a-1", "csi-b on b-0", "csi-b on b-1"))
	}, SpecTimeout(2*time.Minute))

	It("should keep pods from a node that joins with its site label until its CSI driver is registered", func(ctx SpecContext) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "plain", Namespace: "default"}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelHostname: "a-2"}, Containers: []corev1.Container{{Name: "main", Image: "main"}},
		}}
		Expect(c.Create(ctx, pod)).To(Succeed())
		join(ctx, "a-2", "a", map[string]string{siteKey: "a"})
		Eventually(func() error { return boundAfterRegistration(ctx, pod, "a") }).Should(Succeed())
		Expect(pod.Spec.NodeName).To(Equal("a-2"))
	}, SpecTimeout(2*time.Minute))

	It("should keep a pod with a volume from a node whose site label comes late until its CSI driver is registered", func(ctx SpecContext) {
		for i := range 3 {
			cordon(ctx, fmt.Sprintf("a-%d", i))
		}
		node := join(ctx, "a-late", "a", nil)
		By("no DaemonSet being for it, gardener-resource-manager removes the taint")
		Eventually(taints).WithArguments(ctx, node.Name).Should(BeEmpty())

		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(storageClass("a").Name),
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "with-volume", Namespace: "default"}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "main"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}}},
		}}
		Expect(c.Create(ctx, claim)).To(Succeed())
		Expect(c.Create(ctx, pod)).To(Succeed())
		Consistently(func(g Gomega) {
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			g.Expect(pod.Spec.NodeName).To(BeEmpty())
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Annotations).NotTo(HaveKey(selectedNode))
		}, "5s").Should(Succeed())

		Expect(c.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
		label(ctx, node, "a")
		Eventually(func() error { return boundAfterRegistration(ctx, pod, "a") }).Should(Succeed())
		Expect(pod.Spec.NodeName).To(Equal(node.Name))
		Eventually(func(g Gomega) {
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
		}).Should(Succeed())
		Expect(c.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		volume := &corev1.PersistentVolume{}
		Expect(c.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume)).To(Succeed())
		Expect(volume.Spec.NodeAffinity.Required.NodeSelectorTerms).To(ConsistOf(HaveField("MatchExpressions", ConsistOf(
			And(HaveField("Key", siteKey), HaveField("Values", ConsistOf("a"))), And(HaveField("Key", zoneKey),
				HaveField("Values", ConsistOf(zone)))))))
	}, SpecTimeout(4*time.Minute))

	It("should end what ran on a node that is gone", func(ctx SpecContext) {
		Expect(c.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b-1"}})).To(Succeed())
		Eventually(func(g Gomega) {
			pods := &corev1.PodList{}
			g.Expect(c.List(ctx, pods)).To(Succeed())
			g.Expect(pods.Items).NotTo(ContainElement(HaveField("Spec.NodeName", "b-1")))
			g.Expect(drivers(ctx, "b-1")).To(BeEmpty())
		}).Should(Succeed())
	}, SpecTimeout(2*time.Minute))
})

// nodeService is the DaemonSet of a site's CSI driver.
func nodeService(site string) *appsv1.DaemonSet {
	labels := map[string]string{"app": "csi-" + site, v1beta1constants.LabelNodeCriticalComponent: "true"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-" + site, Namespace: metav1.NamespaceSystem, Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels,
					Annotations: map[string]string{v1beta1constants.AnnotationPrefixWaitForCSINode + site: sites[site]}},
				Spec: corev1.PodSpec{
					NodeSelector:      map[string]string{siteKey: site},
					PriorityClassName: "system-node-critical",
					Tolerations:       []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{
						{Name: "driver", Image: "driver", Args: []string{"--additional-topology=" + siteKey + "=" + site},
							SecurityContext: &corev1.SecurityContext{Privileged: new(true)}},
						{Name: "registrar", Image: "registrar",
							Args: []string{"--kubelet-registration-path=/var/lib/kubelet/plugins/" + sites[site] + "/csi.sock"}},
					},
				},
			},
		},
	}
}

// storageClass is the class of a site's volumes.
func storageClass(site string) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "volumes-" +
			site}, Provisioner: sites[site], VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
		AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: siteKey, Values: []string{site}}, {Key: zoneKey, Values: []string{zone}},
		}}},
	}
}

// boundAfterRegistration returns an error as long as a pod is not bound. It stops the spec if it is bound to a node on which the
// driver of the site is not registered.
func boundAfterRegistration(ctx context.Context, pod *corev1.Pod, site string) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return err
	}
	if pod.Spec.NodeName == "" {
		return errors.New("the pod is not bound")
	}
	if names, err := drivers(ctx, pod.Spec.NodeName); err != nil || !slices.Contains(names, sites[site]) {
		return StopTrying(fmt.Sprintf("the pod is bound to %s with drivers %v", pod.Spec.NodeName, names)).Wrap(err)
	}
	return nil
}

// drivers are the CSI drivers that are registered on a node.
func drivers(ctx context.Context, node string) ([]string, error) {
	object := &storagev1.CSINode{}
	if err := c.Get(ctx, client.ObjectKey{Name: node}, object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	var names []string
	for _, driver := range object.Spec.Drivers {
		names = append(names, driver.Name)
	}
	return names, nil
}

func taints(ctx context.Context, node string) ([]corev1.Taint, error) {
	object := &corev1.Node{}
	err := c.Get(ctx, client.ObjectKey{Name: node}, object)
	return object.Spec.Taints, err
}

func cordon(ctx context.Context, name string) {
	GinkgoHelper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"unschedulable":true}}`))
	Expect(c.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch)).To(Succeed())
}
