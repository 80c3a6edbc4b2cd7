// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/gardener/shootstate"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

var _ = Describe("Actuator", func() {
	var f *fixture

	BeforeEach(func() {
		f = newFixture(newNamespace())
	})

	// settled reconciles until the machine deployments are these.
	settled := func(ctx context.Context, names ...string) error {
		return f.reconcile(ctx, time.Minute, func(g Gomega) {
			g.Expect(f.deployments(ctx)).To(HaveLen(len(names)))
			for _, name := range names {
				g.Expect(f.deployments(ctx)).To(HaveKey(name))
			}
		})
	}

	It("writes a class, its secret and a deployment for each pool and zone, also of a pool over two sites", func(ctx SpecContext) {
		pool := f.pool("batch", "rack-1", "cloud-a")
		pool.Labels = map[string]string{"team": "a"}
		pool.ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{
			{Name: "racks", Priority: new(int32(100)), Minimum: new(int32(2)), Maximum: new(int32(3))},
			{Name: "cloud", Priority: new(int32(10)), Minimum: new(int32(0)), Maximum: new(int32(4))},
		}})
		f.create(ctx)

		_ = settled(ctx, deploymentName("batch", "rack-1"), deploymentName("batch", "cloud-a"))

		rackClass := f.deployments(ctx)[deploymentName("batch", "rack-1")]
		class := f.classes(ctx)[rackClass]
		Expect(class.Provider).To(Equal("hybrid"))
		Expect(class.CredentialsSecretRef).To(Equal(&f.worker.Spec.SecretRef))
		Expect(class.SecretRef).To(Equal(&corev1.SecretReference{Name: rackClass, Namespace: f.worker.Namespace}))
		Expect(class.NodeTemplate.InstanceType).To(Equal("std"))
		Expect(class.NodeTemplate.Region).To(Equal("west"))
		Expect(class.NodeTemplate.Zone).To(Equal("rack-1"))
		Expect(class.NodeTemplate.Architecture).To(PointTo(Equal("amd64")))
		Expect(class.NodeTemplate.Capacity.Cpu().String()).To(Equal("32"))
		Expect(class.NodeTemplate.Capacity.Memory().String()).To(Equal("16Gi"))
		spec, err := codec.Decode[v1alpha1.MachineProviderSpec](&class.ProviderSpec)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.Site).To(Equal("racks"))
		Expect(spec.Shoot).To(Equal(technicalID))
		Expect(toyapi.Of[toyapi.MachineSpec](spec.Blocks).Image).To(Equal("https://images/racks"))

		secret := &corev1.Secret{}
		Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: f.worker.Namespace, Name: rackClass}, secret)).To(Succeed())
		Expect(secret.Data).To(HaveKeyWithValue("userData", BeEquivalentTo("#!/bin/sh")))
		Expect(secret.Labels).To(HaveKeyWithValue("gardener.cloud/purpose", "machineclass"))

		deployment := &machinev1alpha1.MachineDeployment{}
		Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: f.worker.Namespace, Name: deploymentName("batch", "rack-1")},
			deployment)).To(Succeed())
		Expect(deployment.Spec.Template.Spec.NodeTemplateSpec.Labels).To(Equal(map[string]string{
			"team": "a",
			"hybrid.provider.extensions.gardener.cloud/site":     "racks",
			"hybrid.provider.extensions.gardener.cloud/platform": "toy",
			"topology.toy/zone": "raw-rack-1",
		}))

		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(f.worker), f.worker)).To(Succeed())
		Expect(f.worker.Status.MachineDeployments).To(ConsistOf(
			extensionsv1alpha1.MachineDeployment{Name: deploymentName("batch", "rack-1"), Minimum: 2, Maximum: 3, Priority: new(int32(100))},
			extensionsv1alpha1.MachineDeployment{Name: deploymentName("batch", "cloud-a"), Minimum: 0, Maximum: 4, Priority: new(int32(10))},
		))
	})

	It("leaves fields of others alone", func(ctx SpecContext) {
		f.pool("a", "cloud-a")
		f.create(ctx)
		_ = settled(ctx, deploymentName("a", "cloud-a"))
		name := f.deployments(ctx)[deploymentName("a", "cloud-a")]
		for _, obj := range []client.Object{
			&machinev1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.worker.Namespace}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.worker.Namespace}},
		} {
			Expect(apiServer.Patch(ctx, obj, client.RawPatch(types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":["machine.sapcloud.io/machine-controller"],"annotations":{"other":"yes"}}}`)))).To(Succeed())
			DeferCleanup(func(ctx SpecContext) {
				Expect(apiServer.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
			})
		}

		f.profile.MachineTypes[0].Sites[0].Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}
		_ = f.reconcile(ctx, time.Minute, func(g Gomega) {
			class := f.classes(ctx)[name]
			g.Expect(class.NodeTemplate.Capacity.Cpu().String()).To(Equal("8"))
		})

		class := f.classes(ctx)[name]
		Expect(class.Finalizers).To(ConsistOf("machine.sapcloud.io/machine-controller"))
		Expect(class.Annotations).To(HaveKeyWithValue("other", "yes"))
		secret := &corev1.Secret{}
		Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: f.worker.Namespace, Name: name}, secret)).To(Succeed())
		Expect(secret.Finalizers).To(ConsistOf("machine.sapcloud.io/machine-controller"))
	})

	It("rolls no zone when the first of three is removed, and removes that before it waits for the others", func(ctx SpecContext) {
		f.pool("a", "cloud-a", "cloud-b", "cloud-c")
		f.create(ctx)
		_ = settled(ctx, deploymentName("a", "cloud-a"), deploymentName("a", "cloud-b"), deploymentName("a", "cloud-c"))
		before := f.deployments(ctx)

		f.namedPool("a").Zones = []string{"cloud-b", "cloud-c"}
		delete(before, deploymentName("a", "cloud-a"))
		_ = f.reconcile(ctx, time.Minute, func(g Gomega) {
			g.Expect(f.deployments(ctx)).To(Equal(before))
			g.Expect(f.classes(ctx)).To(HaveLen(2))
			g.Expect(f.classSecrets(ctx)).To(HaveLen(2))
		})
	})

	It("keeps a machine class as long as a machine set has it", func(ctx SpecContext) {
		f.pool("a", "cloud-a")
		f.create(ctx)
		_ = settled(ctx, deploymentName("a", "cloud-a"))
		old := f.deployments(ctx)[deploymentName("a", "cloud-a")]
		machineSet := &machinev1alpha1.MachineSet{
			ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: f.worker.Namespace},
			Spec: machinev1alpha1.MachineSetSpec{Template: machinev1alpha1.MachineTemplateSpec{Spec: machinev1alpha1.MachineSpec{
				Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: old},
			}}},
		}
		Expect(apiServer.Create(ctx, machineSet)).To(Succeed())

		f.namedPool("a").NodeAgentSecretName = new("gardener-node-agent-other")
		rolled := func(g Gomega) {
			g.Expect(f.deployments(ctx)).To(HaveKeyWithValue(deploymentName("a", "cloud-a"), Not(Equal(old))))
		}
		_ = f.reconcile(ctx, time.Minute, rolled)
		Expect(f.classes(ctx)).To(And(HaveLen(2), HaveKey(old)))
		Expect(f.classSecrets(ctx)).To(ContainElement(old))

		Expect(apiServer.Delete(ctx, machineSet)).To(Succeed())
		_ = f.reconcile(ctx, time.Minute, func(g Gomega) {
			g.Expect(f.classes(ctx)).NotTo(HaveKey(old))
			g.Expect(f.classSecrets(ctx)).NotTo(ContainElement(old))
		})
	})

	DescribeTable("a site that cannot be resolved keeps what it has, and the pools of another site are created, rolled and removed",
		func(ctx SpecContext, breakSite func(), timeout time.Duration, message string, codes ...gardencorev1beta1.ErrorCode) {
			nodeAgentSecret := func(name string) map[string]string {
				return map[string]string{v1beta1constants.LabelWorkerPoolGardenerNodeAgentSecretName: name}
			}
			f.pool("span", "rack-1", "cloud-a").Labels = nodeAgentSecret("gardener-node-agent-span")
			f.pool("rolled", "cloud-b")
			f.pool("removed", "cloud-c")
			f.create(ctx)
			_ = settled(ctx, deploymentName("span", "rack-1"), deploymentName("span", "cloud-a"), deploymentName("rolled", "cloud-b"),
				deploymentName("removed", "cloud-c"))
			before := f.deployments(ctx)
			kept := before[deploymentName("span", "rack-1")]

			breakSite()
			f.namedPool("span").NodeAgentSecretName = new("gardener-node-agent-new")
			f.namedPool("rolled").NodeAgentSecretName = new("gardener-node-agent-new")
			f.namedPool("span").Labels = nodeAgentSecret("gardener-node-agent-new")
			f.namedPool("span").Labels["colour"] = "red"
			f.removePool("removed")
			f.pool("new", "cloud-c", "rack-1")
			nodeLabels := func(zone string) map[string]string {
				deployment := &machinev1alpha1.MachineDeployment{}
				Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: f.worker.Namespace, Name: deploymentName("span", zone)},
					deployment)).To(Succeed())
				return deployment.Spec.Template.Spec.NodeTemplateSpec.Labels
			}
			err := f.reconcile(ctx, timeout, func(g Gomega) {
				now := f.deployments(ctx)
				g.Expect(now).To(HaveLen(4))
				g.Expect(now).To(HaveKeyWithValue(deploymentName("span", "rack-1"), kept), "is kept")
				g.Expect(nodeLabels("rack-1")).To(HaveKeyWithValue("colour", "red"), "is kept with new labels")
				g.Expect(now).To(HaveKeyWithValue(deploymentName("span", "cloud-a"), Not(Equal(before[deploymentName("span", "cloud-a")]))),
					"is rolled")
				g.Expect(now).To(HaveKeyWithValue(deploymentName("rolled", "cloud-b"), Not(Equal(before[deploymentName("rolled", "cloud-b")]))),
					"is rolled")
				g.Expect(now).To(HaveKey(deploymentName("new", "cloud-c")), "is created")
			})

			Expect(f.classes(ctx)).To(HaveKey(kept))
			Expect(f.classSecrets(ctx)).To(ContainElement(kept))
			Expect(nodeLabels("rack-1")).To(And(
				HaveKeyWithValue("colour", "red"), HaveKeyWithValue(v1alpha1.LabelSite, "racks"), HaveKeyWithValue(v1alpha1.LabelPlatform, "toy"),
				HaveKeyWithValue(v1beta1constants.LabelWorkerPoolGardenerNodeAgentSecretName, "gardener-node-agent-span")))
			Expect(nodeLabels("cloud-a")).To(And(
				HaveKeyWithValue("colour", "red"),
				HaveKeyWithValue(v1beta1constants.LabelWorkerPoolGardenerNodeAgentSecretName, "gardener-node-agent-new")))

			Expect(err).To(MatchError(And(
				ContainSubstring(`pool "span" in zone "rack-1" keeps its machine class: `),
				ContainSubstring(`pool "new" in zone "rack-1" has no machines yet: `),
				ContainSubstring(message),
			)))
			Expect(v1beta1helper.ExtractErrorCodes(err)).To(HaveExactElements(codes))
			Eventually(f.warnings).WithContext(ctx).WithArguments(reasonUnresolved).WithTimeout(10 * time.Second).Should(ConsistOf(
				And(HavePrefix(`Pool "span" in zone "rack-1" keeps machine class `+kept+`: `), ContainSubstring(message)),
				And(HavePrefix(`Pool "new" in zone "rack-1" has no machines yet: `), ContainSubstring(message)),
			))
		},
		Entry("because it refuses the credentials",
			func() { f.cloud.Fail("racks", platform.NewError(platform.ClassUnauthenticated, "401")) },
			time.Minute, `site "racks": 401`, gardencorev1beta1.ErrorInfraUnauthenticated),
		Entry("because it hangs", func() { DeferCleanup(f.cloud.Hang("racks")) }, time.Second, `site "racks": no answer`),
		Entry("because its image is missing",
			func() {
				flavor := &f.profile.MachineImages[0].Versions[0].CapabilityFlavors[0]
				flavor.Sites = flavor.Sites[:1]
				f.worker.Status.ProviderStatus = nil
			},
			time.Minute, `site "racks": neither the CloudProfile nor the status of the Worker has machine image "linux"`,
			gardencorev1beta1.ErrorConfigurationProblem),
		Entry("because its machine type is missing",
			func() { f.profile.MachineTypes[0].Sites = f.profile.MachineTypes[0].Sites[:1] },
			time.Minute, `site "racks": the CloudProfile does not have machine type "std"`, gardencorev1beta1.ErrorConfigurationProblem),
		Entry("because its infrastructure is not ready",
			func() { f.status.Sites = f.status.Sites[:1] },
			time.Minute, `site "racks": the infrastructure of the site is not ready`),
		Entry("because the shoot does not list it any more",
			func() { f.config.Sites = f.config.Sites[:1] },
			time.Minute, `site "racks": the infrastructureConfig of the Shoot does not list the site`, gardencorev1beta1.ErrorConfigurationProblem),
		Entry("because the CloudProfile dropped its zone",
			func() { f.profile.Sites[1].Zones = nil },
			time.Minute, `no site in region "west" of the CloudProfile has the zone`, gardencorev1beta1.ErrorConfigurationProblem),
	)

	It("resolves images that only the status of the Worker has", func(ctx SpecContext) {
		f.pool("a", "cloud-a")
		f.create(ctx)
		_ = settled(ctx, deploymentName("a", "cloud-a"))
		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(f.worker), f.worker)).To(Succeed())
		Expect(f.worker.Status.ProviderStatus).NotTo(BeNil())

		f.profile.MachineImages = nil
		f.pool("b", "cloud-b")
		_ = settled(ctx, deploymentName("a", "cloud-a"), deploymentName("b", "cloud-b"))
		class := f.classes(ctx)[f.deployments(ctx)[deploymentName("b", "cloud-b")]]
		spec, err := codec.Decode[v1alpha1.MachineProviderSpec](&class.ProviderSpec)
		Expect(err).NotTo(HaveOccurred())
		Expect(toyapi.Of[toyapi.MachineSpec](spec.Blocks).Image).To(Equal("https://images/cloud"))
	})

	It("succeeds when all machines are available and tells how many failed ones may be preserved", func(ctx SpecContext) {
		pool := f.pool("a", "cloud-a", "cloud-b")
		pool.MachineControllerManagerSettings = &gardencorev1beta1.MachineControllerManagerSettings{AutoPreserveFailedMachineMax: new(int32(3))}
		f.create(ctx)
		stop := f.playMachineControllerManager()
		defer stop()

		w := f.worker.DeepCopy()
		Expect(f.actuator(time.Minute).Reconcile(ctx, logr.Discard(), w, f.cluster)).To(Succeed())

		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(f.worker), f.worker)).To(Succeed())
		Expect(f.worker.Status.MachineDeployments).To(HaveExactElements(
			HaveField("AutoPreserveFailedMachineMax", PointTo(BeEquivalentTo(2))),
			HaveField("AutoPreserveFailedMachineMax", PointTo(BeEquivalentTo(1))),
		))
	})

	Describe("Delete", func() {
		It("succeeds if nothing was ever created because no site could be resolved", func(ctx SpecContext) {
			f.pool("a", "cloud-a")
			f.cloud.Fail("cloud", platform.NewError(platform.ClassUnauthenticated, "401"))
			f.create(ctx)

			Expect(f.actuator(time.Minute).Delete(ctx, logr.Discard(), f.worker, f.cluster)).To(Succeed())
		})

		It("deletes everything although a site cannot be resolved", func(ctx SpecContext) {
			f.pool("a", "cloud-a", "rack-1")
			f.create(ctx)
			_ = settled(ctx, deploymentName("a", "cloud-a"), deploymentName("a", "rack-1"))
			Expect(apiServer.Patch(ctx, f.secret, client.RawPatch(types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":["machine.sapcloud.io/machine-controller"]}}`)))).To(Succeed())
			f.cloud.Fail("racks", platform.NewError(platform.ClassTransient, "503"))

			done := make(chan error, 1)
			go func() {
				done <- f.actuator(time.Minute).Delete(ctx, logr.Discard(), f.worker, f.cluster)
			}()
			Eventually(func(g Gomega) {
				g.Expect(f.deployments(ctx)).To(BeEmpty())
				g.Expect(f.classes(ctx)).To(BeEmpty())
				g.Expect(f.classSecrets(ctx)).To(BeEmpty())
			}).WithTimeout(20 * time.Second).Should(Succeed())
			Expect(apiServer.Patch(ctx, f.secret, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
			Eventually(done).WithTimeout(20 * time.Second).Should(Receive(Succeed()))
		})
	})

	It("restores the machines that the Worker had in another seed", func(ctx SpecContext) {
		f.pool("a", "cloud-a")
		f.create(ctx)
		name, former := deploymentName("a", "cloud-a"), machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: "former"}
		set := machinev1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "set", Namespace: f.worker.Namespace}}
		set.Spec.Template.Spec.Class = former
		deployments := map[string]*shootstate.MachineDeploymentState{name: {
			Replicas:    2,
			MachineSets: []machinev1alpha1.MachineSet{set},
			Machines: []machinev1alpha1.Machine{{
				ObjectMeta: metav1.ObjectMeta{Name: "machine", Namespace: f.worker.Namespace},
				Spec:       machinev1alpha1.MachineSpec{ProviderID: "toy:///cloud/machine", Class: former},
			}},
		}}
		state, err := shootstate.MarshalMachineState(&shootstate.MachineState{MachineDeployments: deployments})
		Expect(err).NotTo(HaveOccurred())
		f.worker.Status.State = &runtime.RawExtension{Raw: state}

		restoring, cancel := context.WithCancel(ctx)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			done <- f.actuator(time.Minute).Restore(restoring, logr.Discard(), f.worker, f.cluster)
		}()
		Eventually(func(g Gomega) {
			machine := &machinev1alpha1.Machine{}
			g.Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: f.worker.Namespace, Name: "machine"}, machine)).To(Succeed())
			g.Expect(machine.Spec.ProviderID).To(Equal("toy:///cloud/machine"))
			deployment := &machinev1alpha1.MachineDeployment{}
			g.Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: f.worker.Namespace, Name: name}, deployment)).To(Succeed())
			g.Expect(deployment.Spec.Replicas).To(BeEquivalentTo(2))
			g.Expect(f.classes(ctx)).To(HaveKey(deployment.Spec.Template.Spec.Class.Name))
			class := f.classes(ctx)[former.Name]
			g.Expect(class.ProviderSpec).To(Equal(f.classes(ctx)[deployment.Spec.Template.Spec.Class.Name].ProviderSpec),
				"the class that only machines have")
			g.Expect(class.SecretRef.Name).To(Equal(former.Name))
			g.Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: f.worker.Namespace, Name: former.Name}, &corev1.Secret{})).To(Succeed())
		}).WithTimeout(20 * time.Second).Should(Succeed())
		cancel()
		<-done
	})

	It("restores nothing of a zone that was given to another site: its machines would be looked for where they are not",
		func(ctx SpecContext) {
			f.pool("a", "cloud-a")
			f.create(ctx)
			moved := machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "machine", Namespace: f.worker.Namespace}}
			moved.Spec.Class, moved.Spec.NodeTemplateSpec.Labels = machinev1alpha1.ClassSpec{Kind: "MachineClass",
				Name: "former"}, map[string]string{v1alpha1.LabelSite: "racks"}
			state, err := shootstate.MarshalMachineState(&shootstate.MachineState{MachineDeployments: map[string]*shootstate.MachineDeploymentState{
				deploymentName("a", "cloud-a"): {Replicas: 1, Machines: []machinev1alpha1.Machine{moved}}}})
			Expect(err).NotTo(HaveOccurred())
			f.worker.Status.State = &runtime.RawExtension{Raw: state}
			Expect(f.actuator(time.Minute).Restore(ctx, logr.Discard(), f.worker, f.cluster)).To(MatchError(ContainSubstring(
				`site "cloud": the zone has machines to be restored on sites ["racks"]`)))
			Expect(f.classes(ctx)).To(BeEmpty())
			Expect(f.deployments(ctx)).To(BeEmpty())
		})

	It("restores nothing as long as a site cannot be resolved", func(ctx SpecContext) {
		f.pool("a", "cloud-a", "rack-1")
		f.create(ctx)
		f.cloud.Fail("racks", platform.NewError(platform.ClassTransient, "503"))

		err := f.actuator(time.Minute).Restore(ctx, logr.Discard(), f.worker, f.cluster)
		Expect(err).To(MatchError(ContainSubstring(`site "racks": 503`)))
		Expect(f.deployments(ctx)).To(BeEmpty())
		Expect(f.classes(ctx)).To(BeEmpty())
	})
})

