// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler_test

import (
	"slices"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const poolLabel = "worker.gardener.cloud/pool"

// share is a machine deployment, with the part of the site that the spec plays.
type share struct {
	name             string
	minimum, maximum int32
	priority         *int32
	pool             string
	capacity         corev1.ResourceList
	virtual          corev1.ResourceList
	// servers is how many machines the site has room for.
	servers int
	// fails is the code of the others. Default: ResourceExhausted.
	fails codes.Code
}

// create makes the Worker, the deployments and their classes; they end with the spec.
func create(ctx SpecContext, worker string, shares ...*share) {
	GinkgoHelper()
	object := &extensionsv1alpha1.Worker{
		ObjectMeta: metav1.ObjectMeta{Name: worker, Namespace: namespace},
		Spec: extensionsv1alpha1.WorkerSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "hybrid"},
			Pools: []extensionsv1alpha1.WorkerPool{}},
	}
	Expect(seed.Client.Create(ctx, object)).To(Succeed())
	for _, s := range shares {
		object.Status.MachineDeployments = append(object.Status.MachineDeployments, extensionsv1alpha1.MachineDeployment{
			Name: s.name, Minimum: s.minimum, Maximum: s.maximum, Priority: s.priority,
		})
		Expect(seed.Client.Create(ctx, s.class())).To(Succeed())
		Expect(seed.Client.Create(ctx, s.deployment())).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(seed.Client.Delete(ctx, s.deployment())).To(Succeed()) })
	}
	Expect(seed.Client.Status().Update(ctx, object)).To(Succeed())
}

func (s *share) class() *machinev1alpha1.MachineClass {
	capacity := s.capacity
	if capacity == nil {
		capacity = corev1.ResourceList{}
	}
	return &machinev1alpha1.MachineClass{
		ObjectMeta:   metav1.ObjectMeta{Name: s.name, Namespace: namespace},
		ProviderSpec: runtime.RawExtension{Raw: []byte("{}")},
		NodeTemplate: &machinev1alpha1.NodeTemplate{Capacity: capacity, VirtualCapacity: s.virtual, InstanceType: "small"},
	}
}

func (s *share) deployment() *machinev1alpha1.MachineDeployment {
	labels, surge, unavailable := map[string]string{"name": s.name}, intstr.FromInt32(1), intstr.FromInt32(0)
	return &machinev1alpha1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: namespace, Labels: labels},
		Spec: machinev1alpha1.MachineDeploymentSpec{
			Replicas: s.minimum,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: machinev1alpha1.MachineDeploymentStrategy{
				Type: machinev1alpha1.RollingUpdateMachineDeploymentStrategyType,
				RollingUpdate: &machinev1alpha1.RollingUpdateMachineDeployment{
					UpdateConfiguration: machinev1alpha1.UpdateConfiguration{MaxSurge: &surge, MaxUnavailable: &unavailable},
				},
			},
			Template: machinev1alpha1.MachineTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: machinev1alpha1.MachineSpec{
					Class:            machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: s.name},
					NodeTemplateSpec: machinev1alpha1.NodeTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{poolLabel: s.pool}}},
				},
			},
		},
	}
}

// replicas is how many machines are wanted.
func (s *share) replicas(ctx SpecContext) int32 {
	GinkgoHelper()
	deployment := &machinev1alpha1.MachineDeployment{}
	Expect(seed.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: s.name}, deployment)).To(Succeed())
	return deployment.Spec.Replicas
}

// machines are the machines that are there.
func (s *share) machines(ctx SpecContext) []machinev1alpha1.Machine {
	GinkgoHelper()
	list := &machinev1alpha1.MachineList{}
	Expect(seed.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"name": s.name})).To(Succeed())
	return list.Items
}

// running are the names of the machines that the site has room for.
func (s *share) running(ctx SpecContext) []string {
	GinkgoHelper()
	var names []string
	for _, m := range s.machines(ctx) {
		if m.Status.CurrentStatus.Phase == machinev1alpha1.MachineRunning {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// settle waits until there are as many machines as are wanted, with which machine-controller-manager agrees, and all of them were
// created or not, which this plays.
func (s *share) settle(ctx SpecContext) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		machines := s.machines(ctx)
		free := s.servers - len(s.running(ctx))
		for _, m := range machines {
			if m.Status.CurrentStatus.Phase == machinev1alpha1.MachineRunning || m.Status.LastOperation.State == machinev1alpha1.MachineStateFailed {
				continue
			}
			g.Expect(s.play(ctx, m, free > 0)).To(Succeed())
			free--
		}
		wanted := s.replicas(ctx)
		g.Expect(machines).To(HaveLen(int(wanted)))
		sets := &machinev1alpha1.MachineSetList{}
		g.Expect(seed.Client.List(ctx, sets, client.InNamespace(namespace), client.MatchingLabels{"name": s.name})).To(Succeed())
		for _, set := range sets.Items {
			g.Expect(set.Spec.Replicas).To(Equal(wanted))
			g.Expect(set.Status).To(And(HaveField("Replicas", wanted), HaveField("ObservedGeneration", set.Generation)))
		}
	}).WithContext(ctx).Within(30 * time.Second).ProbeEvery(100 * time.Millisecond).Should(Succeed())
}

// play does to a new machine what the machine controller does.
func (s *share) play(ctx SpecContext, m machinev1alpha1.Machine, created bool) error {
	status := machinev1alpha1.MachineStatus{
		CurrentStatus: machinev1alpha1.CurrentStatus{Phase: machinev1alpha1.MachineRunning},
		LastOperation: machinev1alpha1.LastOperation{Type: machinev1alpha1.MachineOperationCreate, State: machinev1alpha1.MachineStateSuccessful},
	}
	if !created {
		code := codes.ResourceExhausted
		if s.fails != codes.OK {
			code = s.fails
		}
		status.CurrentStatus.Phase = machinev1alpha1.MachineCrashLoopBackOff
		status.LastOperation.State, status.LastOperation.ErrorCode = machinev1alpha1.MachineStateFailed, code.String()
		status.LastOperation.Description = "no host is free"
	}
	m.Status = status
	return seed.Client.Status().Update(ctx, &m)
}
