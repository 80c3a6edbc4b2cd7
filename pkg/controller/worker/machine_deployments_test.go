// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"time"

	gardenworker "github.com/gardener/gardener/extensions/pkg/controller/worker"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

var _ = Describe("Machine deployments", func() {
	var f *fixture

	BeforeEach(func() {
		f = newFixture("shoot--p--s")
	})

	generate := func(ctx SpecContext, existing ...client.Object) gardenworker.MachineDeployments {
		c := fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(f.secret, f.user, f.worker).WithObjects(existing...).Build()
		deployments, err := f.delegate(ctx, c).GenerateMachineDeployments(ctx)
		Expect(err).NotTo(HaveOccurred())
		return deployments
	}

	It("follow the pool", func(ctx SpecContext) {
		pool := f.pool("a", "cloud-a")
		pool.Annotations = map[string]string{"note": "a"}
		pool.Taints = []corev1.Taint{{Key: "only", Effect: corev1.TaintEffectNoSchedule}}
		pool.ClusterAutoscaler = &extensionsv1alpha1.ClusterAutoscalerOptions{MaxNodeProvisionTime: &metav1.Duration{Duration: time.Hour}}

		deployment := generate(ctx)[0]
		Expect(deployment.PoolName).To(Equal("a"))
		Expect(deployment.Annotations).To(Equal(pool.Annotations))
		Expect(deployment.Taints).To(Equal(pool.Taints))
		Expect(deployment.ClusterAutoscalerAnnotations).To(HaveKeyWithValue(extensionsv1alpha1.MaxNodeProvisionTimeAnnotation, "1h0m0s"))
	})

	It("have the settings of the cluster-autoscaler of the site where the pool has some for it", func(ctx SpecContext) {
		pool := f.pool("a", "cloud-a", "rack-1")
		pool.ClusterAutoscaler = &extensionsv1alpha1.ClusterAutoscalerOptions{
			ScaleDownUtilizationThreshold: new("0.5"), MaxNodeProvisionTime: &metav1.Duration{Duration: time.Hour},
		}
		pool.ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{
			Name: "cloud", ClusterAutoscaler: &v1alpha1.SiteClusterAutoscaler{
				ScaleDownUtilizationThreshold:    new("0.8"),
				ScaleDownGpuUtilizationThreshold: new("0"),
				ScaleDownUnneededTime:            &metav1.Duration{Duration: time.Minute},
				ScaleDownUnreadyTime:             &metav1.Duration{Duration: 2 * time.Minute},
			},
		}}})

		deployments := generate(ctx)
		Expect(deployments[0].ClusterAutoscalerAnnotations).To(Equal(map[string]string{
			extensionsv1alpha1.ScaleDownUtilizationThresholdAnnotation:    "0.8",
			extensionsv1alpha1.ScaleDownGpuUtilizationThresholdAnnotation: "0",
			extensionsv1alpha1.ScaleDownUnneededTimeAnnotation:            "1m0s",
			extensionsv1alpha1.ScaleDownUnreadyTimeAnnotation:             "2m0s",
			extensionsv1alpha1.MaxNodeProvisionTimeAnnotation:             "1h0m0s",
		}))
		Expect(deployments[1].ClusterAutoscalerAnnotations).To(Equal(map[string]string{
			extensionsv1alpha1.ScaleDownUtilizationThresholdAnnotation:    "0.5",
			extensionsv1alpha1.ScaleDownGpuUtilizationThresholdAnnotation: "",
			extensionsv1alpha1.ScaleDownUnneededTimeAnnotation:            "",
			extensionsv1alpha1.ScaleDownUnreadyTimeAnnotation:             "",
			extensionsv1alpha1.MaxNodeProvisionTimeAnnotation:             "1h0m0s",
		}))
		Expect(*f.namedPool("a").ClusterAutoscaler.ScaleDownUtilizationThreshold).To(Equal("0.5"))
	})

	It("do not write the site into the labels of the pool", func(ctx SpecContext) {
		pool := f.pool("a", "cloud-a", "rack-1")
		pool.Labels = map[string]string{"team": "a"}

		deployments := generate(ctx)
		Expect(deployments[0].Labels).To(HaveKeyWithValue(v1alpha1.LabelSite, "cloud"))
		Expect(deployments[1].Labels).To(HaveKeyWithValue(v1alpha1.LabelSite, "racks"))
		Expect(f.namedPool("a").Labels).To(Equal(map[string]string{"team": "a"}))
	})

	It("have the timeouts of the site where the pool has none", func(ctx SpecContext) {
		f.profile.Sites[1].Timeouts = &v1alpha1.MachineTimeouts{
			Creation: &metav1.Duration{Duration: time.Hour}, Health: &metav1.Duration{Duration: 30 * time.Minute},
			Drain: &metav1.Duration{Duration: 3 * time.Hour},
		}
		f.pool("a", "rack-1", "cloud-a").MachineControllerManagerSettings = &gardencorev1beta1.MachineControllerManagerSettings{
			MachineHealthTimeout: &metav1.Duration{Duration: time.Minute},
			NodeConditions:       []string{"A", "B"},
		}

		deployments := generate(ctx)
		Expect(deployments[0].MachineConfiguration).To(Equal(&machinev1alpha1.MachineConfiguration{
			MachineCreationTimeout: &metav1.Duration{Duration: time.Hour},
			MachineHealthTimeout:   &metav1.Duration{Duration: time.Minute},
			MachineDrainTimeout:    &metav1.Duration{Duration: 3 * time.Hour},
			NodeConditions:         new("A,B"),
		}))
		Expect(deployments[1].MachineConfiguration).To(Equal(&machinev1alpha1.MachineConfiguration{
			MachineHealthTimeout: &metav1.Duration{Duration: time.Minute},
			NodeConditions:       new("A,B"),
		}))
	})

	It("keep what the site said if the site is not known any more", func(ctx SpecContext) {
		f.pool("a", "gone-1").Labels = map[string]string{v1beta1constants.LabelWorkerPoolGardenerNodeAgentSecretName: "new"}
		existing := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: deploymentName("a", "gone-1"),
			Namespace: f.worker.Namespace}}
		existing.Spec.Template.Spec.Class.Name = "class"
		existing.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{
			v1alpha1.LabelSite: "gone", v1alpha1.LabelPlatform: "toy", "topology.toy/zone": "raw", "old": "yes",
			v1beta1constants.LabelWorkerPoolGardenerNodeAgentSecretName: "old",
		}
		existing.Spec.Template.Spec.MachineConfiguration = &machinev1alpha1.MachineConfiguration{
			MachineCreationTimeout: &metav1.Duration{Duration: time.Hour},
		}
		class := &machinev1alpha1.MachineClass{
			ObjectMeta: metav1.ObjectMeta{Name: "class", Namespace: f.worker.Namespace},
			SecretRef:  &corev1.SecretReference{Name: "class-secret"},
		}

		deployments := generate(ctx, existing, class)
		Expect(deployments).To(HaveLen(1))
		Expect(deployments[0].ClassName).To(Equal("class"))
		Expect(deployments[0].SecretName).To(Equal("class-secret"))
		Expect(deployments[0].Labels).To(Equal(map[string]string{
			v1alpha1.LabelSite: "gone", v1alpha1.LabelPlatform: "toy", "topology.toy/zone": "raw",
			v1beta1constants.LabelWorkerPoolGardenerNodeAgentSecretName: "old",
		}))
		Expect(deployments[0].MachineConfiguration.MachineCreationTimeout.Duration).To(Equal(time.Hour))
	})

	DescribeTable("the update strategy",
		func(ctx SpecContext, strategy *gardencorev1beta1.MachineUpdateStrategy, expected machinev1alpha1.MachineDeploymentStrategyType,
			orchestration machinev1alpha1.OrchestrationType) {
			pool := f.pool("a", "cloud-a")
			pool.UpdateStrategy, pool.KubernetesVersion = strategy, new("1.35.1")

			actual := generate(ctx)[0].Strategy
			Expect(actual.Type).To(Equal(expected))
			if orchestration == "" {
				Expect(actual.InPlaceUpdate).To(BeNil())
				Expect(actual.RollingUpdate.MaxSurge.IntValue()).To(Equal(1))
				return
			}
			Expect(actual.RollingUpdate).To(BeNil())
			Expect(actual.InPlaceUpdate.OrchestrationType).To(Equal(orchestration))
			Expect(actual.InPlaceUpdate.MaxSurge.IntValue()).To(Equal(1))
		},
		Entry("none", nil, machinev1alpha1.RollingUpdateMachineDeploymentStrategyType, machinev1alpha1.OrchestrationType("")),
		Entry("rolling", new(gardencorev1beta1.AutoRollingUpdate), machinev1alpha1.RollingUpdateMachineDeploymentStrategyType,
			machinev1alpha1.OrchestrationType("")),
		Entry("in place", new(gardencorev1beta1.AutoInPlaceUpdate), machinev1alpha1.InPlaceUpdateMachineDeploymentStrategyType,
			machinev1alpha1.OrchestrationTypeAuto),
		Entry("in place, by hand", new(gardencorev1beta1.ManualInPlaceUpdate), machinev1alpha1.InPlaceUpdateMachineDeploymentStrategyType,
			machinev1alpha1.OrchestrationTypeManual),
	)

	DescribeTable("the class of a pool that is updated in place",
		func(ctx SpecContext, change func(*extensionsv1alpha1.WorkerPool), isNew bool) {
			pool := f.pool("a", "cloud-a")
			pool.UpdateStrategy = new(gardencorev1beta1.AutoInPlaceUpdate)
			pool.KubernetesVersion = new("1.35.1")
			before := generate(ctx)[0].ClassName
			f.profile.MachineImages[0].Versions = append(f.profile.MachineImages[0].Versions, *f.profile.MachineImages[0].Versions[0].DeepCopy())
			f.profile.MachineImages[0].Versions[1].Version = "2.0.0"
			change(pool)

			after := generate(ctx)[0].ClassName
			if isNew {
				Expect(after).NotTo(Equal(before))
			} else {
				Expect(after).To(Equal(before))
			}
		},
		Entry("is new with the image version", func(p *extensionsv1alpha1.WorkerPool) { p.MachineImage.Version = "2.0.0" }, true),
		Entry("is new with the minor version", func(p *extensionsv1alpha1.WorkerPool) { p.KubernetesVersion = new("1.36.0") }, true),
		Entry("stays with the patch version", func(p *extensionsv1alpha1.WorkerPool) { p.KubernetesVersion = new("1.35.2") }, false),
	)

	It("keep a zone that is updated in place where its machines are when it moves to another site", func(ctx SpecContext) {
		pool := f.pool("a", "rack-1", "cloud-a")
		pool.UpdateStrategy, pool.KubernetesVersion = new(gardencorev1beta1.AutoInPlaceUpdate), new("1.35.1")
		existing := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: deploymentName("a", "rack-1"),
			Namespace: f.worker.Namespace}}
		existing.Spec.Template.Spec.Class.Name = "class"
		existing.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: "racks", v1alpha1.LabelPlatform: "toy"}
		class := &machinev1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Name: "class", Namespace: f.worker.Namespace}}
		f.profile.Sites[1].Zones = nil
		f.profile.Sites[0].Zones = append(f.profile.Sites[0].Zones,
			v1alpha1.SiteZone{Name: "rack-1", Blocks: toyapi.Blocks(&toyapi.Zone{Shelf: "raw-rack-1"})})

		d := f.delegate(ctx,
			fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(f.secret, f.user, f.worker, existing, class).Build())
		deployments, err := d.GenerateMachineDeployments(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(deployments).To(HaveLen(2))
		Expect(deployments[0].ClassName).To(Equal("class"))
		Expect(deployments[0].Labels).To(HaveKeyWithValue(v1alpha1.LabelSite, "racks"))
		Expect(deployments[1].Labels).To(HaveKeyWithValue(v1alpha1.LabelSite, "cloud"))
		Expect(unresolved(d.zones)).To(MatchError(ContainSubstring(
			`pool "a" in zone "rack-1" keeps its machine class: site "cloud": the zone was part of site "racks"`)))

		pool.UpdateStrategy = nil
		deployments = generate(ctx, existing, class)
		Expect(deployments[0].ClassName).NotTo(Equal("class"))
		Expect(deployments[0].Labels).To(HaveKeyWithValue(v1alpha1.LabelSite, "cloud"))
	})
})
