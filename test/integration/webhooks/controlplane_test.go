// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"context"
	"net"

	"github.com/Masterminds/semver/v3"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	fakekubernetes "github.com/gardener/gardener/pkg/client/kubernetes/fake"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/original/components"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/original/components/kubelet"
	"github.com/gardener/gardener/pkg/component/kubernetes/controllermanager"
	"github.com/gardener/gardener/pkg/component/nodemanagement/machinecontrollermanager"
	"github.com/gardener/gardener/pkg/controllerutils"
	gardenerimagevector "github.com/gardener/gardener/pkg/utils/imagevector"
	fakesecretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager/fake"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
)

const driver = "machine-controller-manager-provider-hybrid"

var _ = Describe("controlplane", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		for _, name := range []string{"ca", "ca-client-current", "ca-kubelet-current", "generic-token-kubeconfig", "service-account-key-current"} {
			Expect(gardenlet.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}})).To(Succeed())
		}
	})

	version := func(ctx context.Context, object client.Object) string {
		GinkgoHelper()
		Expect(gardenlet.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		return object.GetResourceVersion()
	}

	It("should give machine-controller-manager the driver, and change nothing when gardenlet deploys it again", func(ctx SpecContext) {
		component := machinecontrollermanager.New(gardenlet, namespace, fakesecretsmanager.New(gardenlet, namespace), machinecontrollermanager.Values{Image: "mcm:v1", Replicas: 1})
		Expect(component.Deploy(ctx)).To(Succeed())

		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "machine-controller-manager", Namespace: namespace}}
		vpa := &vpaautoscalingv1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "machine-controller-manager-vpa", Namespace: namespace}}
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
		_, pods, err := net.ParseCIDR("100.96.0.0/11")
		Expect(err).NotTo(HaveOccurred())
		component := controllermanager.New(logr.Discard(), fakekubernetes.NewClientSetBuilder().WithClient(gardenlet).Build(), namespace, fakesecretsmanager.New(gardenlet, namespace), controllermanager.Values{
			RuntimeVersion: semver.MustParse("1.36.3"), TargetVersion: semver.MustParse("1.36.3"), Image: "kcm:v1", Replicas: 1, PodNetworks: []net.IPNet{*pods}, ServiceNetworks: []net.IPNet{*pods},
			Config: &gardencorev1beta1.KubeControllerManagerConfig{NodeCIDRMaskSize: new(int32(24))},
		})
		Expect(component.Deploy(ctx)).To(Succeed())

		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "kube-controller-manager", Namespace: namespace}}
		first := version(ctx, deployment)
		Expect(deployment.Spec.Template.Spec.Containers[0].Command).To(ContainElement("--cloud-provider=external"))

		Expect(component.Deploy(ctx)).To(Succeed())
		Expect(version(ctx, deployment)).To(Equal(first))
	})

	It("should let kubelets wait for the cloud-controller-manager, and add nothing that differs by platform", func(ctx SpecContext) {
		units, files, err := kubelet.New().Config(components.Context{
			KubernetesVersion: semver.MustParse("1.36.3"), CRIName: extensionsv1alpha1.CRINameContainerD, ClusterDomain: "cluster.local",
			Images: map[string]*gardenerimagevector.Image{"hyperkube": {}}, NodeLabels: map[string]string{"worker.gardener.cloud/pool": "mixed"},
		})
		Expect(err).NotTo(HaveOccurred())
		osc := &extensionsv1alpha1.OperatingSystemConfig{ObjectMeta: metav1.ObjectMeta{Name: "mixed", Namespace: namespace}}
		deploy := func() {
			_, err := controllerutils.GetAndCreateOrMergePatch(ctx, gardenlet, osc, func() error {
				metav1.SetMetaDataLabel(&osc.ObjectMeta, v1beta1constants.LabelExtensionProviderMutatedByControlplaneWebhook, "true")
				metav1.SetMetaDataLabel(&osc.ObjectMeta, v1beta1constants.LabelWorkerPool, "mixed")
				osc.Spec.Type, osc.Spec.Purpose = "gardenlinux", extensionsv1alpha1.OperatingSystemConfigPurposeReconcile
				osc.Spec.Units, osc.Spec.Files = nil, nil
				for _, unit := range units {
					osc.Spec.Units = append(osc.Spec.Units, *unit.DeepCopy())
				}
				for _, file := range files {
					osc.Spec.Files = append(osc.Spec.Files, *file.DeepCopy())
				}
				return nil
			})
			Expect(err).NotTo(HaveOccurred())
		}
		deploy()
		first := version(ctx, osc)
		Expect(osc.Spec.Units).To(HaveLen(len(units)))
		Expect(osc.Spec.Units[0].Content).To(HaveValue(MatchRegexp(`(?s)ExecStart=\S+/kubelet --\S+ \\\n.* \\\n    --cloud-provider=external\n?$`)))
		Expect(osc.Spec.Files).To(HaveLen(len(files)))

		deploy()
		Expect(version(ctx, osc)).To(Equal(first))
	})

	It("should leave shoots of other types alone", func(ctx SpecContext) {
		const other = "shoot--local--other"
		Expect(gardenlet.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other, Labels: map[string]string{v1beta1constants.LabelShootProvider: "openstack"}}})).To(Succeed())
		Expect(gardenlet.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "generic-token-kubeconfig", Namespace: other}})).To(Succeed())
		component := machinecontrollermanager.New(gardenlet, other, fakesecretsmanager.New(gardenlet, other), machinecontrollermanager.Values{Image: "mcm:v1", Replicas: 1})
		Expect(component.Deploy(ctx)).To(Succeed())
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "machine-controller-manager", Namespace: other}}
		version(ctx, deployment)
		Expect(deployment.Spec.Template.Spec.Containers).To(HaveLen(1))
	})
})