// playMachineControllerManager lets all machine deployments of the Worker's namespace become available.
func (f *fixture) playMachineControllerManager() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	namespace := f.worker.Namespace
	go func() {
		defer close(done)
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				bringUp(ctx, namespace)
			}
		}
	}()
	return func() { cancel(); <-done }
}

func bringUp(ctx context.Context, namespace string) {
	list := &machinev1alpha1.MachineDeploymentList{}
	if err := apiServer.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return
	}
	for i := range list.Items {
		deployment := &list.Items[i]
		machineSet := &machinev1alpha1.MachineSet{
			ObjectMeta: metav1.ObjectMeta{
				Name: deployment.Name, Namespace: deployment.Namespace,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "MachineDeployment", Name: deployment.Name,
					UID: deployment.UID}},
			},
			Spec: machinev1alpha1.MachineSetSpec{Template: deployment.Spec.Template},
		}
		template, owners := machineSet.Spec.Template, machineSet.OwnerReferences
		_, _ = controllerutil.CreateOrUpdate(ctx, apiServer, machineSet, func() error {
			machineSet.Spec.Template, machineSet.OwnerReferences = template, owners
			return nil
		})
		patch := client.MergeFrom(deployment.DeepCopy())
		deployment.Status = machinev1alpha1.MachineDeploymentStatus{
			ObservedGeneration: deployment.Generation,
			Replicas:           deployment.Spec.Replicas,
			UpdatedReplicas:    deployment.Spec.Replicas,
			ReadyReplicas:      deployment.Spec.Replicas,
			AvailableReplicas:  deployment.Spec.Replicas,
			Conditions: []machinev1alpha1.MachineDeploymentCondition{{Type: machinev1alpha1.MachineDeploymentAvailable,
				Status: machinev1alpha1.ConditionTrue}},
		}
		_ = apiServer.Status().Patch(ctx, deployment, patch)
	}
}
