// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package threeplatforms_test

import (
	"context"
	"maps"
	"sync"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/gardener/shootstate"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

func moveSpecs() {
	It("should keep the hosts when the shoot moves to another seed", func(ctx SpecContext) {
		before, used := specs.Identities(ctx, mixed(), ""), inventory.Journal.Uses
		uses := map[string]int{}
		hosts := consumers(ctx)
		for host := range hosts {
			uses[host] = len(used(host))
		}
		Expect(hosts).To(HaveLen(2))

		local.Seed.MCM.Stop(ctx)
		local.Seed.Driver.Stop(ctx)
		w := worker(ctx)
		infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: local.Name}}
		state := machineState(ctx)
		machines, err := local.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		deployments := &machinev1alpha1.MachineDeploymentList{}
		Expect(local.Seed.Client.List(ctx, deployments, client.InNamespace(local.Name))).To(Succeed())
		for _, object := range []extensionsv1alpha1.Object{w, infrastructure} {
			operate(ctx, object, v1beta1constants.GardenerOperationMigrate)
		}
		infrastructureState := infrastructure.Status.State
		forget(ctx)
		for _, object := range []extensionsv1alpha1.Object{w, infrastructure} {
			Expect(local.Delete(ctx, object)).To(Succeed())
		}
		local.Seed.Extension.Stop(ctx)
		Expect(local.Seed.Extension.Start()).To(Succeed())

		restored := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: local.Name},
			Spec: infrastructure.Spec}
		restore(ctx, restored, infrastructureState)
		moved := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: local.Name}, Spec: w.Spec}
		moved.Spec.InfrastructureProviderStatus = restored.Status.ProviderStatus
		var group sync.WaitGroup
		group.Go(func() {
			defer GinkgoRecover()
			restore(ctx, moved, &runtime.RawExtension{Raw: state})
		})
		// Gardener starts machine-controller-manager when all machines are restored, too: it would make those that it does not see yet.
		Eventually(func(g Gomega) {
			found := &machinev1alpha1.MachineDeploymentList{}
			g.Expect(local.Seed.Client.List(ctx, found, client.InNamespace(local.Name))).To(Succeed())
			g.Expect(found.Items).To(HaveLen(len(deployments.Items)))
			g.Expect(local.Machines(ctx)).To(HaveLen(len(machines)))
		}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(100 * time.Millisecond).Should(Succeed())
		Expect(local.Seed.MCM.Start()).To(Succeed())
		Expect(local.Seed.Driver.Start()).To(Succeed())
		group.Wait()

		specs.ExpectRunning(ctx, mixed(), "", len(before), inTime)
		Expect(specs.Identities(ctx, mixed(), "")).To(Equal(before))
		Expect(consumers(ctx)).To(Equal(hosts))
		unused, err := local.Seed.UnusedPermissions()
		Expect(err).NotTo(HaveOccurred())
		Expect(rbacaudit.Moves.Missing(unused)).To(BeEmpty())
		for host := range hosts {
			Expect(used(host)).To(HaveLen(uses[host]), "nobody else had %s meanwhile", host)
		}
	}, SpecTimeout(10*time.Minute))
}

// machineState is what gardenlet saves of the machines before the shoot moves.
func machineState(ctx context.Context) []byte {
	GinkgoHelper()
	deployments, sets := &machinev1alpha1.MachineDeploymentList{}, &machinev1alpha1.MachineSetList{}
	Expect(local.Seed.Client.List(ctx, deployments, client.InNamespace(local.Name))).To(Succeed())
	Expect(local.Seed.Client.List(ctx, sets, client.InNamespace(local.Name))).To(Succeed())
	all, err := local.Machines(ctx)
	Expect(err).NotTo(HaveOccurred())
	state := &shootstate.MachineState{MachineDeployments: map[string]*shootstate.MachineDeploymentState{}}
	for _, d := range deployments.Items {
		saved := &shootstate.MachineDeploymentState{Replicas: d.Spec.Replicas}
		for _, set := range sets.Items {
			if metav1.IsControlledBy(&set, &d) {
				for _, m := range all {
					if metav1.IsControlledBy(&m, &set) {
						m.ObjectMeta = kept(m.ObjectMeta)
						saved.Machines = append(saved.Machines, m)
					}
				}
				set.ObjectMeta = kept(set.ObjectMeta)
				saved.MachineSets = append(saved.MachineSets, set)
			}
		}
		state.MachineDeployments[d.Name] = saved
	}
	content, err := shootstate.MarshalMachineState(state)
	Expect(err).NotTo(HaveOccurred())
	return content
}

// kept is what gardenlet saves of an object's metadata.
func kept(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, Annotations: m.Annotations, Labels: m.Labels}
}

// forget removes the objects of the machines and not the machines, as gardenlet does.
func forget(ctx context.Context) {
	GinkgoHelper()
	for _, list := range []client.ObjectList{
		&machinev1alpha1.MachineDeploymentList{}, &machinev1alpha1.MachineSetList{}, &machinev1alpha1.MachineList{},
		&machinev1alpha1.MachineClassList{},
	} {
		Expect(local.Seed.Client.List(ctx, list, client.InNamespace(local.Name))).To(Succeed())
		Expect(meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			before := object.DeepCopyObject().(client.Object)
			object.SetFinalizers(nil)
			if err := local.Seed.Client.Patch(ctx, object, client.MergeFrom(before)); err != nil {
				return client.IgnoreNotFound(err)
			}
			return client.IgnoreNotFound(local.Seed.Client.Delete(ctx, object))
		})).To(Succeed())
	}
}

// operate sets an operation annotation and waits until the operation has succeeded.
func operate(ctx context.Context, object extensionsv1alpha1.Object, operation string) {
	GinkgoHelper()
	Expect(local.Seed.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopyObject().(client.Object)
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1beta1constants.GardenerOperation] = operation
	object.SetAnnotations(annotations)
	since := time.Now()
	Expect(local.Seed.Client.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
	Expect(local.Reconciled(ctx, object, since)).To(Succeed())
}

// restore creates an object with its state, as gardenlet does in the other seed, and waits until it is restored.
func restore(ctx context.Context, object extensionsv1alpha1.Object, state *runtime.RawExtension) {
	GinkgoHelper()
	object.SetAnnotations(map[string]string{v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationWaitForState})
	Expect(local.Seed.Client.Create(ctx, object)).To(Succeed())
	before := object.DeepCopyObject().(client.Object)
	object.GetExtensionStatus().SetState(state)
	Expect(local.Seed.Client.Status().Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
	operate(ctx, object, v1beta1constants.GardenerOperationRestore)
}
