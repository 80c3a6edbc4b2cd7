// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/gardener/shootstate"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("The life of a pool", func() {
	var f *fixture

	BeforeEach(func() {
		f = newFixture(newNamespace())
	})

	try := func(ctx context.Context) (*extensionsv1alpha1.Worker, error) {
		GinkgoHelper()
		f.encode()
		current := &extensionsv1alpha1.Worker{}
		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(f.worker), current)).To(Succeed())
		current.Spec = *f.worker.Spec.DeepCopy()
		Expect(apiServer.Update(ctx, current)).To(Succeed())
		err := f.actuator(time.Minute).Reconcile(ctx, logr.Discard(), current, f.cluster)
		w := &extensionsv1alpha1.Worker{}
		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(f.worker), w)).To(Succeed())
		return w, err
	}
	reconcile := func(ctx context.Context) *extensionsv1alpha1.Worker {
		GinkgoHelper()
		w, err := try(ctx)
		Expect(err).NotTo(HaveOccurred())
		return w
	}
	deployment := func(ctx context.Context, zone string) *machinev1alpha1.MachineDeployment {
		GinkgoHelper()
		d := &machinev1alpha1.MachineDeployment{}
		Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: f.worker.Namespace, Name: deploymentName("a", zone)}, d)).To(Succeed())
		return d
	}

	It("should have no machines while the shoot is hibernated, and wake up with the same classes", func(ctx SpecContext) {
		setPolicy(f.pool("a", "cloud-a", "rack-1"), "affinity")
		f.create(ctx)
		DeferCleanup(f.playMachineControllerManager())
		reconcile(ctx)
		before := f.deployments(ctx)
		Expect(deployment(ctx, "rack-1").Spec.Replicas).To(BeEquivalentTo(1))

		f.cluster.Shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
		reconcile(ctx)
		Expect(deployment(ctx, "cloud-a").Spec.Replicas).To(BeZero())
		Expect(deployment(ctx, "rack-1").Spec.Replicas).To(BeZero())
		Expect(f.deployments(ctx)).To(Equal(before))
		Expect(f.cloud.Groups("cloud")).To(ConsistOf("a/affinity"))

		f.cluster.Shoot.Spec.Hibernation.Enabled = new(false)
		reconcile(ctx)
		Expect(deployment(ctx, "cloud-a").Spec.Replicas).To(BeEquivalentTo(1))
		Expect(deployment(ctx, "rack-1").Spec.Replicas).To(BeEquivalentTo(1))
		Expect(f.deployments(ctx)).To(Equal(before))
	})

	It("should tell the autoscaler and Gardener what they need of a pool that is updated in place", func(ctx SpecContext) {
		pool := f.pool("a", "cloud-a")
		pool.UpdateStrategy, pool.KubernetesVersion = new(gardencorev1beta1.AutoInPlaceUpdate), new("1.35.1")
		pool.ClusterAutoscaler = &extensionsv1alpha1.ClusterAutoscalerOptions{ScaleDownUnneededTime: &metav1.Duration{Duration: time.Hour}}
		f.create(ctx)
		DeferCleanup(f.playMachineControllerManager())
		first := reconcile(ctx)
		Expect(first.Status.InPlaceUpdates.WorkerPoolToHashMap).To(HaveKeyWithValue("a", Not(BeEmpty())))
		created := deployment(ctx, "cloud-a")
		Expect(created.Annotations).To(HaveKeyWithValue(extensionsv1alpha1.ScaleDownUnneededTimeAnnotation, "1h0m0s"))
		Expect(created.Spec.Strategy.Type).To(Equal(machinev1alpha1.InPlaceUpdateMachineDeploymentStrategyType))

		f.namedPool("a").KubernetesVersion = new("1.36.0")
		second := reconcile(ctx)
		Expect(second.Status.InPlaceUpdates.WorkerPoolToHashMap["a"]).NotTo(Equal(first.Status.InPlaceUpdates.WorkerPoolToHashMap["a"]))
		Expect(deployment(ctx, "cloud-a").Spec.Template.Spec.Class.Name).NotTo(Equal(created.Spec.Template.Spec.Class.Name))

		settings := f.namedPool("a")
		setPolicy(settings, "affinity")
		settings.DataVolumes = []extensionsv1alpha1.DataVolume{{Name: "logs", Size: "20Gi"}}
		before := f.deployments(ctx)
		reconcile(ctx)
		Expect(f.deployments(ctx)).To(Equal(before), "no machine that exists can be given a group or a volume")
	})

	DescribeTable("should tell Gardener that a pool is updated in place when no zone keeps its class any more",
		func(ctx SpecContext, strategy gardencorev1beta1.MachineUpdateStrategy) {
			f.pool("a", "rack-1")
			f.pool("b", "cloud-a")
			for i := range f.worker.Spec.Pools {
				f.worker.Spec.Pools[i].UpdateStrategy, f.worker.Spec.Pools[i].KubernetesVersion = &strategy, new("1.35.1")
			}
			f.create(ctx)
			DeferCleanup(f.playMachineControllerManager())
			first := reconcile(ctx).Status.InPlaceUpdates.WorkerPoolToHashMap
			Expect(first).To(And(HaveKeyWithValue("a", Not(BeEmpty())), HaveKeyWithValue("b", Not(BeEmpty()))))

			f.cloud.Fail("racks", platform.NewError(platform.ClassTransient, "503"))
			for i := range f.worker.Spec.Pools {
				f.worker.Spec.Pools[i].KubernetesVersion = new("1.36.0")
			}
			w, err := try(ctx)
			Expect(err).To(MatchError(ContainSubstring(`pool "a" in zone "rack-1" keeps its machine class: site "racks": 503`)))
			second := w.Status.InPlaceUpdates.WorkerPoolToHashMap
			Expect(second).To(And(HaveKeyWithValue("a", first["a"]), HaveKeyWithValue("b", Not(Equal(first["b"])))))

			f.cloud.Fail("racks", nil)
			Expect(reconcile(ctx).Status.InPlaceUpdates.WorkerPoolToHashMap).To(And(
				HaveKeyWithValue("a", Not(Equal(first["a"]))), HaveKeyWithValue("b", second["b"])))
		},
		Entry("by itself", gardencorev1beta1.AutoInPlaceUpdate),
		Entry("by hand", gardencorev1beta1.ManualInPlaceUpdate),
	)

	It("should change pools of other sites while a site fails that has nothing to change, and tell that in a condition",
		func(ctx SpecContext) {
			f.pool("a", "rack-1", "cloud-a")
			f.pool("b", "cloud-a")
			f.create(ctx)
			DeferCleanup(f.playMachineControllerManager())
			reconcile(ctx)
			before := f.deployments(ctx)

			f.cloud.Fail("racks", platform.NewError(platform.ClassUnauthenticated, "401"))
			f.namedPool("b").NodeAgentSecretName = new("gardener-node-agent-new")
			w := reconcile(ctx)
			Expect(f.deployments(ctx)).To(And(
				HaveKeyWithValue(deploymentName("a", "rack-1"), before[deploymentName("a", "rack-1")]),
				HaveKeyWithValue(deploymentName("a", "cloud-a"), before[deploymentName("a", "cloud-a")]),
				HaveKeyWithValue(deploymentName("b", "cloud-a"), Not(Equal(before[deploymentName("b", "cloud-a")]))),
			))
			Expect(w.Status.Conditions).To(ConsistOf(And(
				HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionSitesReconciled)), HaveField("Status",
					gardencorev1beta1.ConditionFalse),
				HaveField("Message", ContainSubstring(`pool "a" in zone "rack-1" keeps its machine class: site "racks": 401`)),
				HaveField("Codes", ConsistOf(gardencorev1beta1.ErrorInfraUnauthenticated)))))

			By("changing the pool on the site")
			f.namedPool("a").NodeAgentSecretName = new("gardener-node-agent-new")
			_, err := try(ctx)
			Expect(err).To(MatchError(ContainSubstring(`pool "a" in zone "rack-1" keeps its machine class: site "racks": 401`)))

			f.cloud.Fail("racks", nil)
			Expect(reconcile(ctx).Status.Conditions).To(BeEmpty())
		})

	It("should remember images by name, with their capabilities", func(ctx SpecContext) {
		f.pool("a", "cloud-a")
		named := &v1alpha1.OpenStackImage{ImageName: "linux-1.0.0"}
		f.profile.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[0].OpenStack = named
		f.create(ctx)
		DeferCleanup(f.playMachineControllerManager())

		status, err := codec.Decode[v1alpha1.WorkerStatus](reconcile(ctx).Status.ProviderStatus)
		Expect(err).NotTo(HaveOccurred())
		flavors := status.MachineImages[0].Versions[0].CapabilityFlavors
		Expect(flavors).To(HaveLen(1))
		Expect(flavors[0].Capabilities).To(HaveKeyWithValue("architecture", ConsistOf("amd64")))
		Expect(flavors[0].Sites).To(HaveExactElements(And(HaveField("Name", "cloud"), HaveField("OpenStack", named))))
	})

	It("should move to another seed with its machines, and nothing is rolled or made again", func(ctx SpecContext) {
		setPolicy(f.pool("a", "cloud-a", "rack-1"), "affinity")
		f.create(ctx)
		stopAtSource := f.playMachineControllerManager()
		reconcile(ctx)
		stopAtSource()
		classes, groups := f.deployments(ctx), f.cloud.Groups("cloud")
		specs := map[string]runtime.RawExtension{}
		for name, class := range f.classes(ctx) {
			specs[name] = class.ProviderSpec
		}
		Expect(f.actuator(time.Minute).Migrate(ctx, logr.Discard(), f.worker.DeepCopy(), f.cluster)).To(Succeed())
		Expect(f.deployments(ctx)).To(Equal(classes), "gardenlet removes them without their machines")
		Expect(f.cloud.Groups("cloud")).To(Equal(groups))

		source := f.worker.Namespace
		target := newNamespace()
		f.worker.Namespace, f.secret.Namespace, f.user.Namespace, f.worker.Spec.SecretRef.Namespace = target, target, target, target
		for _, object := range []client.Object{f.worker, f.secret, f.user} {
			object.SetResourceVersion("")
			object.SetUID("")
		}
		f.worker.Status = extensionsv1alpha1.WorkerStatus{}
		f.create(ctx)
		state := &shootstate.MachineState{MachineDeployments: map[string]*shootstate.MachineDeploymentState{}}
		for name, class := range classes {
			machine := machinev1alpha1.Machine{
				ObjectMeta: metav1.ObjectMeta{Name: name + "-x", Namespace: target},
				Spec: machinev1alpha1.MachineSpec{ProviderID: "toy:///" + name,
					Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: class}},
			}
			set := machinev1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: target}}
			set.Spec.Replicas, set.Spec.Template.Spec.Class.Name = 1, class
			state.MachineDeployments[name] = &shootstate.MachineDeploymentState{Replicas: 1, MachineSets: []machinev1alpha1.MachineSet{set},
				Machines: []machinev1alpha1.Machine{machine}}
		}
		raw, err := shootstate.MarshalMachineState(state)
		Expect(err).NotTo(HaveOccurred())
		f.worker.Status.State = &runtime.RawExtension{Raw: raw}
		DeferCleanup(f.playMachineControllerManager())
		f.encode()
		Expect(f.actuator(time.Minute).Restore(ctx, logr.Discard(), f.worker.DeepCopy(), f.cluster)).To(Succeed())

		Expect(target).NotTo(Equal(source))
		Expect(f.deployments(ctx)).To(Equal(classes), "the same classes, so nothing rolls")
		for name, class := range f.classes(ctx) {
			Expect(class.ProviderSpec.Raw).To(MatchJSON(specs[name].Raw))
		}
		Expect(f.cloud.Groups("cloud")).To(Equal(groups))
		machines := &machinev1alpha1.MachineList{}
		Expect(apiServer.List(ctx, machines, client.InNamespace(target))).To(Succeed())
		Expect(machines.Items).To(HaveLen(2))
		for _, machine := range machines.Items {
			Expect(machine.Spec.ProviderID).To(Equal("toy:///" + machine.Name[:len(machine.Name)-2]))
		}
	})
})
