// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardenworker "github.com/gardener/gardener/extensions/pkg/controller/worker"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("The quarantine of a site", func() {
	var (
		f     *fixture
		infra *extensionsv1alpha1.Infrastructure
		start = time.Now().Add(-time.Hour).Truncate(time.Second)
		until = start.Add(2 * time.Hour).UTC().Format(time.RFC3339)
	)

	BeforeEach(func(ctx SpecContext) {
		f = newFixture(newNamespace())
		f.profile.Sites[1].Quarantine = &v1alpha1.Quarantine{MaximumDuration: &metav1.Duration{Duration: 2 * time.Hour}}
		f.pool("a", "cloud-a", "rack-1")
		f.create(ctx)
		infra = &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: f.worker.Namespace, Name: f.worker.Name}}
		infra.Spec.Type = v1alpha1.ProviderType
		Expect(apiServer.Create(ctx, infra)).To(Succeed())
		DeferCleanup(f.playMachineControllerManager())
	})

	try := func(ctx context.Context) (*extensionsv1alpha1.Worker, error) {
		GinkgoHelper()
		f.encode()
		w := &extensionsv1alpha1.Worker{}
		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(f.worker), w)).To(Succeed())
		w.Spec = *f.worker.Spec.DeepCopy()
		Expect(apiServer.Update(ctx, w)).To(Succeed())
		return w, f.actuator(time.Minute).Reconcile(ctx, logr.Discard(), w, f.cluster)
	}
	reconcile := func(ctx context.Context) *extensionsv1alpha1.Worker {
		GinkgoHelper()
		w, err := try(ctx)
		Expect(err).NotTo(HaveOccurred())
		return w
	}
	set := func(ctx context.Context, status gardencorev1beta1.ConditionStatus) {
		GinkgoHelper()
		infra.Status.Conditions = []gardencorev1beta1.Condition{{
			Type: "SiteQuarantined-racks", Status: status, Reason: "Test", LastTransitionTime: metav1.NewTime(start), LastUpdateTime: metav1.Now(),
		}}
		Expect(apiServer.Status().Update(ctx, infra)).To(Succeed())
	}
	deployment := func(ctx context.Context, pool, zone string) *machinev1alpha1.MachineDeployment {
		GinkgoHelper()
		d := &machinev1alpha1.MachineDeployment{}
		Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: f.worker.Namespace, Name: deploymentName(pool, zone)}, d)).To(Succeed())
		return d
	}
	keepsMachines := func(d *machinev1alpha1.MachineDeployment) bool {
		configuration := d.Spec.Template.Spec.MachineConfiguration
		return configuration != nil && ptr.Deref(configuration.DisableHealthTimeout, false)
	}
	quarantinedUntil := func(ctx context.Context, className string) string {
		GinkgoHelper()
		classes := f.classes(ctx)
		Expect(classes).To(HaveKey(className))
		return classes[className].Annotations[v1alpha1.AnnotationQuarantinedUntil]
	}

	It("should let its zones wait until the end, keep their machines, and reconcile the others", func(ctx SpecContext) {
		reconcile(ctx)
		before := f.deployments(ctx)
		rack, cloud := deploymentName("a", "rack-1"), deploymentName("a", "cloud-a")

		set(ctx, gardencorev1beta1.ConditionTrue)
		f.cloud.Fail("racks", platform.NewError(platform.ClassTransient, "no route to host"))
		f.namedPool("a").NodeAgentSecretName = new("gardener-node-agent-new")
		f.pool("new", "rack-1", "cloud-a")
		w := reconcile(ctx)
		Expect(f.deployments(ctx)).To(And(
			HaveLen(3), HaveKeyWithValue(rack, before[rack]), HaveKeyWithValue(cloud, Not(Equal(before[cloud]))),
			HaveKey(deploymentName("new", "cloud-a"))))
		kept := deployment(ctx, "a", "rack-1")
		Expect(keepsMachines(kept)).To(BeTrue())
		Expect(kept.Annotations).To(HaveKeyWithValue("autoscaler.gardener.cloud/scale-down-unready-time", "2h0m0s"))
		Expect(quarantinedUntil(ctx, before[rack])).To(Equal(until))
		other := deployment(ctx, "a", "cloud-a")
		Expect(keepsMachines(other)).To(BeFalse())
		Expect(other.Annotations).NotTo(HaveKey("autoscaler.gardener.cloud/scale-down-unready-time"))
		Expect(quarantinedUntil(ctx, other.Spec.Template.Spec.Class.Name)).To(BeEmpty())
		Expect(w.Status.Conditions).To(ConsistOf(And(
			HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionSitesReconciled)), HaveField("Message", And(
				ContainSubstring(`pool "a" in zone "rack-1" keeps its machine class: site "racks": the site is in quarantine until `+until),
				ContainSubstring(`pool "new" in zone "rack-1" has no machines yet: site "racks": the site is in quarantine until `+until))),
			HaveField("Codes", BeEmpty()))))

		set(ctx, gardencorev1beta1.ConditionFalse)
		f.cloud.Fail("racks", nil)
		w = reconcile(ctx)
		Expect(f.deployments(ctx)).To(And(HaveLen(4), HaveKeyWithValue(rack, Not(Equal(before[rack])))))
		kept = deployment(ctx, "a", "rack-1")
		Expect(keepsMachines(kept)).To(BeFalse())
		Expect(kept.Annotations).NotTo(HaveKey("autoscaler.gardener.cloud/scale-down-unready-time"))
		Expect(quarantinedUntil(ctx, kept.Spec.Template.Spec.Class.Name)).To(BeEmpty())
		Expect(w.Status.Conditions).To(BeEmpty())
	})

	It("should be over after its maximum duration, whatever the condition says", func(ctx SpecContext) {
		reconcile(ctx)
		before := f.deployments(ctx)
		f.profile.Sites[1].Quarantine.MaximumDuration.Duration = time.Minute
		set(ctx, gardencorev1beta1.ConditionTrue)
		f.namedPool("a").NodeAgentSecretName = new("gardener-node-agent-new")
		reconcile(ctx)
		rack := deploymentName("a", "rack-1")
		Expect(f.deployments(ctx)).To(HaveKeyWithValue(rack, Not(Equal(before[rack]))))
	})

	It("should leave the number of machines to the autoscaler and the owner", func(ctx SpecContext) {
		reconcile(ctx)
		set(ctx, gardencorev1beta1.ConditionTrue)
		scaled := deployment(ctx, "a", "rack-1")
		scaled.Spec.Replicas = 2
		Expect(apiServer.Update(ctx, scaled)).To(Succeed())
		reconcile(ctx)
		Expect(deployment(ctx, "a", "rack-1").Spec.Replicas).To(BeEquivalentTo(2))

		f.namedPool("a").Maximum = 2
		reconcile(ctx)
		Expect(deployment(ctx, "a", "rack-1").Spec.Replicas).To(BeEquivalentTo(1))
	})

	It("should keep the class of old machines, and not wait for a pool that was removed", func(ctx SpecContext) {
		f.pool("removed", "rack-1")
		reconcile(ctx)
		class := f.deployments(ctx)[deploymentName("removed", "rack-1")]
		deleted := deployment(ctx, "removed", "rack-1")
		deleted.Finalizers = []string{"machine.sapcloud.io/machine-controller-manager"}
		Expect(apiServer.Update(ctx, deleted)).To(Succeed())
		old := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: f.worker.Namespace, Name: "old",
			Labels: map[string]string{gardenworker.LabelKeyMachineDeploymentName: deleted.Name}}}
		old.Spec.Class = machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: class}
		old.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: "racks"}
		Expect(apiServer.Create(ctx, old)).To(Succeed())

		set(ctx, gardencorev1beta1.ConditionTrue)
		f.removePool("removed")
		reconcile(ctx)
		Expect(deployment(ctx, "removed", "rack-1").DeletionTimestamp).NotTo(BeNil())
		Expect(quarantinedUntil(ctx, class)).To(Equal(until))
		Expect(f.classSecrets(ctx)).To(ContainElement(class))
	})

	It("should let a zone wait that moves away from the site", func(ctx SpecContext) {
		reconcile(ctx)
		before := f.deployments(ctx)
		set(ctx, gardencorev1beta1.ConditionTrue)
		f.profile.Sites[1].Zones[0].Name = "rack-2"
		f.profile.Sites[0].Zones = append(f.profile.Sites[0].Zones, v1alpha1.SiteZone{Name: "rack-1", Metal: &v1alpha1.MetalZone{}})
		reconcile(ctx)
		Expect(f.deployments(ctx)).To(Equal(before))
		Expect(keepsMachines(deployment(ctx, "a", "rack-1"))).To(BeTrue())
	})

	DescribeTable("should not keep machines whose deletion a person asked for", func(ctx SpecContext, ask func(context.Context)) {
		reconcile(ctx)
		set(ctx, gardencorev1beta1.ConditionTrue)
		reconcile(ctx)
		class := f.deployments(ctx)[deploymentName("a", "rack-1")]
		Expect(quarantinedUntil(ctx, class)).To(Equal(until))

		ask(ctx)
		Expect(quarantinedUntil(ctx, class)).To(BeEmpty())
	},
		Entry("by hibernating the shoot", func(ctx context.Context) {
			f.cluster.Shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
			reconcile(ctx)
			Expect(deployment(ctx, "a", "rack-1").Spec.Replicas).To(BeZero())
			Expect(keepsMachines(deployment(ctx, "a", "rack-1"))).To(BeFalse())
		}),
		Entry("by deleting it", func(ctx context.Context) {
			call := f.call(apiServer)
			a := f.actuator(time.Minute).(*actuator)
			a.newGeneric = func(*delegate) gardenworker.Actuator {
				return deleting{}
			}
			Expect(a.Delete(ctx, call.log, call.worker, call.cluster)).To(Succeed())
		}),
	)

	It("should restart a reconciliation that waits for machines of the site", func(ctx SpecContext) {
		reconcile(ctx)
		f.namedPool("a").NodeAgentSecretName = new("gardener-node-agent-new")
		f.encode()
		a, calls := f.actuator(time.Minute).(*actuator), 0
		a.waitPolicy.pollInterval = 10 * time.Millisecond
		var kept []keptObjects
		a.newGeneric = func(d *delegate) gardenworker.Actuator {
			kept = append(kept, d.facts.kept)
			return playedGeneric{play: func(waiting context.Context, _ *extensionsv1alpha1.Worker) error {
				if calls++; calls > 1 {
					return nil
				}
				set(ctx, gardencorev1beta1.ConditionTrue)
				return waitOut(waiting)
			}}
		}
		cluster := f.clusterObject()
		cluster.Spec.Seed = &runtime.RawExtension{Raw: []byte("{}")}
		Expect(apiServer.Create(ctx, cluster)).To(Succeed())
		w := &extensionsv1alpha1.Worker{}
		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(f.worker), w)).To(Succeed())
		Expect(a.Reconcile(ctx, logr.Discard(), w, f.cluster)).To(Succeed())
		Expect(calls).To(Equal(2))
		Expect(kept[0].deployments).To(BeEmpty())
		Expect(kept[1].deployments).To(HaveKey(deploymentName("a", "rack-1")))
	})

	It("should hide from Gardener what machines of the site do", func() {
		const held, other = "held", "other"
		kept := keptObjects{deployments: sets.New(held), classes: sets.New(held), secrets: sets.New(held)}
		meta := func(name string) metav1.ObjectMeta {
			return metav1.ObjectMeta{Name: name, Generation: 2, Labels: map[string]string{gardenworker.LabelKeyMachineDeploymentName: name}}
		}
		failed := func(name string) machinev1alpha1.MachineDeployment {
			return machinev1alpha1.MachineDeployment{ObjectMeta: meta(name), Spec: machinev1alpha1.MachineDeploymentSpec{Replicas: 3},
				Status: machinev1alpha1.MachineDeploymentStatus{Replicas: 4, UnavailableReplicas: 3,
					FailedMachines: []*machinev1alpha1.MachineSummary{{Name: "m"}}}}
		}
		gone := failed(held)
		gone.DeletionTimestamp = &metav1.Time{}
		deployments := &machinev1alpha1.MachineDeploymentList{Items: []machinev1alpha1.MachineDeployment{failed(held), gone, failed(other)}}
		kept.hide(deployments)
		Expect(deployments.Items).To(HaveLen(2))
		Expect(deployments.Items[0].Status).To(And(HaveField("FailedMachines", BeEmpty()), HaveField("UnavailableReplicas", BeZero()),
			HaveField("UpdatedReplicas", BeEquivalentTo(3)), HaveField("Replicas", BeEquivalentTo(3)),
			HaveField("ObservedGeneration", BeEquivalentTo(2))))
		Expect(deployments.Items[1]).To(Equal(failed(other)))

		set := func(name string) machinev1alpha1.MachineSet {
			return machinev1alpha1.MachineSet{ObjectMeta: meta(name), Status: machinev1alpha1.MachineSetStatus{Replicas: 1}}
		}
		machineSets := &machinev1alpha1.MachineSetList{Items: []machinev1alpha1.MachineSet{set(held), set(other)}}
		kept.hide(machineSets)
		Expect(machineSets.Items).To(HaveExactElements(HaveField("Status.Replicas", BeZero()), Equal(set(other))))

		machines := &machinev1alpha1.MachineList{Items: []machinev1alpha1.Machine{{ObjectMeta: meta(held)}, {ObjectMeta: meta(other)}}}
		kept.hide(machines)
		Expect(machines.Items).To(HaveExactElements(HaveField("Name", other)))

		Expect(kept.has(&machinev1alpha1.MachineClass{ObjectMeta: meta(held)})).To(BeTrue())
		Expect(kept.has(&corev1.Secret{ObjectMeta: meta(held)})).To(BeTrue())
		Expect(kept.has(&corev1.Secret{ObjectMeta: meta(other)})).To(BeFalse())
		Expect(kept.has(&machinev1alpha1.MachineDeployment{ObjectMeta: meta(held)})).To(BeFalse())
	})
})

// deleting is a generic actuator that deletes at once.
type deleting struct {
	gardenworker.Actuator
}

func (deleting) Delete(context.Context, logr.Logger, *extensionsv1alpha1.Worker, *extensionscontroller.Cluster) error {
	return nil
}
