// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"context"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/test/gardenlet"
)

const driver = "machine-controller-manager-provider-hybrid"

var _ = Describe("controlplane", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		Expect(writer.PrepareNamespace(ctx, namespace)).To(Succeed())
	})

	version := func(ctx context.Context, object client.Object) string {
		GinkgoHelper()
		Expect(writer.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		return object.GetResourceVersion()
	}

	It("should give machine-controller-manager the driver, and change nothing when gardenlet deploys it again", func(ctx SpecContext) {
		component := writer.MachineControllerManager(namespace)
		Expect(component.Deploy(ctx)).To(Succeed())

		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.MachineControllerManager, Namespace: namespace}}
		vpa := &vpaautoscalingv1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.MachineControllerManager + "-vpa",
			Namespace: namespace}}
		first, firstVPA := version(ctx, deployment), version(ctx, vpa)

		image, err := imagevector.ImageVector().FindImage(imagevector.ImageNameMachineControllerManagerDriver)
		Expect(err).NotTo(HaveOccurred())
		Expect(deployment.Spec.Template.Spec.Containers).To(HaveExactElements(
			HaveField("Name", "machine-controller-manager"),
			And(
				HaveField("Name", driver),
				HaveField("Image", image.String()),
				HaveField("Args", ContainElements("--namespace="+namespace, "--port=10259")),
				HaveField("Ports", ConsistOf(HaveField("Name", "providermetrics"))),
				HaveField("VolumeMounts", ContainElement(HaveField("Name", "kubeconfig"))),
				HaveField("Resources.Requests", HaveKeyWithValue(corev1.ResourceMemory, resource.MustParse("64Mi"))),
			),
		))
		Expect(vpa.Spec.ResourcePolicy.ContainerPolicies).To(ContainElement(And(
			HaveField("ContainerName", driver),
			HaveField("Mode", BeNil()),
			HaveField("ControlledValues", HaveValue(Equal(vpaautoscalingv1.ContainerControlledValuesRequestsOnly))),
		)))

		Expect(component.Deploy(ctx)).To(Succeed())
		Expect(version(ctx, deployment)).To(Equal(first))
		Expect(version(ctx, vpa)).To(Equal(firstVPA))
	})

	It("should tell kube-controller-manager that the cloud controllers are elsewhere, once", func(ctx SpecContext) {
		component := writer.KubeControllerManager(namespace)
		Expect(component.Deploy(ctx)).To(Succeed())

		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.KubeControllerManager, Namespace: namespace}}
		first := version(ctx, deployment)
		Expect(deployment.Spec.Template.Spec.Containers[0].Command).To(ContainElement("--cloud-provider=external"))

		Expect(component.Deploy(ctx)).To(Succeed())
		Expect(version(ctx, deployment)).To(Equal(first))
	})

	It("should lift the cluster-autoscaler's limit of unready nodes only while the pools are on several sites", func(ctx SpecContext) {
		const flag = "--max-total-unready-percentage=100"
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.ClusterAutoscaler, Namespace: namespace}}
		command := func() []string {
			GinkgoHelper()
			version(ctx, deployment)
			return deployment.Spec.Template.Spec.Containers[0].Command
		}
		component := writer.ClusterAutoscaler(namespace)
		Expect(component.Deploy(ctx)).To(Succeed())
		Expect(command()).To(ContainElements(flag, "--cloud-provider=mcm"))
		first := version(ctx, deployment)
		Expect(component.Deploy(ctx)).To(Succeed())
		Expect(version(ctx, deployment)).To(Equal(first))

		preserving := gardencorev1beta1.Worker{MachineControllerManagerSettings: &gardencorev1beta1.MachineControllerManagerSettings{
			AutoPreserveFailedMachineMax: new(int32(1))}}
		Expect(writer.ClusterAutoscaler(namespace, preserving).Deploy(ctx)).To(Succeed())
		Expect(version(ctx, deployment)).To(Equal(first), "gardenlet sets the same flag")

		movePools(ctx, namespace, "cloud-a")
		Eventually(func(g Gomega) {
			g.Expect(component.Deploy(ctx)).To(Succeed())
			g.Expect(command()).NotTo(ContainElement(HavePrefix("--max-total-unready-percentage")))
		}).WithTimeout(10 * time.Second).WithPolling(200 * time.Millisecond).Should(Succeed())
	})

	It("should let kubelets wait for the cloud-controller-manager, and add nothing that differs by platform", func(ctx SpecContext) {
		Expect(writer.DeployOperatingSystemConfig(ctx, namespace)).To(Succeed())
		osc := &extensionsv1alpha1.OperatingSystemConfig{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.Pool, Namespace: namespace}}
		first := version(ctx, osc)
		Expect(osc.Spec.Units).To(HaveLen(1))
		Expect(osc.Spec.Units[0].Content).To(HaveValue(
			MatchRegexp(`(?s)ExecStart=\S+/kubelet --\S+ \\\n.* \\\n    --cloud-provider=external\n?$`)))
		Expect(osc.Spec.Files).To(ConsistOf(
			HaveField("Path", "/var/lib/kubelet/ca.crt"), HaveField("Path", "/var/lib/kubelet/config/kubelet"),
			HaveField("Path", "/opt/bin/kubelet")))

		Expect(writer.DeployOperatingSystemConfig(ctx, namespace)).To(Succeed())
		Expect(version(ctx, osc)).To(Equal(first))
	})

	It("should leave shoots of other types alone", func(ctx SpecContext) {
		const other = "shoot--local--other"
		Expect(writer.Client.Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other,
				Labels: map[string]string{v1beta1constants.LabelShootProvider: "openstack"}}})).To(Succeed())
		Expect(writer.PrepareNamespace(ctx, other)).To(Succeed())
		component := writer.MachineControllerManager(other)
		Expect(component.Deploy(ctx)).To(Succeed())
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.MachineControllerManager, Namespace: other}}
		version(ctx, deployment)
		Expect(deployment.Spec.Template.Spec.Containers).To(HaveLen(1))
	})
})
