// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

// mixed is the pool on all sites.
func mixed() shoot.Pool { return shoot.Pool{Shoot: local, Name: "mixed"} }

// scale adds machines to the pool in a zone, or removes them, and returns how many are wanted then.
func scale(ctx context.Context, zone string, by int32) int {
	GinkgoHelper()
	return specs.Scale(ctx, mixed(), zone, by)
}

// identities are the provider IDs of the pool's machines in a zone, or in all zones if that is empty, by name.
func identities(ctx context.Context, zone string) map[string]string {
	GinkgoHelper()
	return specs.Identities(ctx, mixed(), zone)
}

func node(ctx context.Context, name string) *corev1.Node {
	GinkgoHelper()
	object := &corev1.Node{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return object
}

// newNode waits for a node of the pool in a zone that none of the others is.
func newNode(ctx context.Context, zone string, others map[string]string) *corev1.Node {
	GinkgoHelper()
	var found *corev1.Node
	Eventually(func(g Gomega) {
		for name := range identities(ctx, zone) {
			if _, known := others[name]; !known {
				found = node(ctx, name)
			}
		}
		g.Expect(found).NotTo(BeNil())
	}).WithContext(ctx).Should(Succeed())
	return found
}

// initialized waits until a node is what a cloud controller of its site makes of it, and ready for pods.
func initialized(ctx context.Context, name string) *corev1.Node {
	GinkgoHelper()
	var found *corev1.Node
	Eventually(func(g Gomega) {
		found = node(ctx, name)
		g.Expect(found).NotTo(BeNil())
		g.Expect(found.Spec.Taints).To(BeEmpty(), name)
		g.Expect(found.Spec.ProviderID).NotTo(BeEmpty(), name)
	}).WithContext(ctx).Should(Succeed())
	return found
}

// uninitialized matches the taint that nodes join with until a cloud controller has initialised them.
func uninitialized() any {
	return HaveField("Key", cloudproviderapi.TaintExternalCloudProvider)
}

func drivers(ctx context.Context, name string) []string {
	GinkgoHelper()
	object := &storagev1.CSINode{}
	Expect(client.IgnoreNotFound(c.Get(ctx, client.ObjectKey{Name: name}, object))).To(Succeed())
	var names []string
	for _, driver := range object.Spec.Drivers {
		names = append(names, driver.Name)
	}
	return names
}

// applied waits until everything of the ManagedResources is applied and healthy, and returns their names.
func applied(ctx context.Context) []string {
	GinkgoHelper()
	var names []string
	Eventually(func(g Gomega) {
		list := &resourcesv1alpha1.ManagedResourceList{}
		g.Expect(c.List(ctx, list, client.InNamespace(local.Name))).To(Succeed())
		names = nil
		for _, resource := range list.Items {
			names = append(names, resource.Name)
			g.Expect(resource.Status.ObservedGeneration).To(Equal(resource.Generation), resource.Name)
			for _, kind := range []string{"ResourcesApplied", "ResourcesHealthy"} {
				g.Expect(resource.Status.Conditions).To(ContainElement(And(HaveField("Type", BeEquivalentTo(kind)),
					HaveField("Status", BeEquivalentTo("True")))), resource.Name)
			}
		}
	}).WithContext(ctx).Should(Succeed())
	return names
}

// places are the DaemonSets of sites and the nodes that their pods are on.
func places(ctx context.Context) map[string][]string {
	GinkgoHelper()
	sets, pods := &appsv1.DaemonSetList{}, &corev1.PodList{}
	Expect(c.List(ctx, sets)).To(Succeed())
	Expect(c.List(ctx, pods)).To(Succeed())
	result := map[string][]string{}
	for _, set := range sets.Items {
		on := []string{}
		for _, pod := range pods.Items {
			if metav1.IsControlledBy(&pod, &set) {
				on = append(on, pod.Spec.NodeName)
			}
		}
		slices.Sort(on)
		result[set.Namespace+"/"+set.Name] = on
	}
	return result
}

// daemonSets are the names of the DaemonSets of sites.
func daemonSets(ctx context.Context) []string {
	GinkgoHelper()
	var names []string
	for name := range places(ctx) {
		names = append(names, name)
	}
	return names
}

// defaultClasses are the storage classes that are the default.
func defaultClasses(ctx context.Context) []string {
	GinkgoHelper()
	list := &storagev1.StorageClassList{}
	Expect(c.List(ctx, list)).To(Succeed())
	var names []string
	for _, class := range list.Items {
		if class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
			names = append(names, class.Name)
		}
	}
	return names
}

