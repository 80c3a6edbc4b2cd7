// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"flag"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionscontextwebhook "github.com/gardener/gardener/extensions/pkg/webhook/context"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane/genericmutator"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenerimagevector "github.com/gardener/gardener/pkg/utils/imagevector"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/app/options"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/controlplane"
)

var _ = Describe("Ensurer", func() {
	const driver = "machine-controller-manager-provider-hybrid"

	var (
		ensurer genericmutator.Ensurer
		cluster *extensionscontroller.Cluster
		garden  extensionscontextwebhook.GardenContext
	)

	BeforeEach(func() {
		ensurer = NewEnsurer(imagevector.ImageVector(), nil)
		cluster = &extensionscontroller.Cluster{Shoot: &gardencorev1beta1.Shoot{}}
		garden = extensionscontextwebhook.NewInternalGardenContext(cluster)
	})

	deployment := func(containers ...corev1.Container) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "deployment", Namespace: "shoot--a--b"},
			Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: containers}}},
		}
	}

	DescribeTable("kube-controller-manager",
		func(ctx SpecContext, name string, command, expected []string) {
			object := deployment(corev1.Container{Name: "other", Command: []string{"other"}}, corev1.Container{Name: name, Command: command})
			for range 2 {
				Expect(ensurer.EnsureKubeControllerManagerDeployment(ctx, garden, object, nil)).To(Succeed())
				Expect(object.Spec.Template.Spec.Containers).To(HaveExactElements(
					HaveField("Command", Equal([]string{"other"})), HaveField("Command", Equal(expected))))
			}
		},
		Entry("without the flag", "kube-controller-manager", []string{"kcm", "--v=2"}, []string{"kcm", "--v=2", "--cloud-provider=external"}),
		Entry("with another value", "kube-controller-manager", []string{"kcm", "--cloud-provider=gce", "--v=2"},
			[]string{"kcm", "--cloud-provider=external", "--v=2"}),
		Entry("another container", "sidecar", []string{"sidecar"}, []string{"sidecar"}),
	)

	DescribeTable("kubelet",
		func(ctx SpecContext, start, expected string) {
			units := []*unit.UnitOption{{Section: "Service", Name: "Restart", Value: "always"},
				{Section: "Service", Name: "ExecStart", Value: start}}
			for range 2 {
				changed, err := ensurer.EnsureKubeletServiceUnitOptions(ctx, garden, nil, units, nil)
				Expect(err).NotTo(HaveOccurred())
				Expect(changed).To(HaveExactElements(HaveField("Value", "always"), HaveField("Value", expected)))
				units = changed
			}
		},
		Entry("without the flag", "/opt/bin/kubelet \\\n    --config=c \\\n    --v=2 $KUBELET_EXTRA_ARGS",
			"/opt/bin/kubelet --config=c \\\n    --v=2 \\\n    $KUBELET_EXTRA_ARGS \\\n    --cloud-provider=external"),
		Entry("with another value", "/opt/bin/kubelet --cloud-provider=aws", "/opt/bin/kubelet --cloud-provider=external"),
	)

	It("leaves a unit without a start command alone", func(ctx SpecContext) {
		Expect(ensurer.EnsureKubeletServiceUnitOptions(ctx, garden, nil, []*unit.UnitOption{{Section: "Unit", Name: "After", Value: "x"}}, nil)).
			To(HaveExactElements(HaveField("Value", "x")))
	})

	Describe("machine-controller-manager", func() {
		It("gets the driver once, beside what is there", func(ctx SpecContext) {
			object := deployment(corev1.Container{Name: "machine-controller-manager"})
			Expect(ensurer.EnsureMachineControllerManagerDeployment(ctx, garden, object, nil)).To(Succeed())
			first := object.DeepCopy()
			Expect(first.Spec.Template.Spec.Containers).To(HaveExactElements(HaveField("Name", "machine-controller-manager"),
				HaveField("Name", driver)))
			Expect(ensurer.EnsureMachineControllerManagerDeployment(ctx, garden, object, nil)).To(Succeed())
			Expect(object).To(Equal(first))
		})

		It("replaces a driver of another version", func(ctx SpecContext) {
			object := deployment(corev1.Container{Name: driver, Image: "old"})
			Expect(ensurer.EnsureMachineControllerManagerDeployment(ctx, garden, object, nil)).To(Succeed())
			Expect(object.Spec.Template.Spec.Containers).To(HaveExactElements(HaveField("Image", HavePrefix(driver+":"))))
		})

		It("gives the driver flags that it knows", func(ctx SpecContext) {
			object := deployment()
			Expect(ensurer.EnsureMachineControllerManagerDeployment(ctx, garden, object, nil)).To(Succeed())
			flags, logging := pflag.NewFlagSet(driver, pflag.ContinueOnError), flag.NewFlagSet(driver, flag.ContinueOnError)
			server := options.NewMCServer()
			server.AddFlags(flags)
			klog.InitFlags(logging)
			flags.AddGoFlagSet(logging)
			Expect(flags.Parse(object.Spec.Template.Spec.Containers[0].Args)).To(Succeed())
			Expect(server.Namespace).To(Equal("shoot--a--b"))
			Expect(server.Port).To(BeEquivalentTo(object.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort))
		})

		It("runs the driver by its digest if the image vector has it", func(ctx SpecContext) {
			image := "registry.example.com/" + driver + "@sha256:" + strings.Repeat("0123456789abcdef", 4)
			object := deployment()
			ensurer = NewEnsurer(gardenerimagevector.ImageVector{{Name: driver, Ref: &image}}, nil)
			Expect(ensurer.EnsureMachineControllerManagerDeployment(ctx, garden, object, nil)).To(Succeed())
			Expect(object.Spec.Template.Spec.Containers[0].Image).To(Equal(image))
		})

		It("gives the driver memory that has an end, near which it collects garbage", func(ctx SpecContext) {
			object := deployment()
			Expect(ensurer.EnsureMachineControllerManagerDeployment(ctx, garden, object, nil)).To(Succeed())
			container := object.Spec.Template.Spec.Containers[0]
			limit := container.Resources.Limits.Memory()
			Expect(limit.Value()).To(BeNumerically(">=", 3*container.Resources.Requests.Memory().Value()))
			Expect(container.Env).To(ContainElement(corev1.EnvVar{Name: "GOMEMLIMIT", Value: strconv.FormatInt(limit.Value(), 10)}))
			vpa := &vpaautoscalingv1.VerticalPodAutoscaler{}
			Expect(ensurer.EnsureMachineControllerManagerVPA(ctx, garden, vpa, nil)).To(Succeed())
			Expect(vpa.Spec.ResourcePolicy.ContainerPolicies).To(HaveEach(HaveField("ControlledValues",
				HaveValue(Equal(vpaautoscalingv1.ContainerControlledValuesRequestsOnly)))))
		})

		It("lets a self-hosted shoot do without a kubeconfig", func(ctx SpecContext) {
			cluster.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{ControlPlane: &gardencorev1beta1.WorkerControlPlane{}}}
			object := deployment()
			Expect(ensurer.EnsureMachineControllerManagerDeployment(ctx, garden, object, nil)).To(Succeed())
			Expect(strings.Join(object.Spec.Template.Spec.Containers[0].Args, " ")).To(ContainSubstring("--target-kubeconfig=none"))
			Expect(object.Spec.Template.Spec.Containers[0].VolumeMounts).To(BeEmpty())
		})

		It("is refused without a Shoot", func(ctx SpecContext) {
			cluster.Shoot = nil
			Expect(ensurer.EnsureMachineControllerManagerDeployment(ctx, garden, deployment(),
				nil)).To(MatchError(`the Cluster of namespace "shoot--a--b" has no Shoot`))
		})

		It("is refused without an image", func(ctx SpecContext) {
			ensurer = NewEnsurer(nil, nil)
			Expect(ensurer.EnsureMachineControllerManagerDeployment(ctx, garden, deployment(), nil)).To(MatchError(ContainSubstring(driver)))
		})

		DescribeTable("gets a policy of its VPA once",
			func(ctx SpecContext, policy *vpaautoscalingv1.PodResourcePolicy, names ...string) {
				vpa := &vpaautoscalingv1.VerticalPodAutoscaler{Spec: vpaautoscalingv1.VerticalPodAutoscalerSpec{ResourcePolicy: policy}}
				for range 2 {
					Expect(ensurer.EnsureMachineControllerManagerVPA(ctx, garden, vpa, nil)).To(Succeed())
					Expect(vpa.Spec.ResourcePolicy.ContainerPolicies).To(HaveLen(len(names)))
					for i, name := range names {
						Expect(vpa.Spec.ResourcePolicy.ContainerPolicies[i].ContainerName).To(Equal(name))
					}
				}
			},
			Entry("without policies", nil, driver),
			Entry("beside others",
				&vpaautoscalingv1.PodResourcePolicy{ContainerPolicies: []vpaautoscalingv1.ContainerResourcePolicy{{ContainerName: "*"}}}, "*", driver),
		)
	})
})