// controllers is the configuration of the cloud-controller-manager.
func controllers(ctx context.Context) *v1alpha1.CloudControllerManagerConfiguration {
	GinkgoHelper()
	deployment, object := &appsv1.Deployment{}, &corev1.ConfigMap{}
	Expect(c.Get(ctx, client.ObjectKey{Namespace: local.Name, Name: manager}, deployment)).To(Succeed())
	for _, volume := range deployment.Spec.Template.Spec.Volumes {
		if volume.Name == "config" {
			Expect(c.Get(ctx, client.ObjectKey{Namespace: local.Name, Name: volume.ConfigMap.Name}, object)).To(Succeed())
		}
	}
	config, err := codec.DecodeBytes[v1alpha1.CloudControllerManagerConfiguration]([]byte(object.Data["config.yaml"]))
	Expect(err).NotTo(HaveOccurred())
	return config
}

// configuredSites are the sites of the cloud-controller-manager.
func configuredSites(ctx context.Context) []string {
	GinkgoHelper()
	var names []string
	for _, site := range controllers(ctx).Sites {
		names = append(names, site.Name)
	}
	return names
}

// process waits for the process of a container.
func process(ctx context.Context, deployment, container string) *landscape.Process {
	GinkgoHelper()
	var found *landscape.Process
	Eventually(func() bool {
		found = local.ControlPlane.Process(deployment, container)
		return found != nil && found.Running()
	}).WithContext(ctx).Should(BeTrue(), deployment)
	return found
}

// running are the process IDs of all containers that run.
func running(ctx context.Context) map[string]int {
	GinkgoHelper()
	result := map[string]int{}
	for _, p := range programs("") {
		result[p.Deployment+"/"+p.Container] = process(ctx, p.Deployment, p.Container).PID()
	}
	return result
}

// seedDeployments are the Deployments of the ControlPlane with their replicas.
func seedDeployments(ctx context.Context) map[string]int32 {
	GinkgoHelper()
	list := &appsv1.DeploymentList{}
	Expect(c.List(ctx, list, client.InNamespace(local.Name),
		client.MatchingLabels{v1beta1constants.GardenRole: v1beta1constants.GardenRoleControlPlane})).To(Succeed())
	result := map[string]int32{}
	for _, d := range list.Items {
		result[d.Name] = *d.Spec.Replicas
	}
	return result
}

// podOn is a pod for one node, or for any if that is empty, with a volume of a class unless that is empty.
func podOn(ctx context.Context, name, nodeName, class string) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "main"}},
	}}
	if nodeName != "" {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: nodeName}
	}
	if class != "" {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: pod.ObjectMeta, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
		Expect(c.Create(ctx, claim)).To(Succeed())
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	}
	Expect(c.Create(ctx, pod)).To(Succeed())
	return pod
}

// removePod deletes a pod and its volume, and waits until they are gone.
func removePod(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Expect(c.Delete(ctx, pod)).To(Succeed())
	Eventually(func(g Gomega) { // a volume that is still attached is tried again only after a while
		attachments := &storagev1.VolumeAttachmentList{}
		g.Expect(c.List(ctx, attachments)).To(Succeed())
		g.Expect(attachments.Items).To(BeEmpty())
	}).WithContext(ctx).Should(Succeed())
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}
	Expect(client.IgnoreNotFound(c.Delete(ctx, claim))).To(Succeed())
	Eventually(func(g Gomega) {
		volumes := &corev1.PersistentVolumeList{}
		g.Expect(c.List(ctx, volumes)).To(Succeed())
		for _, volume := range volumes.Items {
			g.Expect(volume.Spec.ClaimRef).NotTo(HaveField("Name", pod.Name), volume.Status.Message)
		}
	}).WithContext(ctx).Should(Succeed())
}

// expectBound waits until the pod is bound, and stops if a driver is not registered on its node then.
func expectBound(ctx context.Context, pod *corev1.Pod, driver string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		g.Expect(pod.Spec.NodeName).NotTo(BeEmpty())
		if on := drivers(ctx, pod.Spec.NodeName); driver != "" && !slices.Contains(on, driver) {
			StopTrying(fmt.Sprintf("the pod is bound to %s with drivers %v", pod.Spec.NodeName, on)).Now()
		}
	}).WithContext(ctx).WithPolling(50 * time.Millisecond).Should(Succeed())
}

// expectRunning waits until the pod runs.
func expectRunning(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning), "%v", pod.Status.ContainerStatuses)
	}).WithContext(ctx).Should(Succeed())
}
