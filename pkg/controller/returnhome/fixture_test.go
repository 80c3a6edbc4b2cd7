// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package returnhome

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const namespace, home, away = "shoot--p--s", "burst-racks", "burst-cloud"

// start is within the window of the fixture, which is from 22:00 to 23:00 UTC.
var start = time.Date(2026, 3, 1, 22, 10, 0, 0, time.UTC)

// fixture is a shoot with a pool that has two of three machines at the site racks, which is preferred, and two machines at the site cloud.
type fixture struct {
	client.Client
	clock    *testclock.FakeClock
	recorder *events.FakeRecorder
	created  int
	// failPatch is the number of the next patch that fails, counted from 1.
	failPatch int
}

func newFixture(ctx context.Context) *fixture {
	GinkgoHelper()
	f := &fixture{clock: testclock.NewFakeClock(start.Add(-time.Hour)), recorder: events.NewFakeRecorder(20)}
	f.Client = fakeclient.NewClientBuilder().WithScheme(landscape.Scheme).WithStatusSubresource(&extensionsv1alpha1.Worker{},
		&extensionsv1alpha1.Infrastructure{}).WithInterceptorFuncs(interceptor.Funcs{Patch: func(ctx context.Context,
		c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
		if f.failPatch--; f.failPatch == 0 {
			return fmt.Errorf("no patch of %s", object.GetName())
		}
		return c.Patch(ctx, object, patch, opts...)
	}}).Build()

	shoot := &gardencorev1beta1.Shoot{TypeMeta: metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Shoot"}}
	shoot.Spec.Maintenance = &gardencorev1beta1.Maintenance{
		TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{Begin: "220000+0000", End: "230000+0000"}}
	Expect(f.Create(ctx, &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: extensionsv1alpha1.ClusterSpec{Shoot: encodeShoot(shoot)}})).To(Succeed())
	Expect(f.Create(ctx, &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}})).To(Succeed())

	worker := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}}
	worker.Spec.Pools = []extensionsv1alpha1.WorkerPool{{Name: "burst", Maximum: 6}}
	worker.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeReconcile,
		State: gardencorev1beta1.LastOperationStateSucceeded}
	worker.Status.MachineDeployments = []extensionsv1alpha1.MachineDeployment{
		{Name: away, Minimum: 0, Maximum: 6, Priority: new(int32(10))}, {Name: home, Minimum: 1, Maximum: 4, Priority: new(int32(100))},
	}
	Expect(f.Create(ctx, worker)).To(Succeed())
	f.configure(ctx, &v1alpha1.ReturnHome{})
	for name, site := range map[string]string{home: "racks", away: "cloud"} {
		Expect(f.Create(ctx, &machinev1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})).To(Succeed())
		d := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels: map[string]string{"worker.gardener.cloud/pool": "burst"}}}
		d.Spec.Template.Spec.Class.Name = name
		d.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: site}
		d.Spec.Template.Spec.MachineConfiguration = &machinev1alpha1.MachineConfiguration{
			MachineCreationTimeout: &metav1.Duration{Duration: 15 * time.Minute}}
		Expect(f.Create(ctx, d)).To(Succeed())
		f.scale(ctx, name, 2)
		f.runMachines(ctx, name)
	}
	f.clock.SetTime(start)
	return f
}

func encodeShoot(shoot *gardencorev1beta1.Shoot) runtime.RawExtension {
	GinkgoHelper()
	raw, err := json.Marshal(shoot)
	Expect(err).NotTo(HaveOccurred())
	return runtime.RawExtension{Raw: raw}
}

// configure sets the returnHome of the pool.
func (f *fixture) configure(ctx context.Context, config *v1alpha1.ReturnHome) {
	GinkgoHelper()
	raw, err := codec.Encode(&v1alpha1.WorkerConfig{ReturnHome: config})
	Expect(err).NotTo(HaveOccurred())
	f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) { w.Spec.Pools[0].ProviderConfig = raw })
}

func (f *fixture) changeWorker(ctx context.Context, change func(*extensionsv1alpha1.Worker)) {
	GinkgoHelper()
	worker := &extensionsv1alpha1.Worker{}
	Expect(f.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "s"}, worker)).To(Succeed())
	change(worker)
	status := worker.Status.DeepCopy()
	Expect(f.Update(ctx, worker)).To(Succeed())
	worker.Status = *status
	Expect(f.Status().Update(ctx, worker)).To(Succeed())
}

func (f *fixture) changeShoot(ctx context.Context, change func(*gardencorev1beta1.Shoot)) {
	GinkgoHelper()
	cluster, shoot := &extensionsv1alpha1.Cluster{}, &gardencorev1beta1.Shoot{}
	Expect(f.Get(ctx, client.ObjectKey{Name: namespace}, cluster)).To(Succeed())
	Expect(json.Unmarshal(cluster.Spec.Shoot.Raw, shoot)).To(Succeed())
	change(shoot)
	cluster.Spec.Shoot = encodeShoot(shoot)
	Expect(f.Update(ctx, cluster)).To(Succeed())
}

// setCondition sets a condition of the Infrastructure.
func (f *fixture) setCondition(ctx context.Context, name, reason string, status gardencorev1beta1.ConditionStatus) {
	GinkgoHelper()
	infra := &extensionsv1alpha1.Infrastructure{}
	Expect(f.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "s"}, infra)).To(Succeed())
	infra.Status.Conditions = v1beta1helper.MergeConditions(infra.Status.Conditions, gardencorev1beta1.Condition{
		Type: gardencorev1beta1.ConditionType(name), Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(start)})
	Expect(f.Status().Update(ctx, infra)).To(Succeed())
}

func (f *fixture) deployment(ctx context.Context, name string) *machinev1alpha1.MachineDeployment {
	GinkgoHelper()
	d := &machinev1alpha1.MachineDeployment{}
	Expect(f.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, d)).To(Succeed())
	return d
}

func (f *fixture) change(ctx context.Context, name string, change func(*machinev1alpha1.MachineDeployment)) {
	GinkgoHelper()
	d := f.deployment(ctx, name)
	change(d)
	Expect(f.Update(ctx, d)).To(Succeed())
}

func (f *fixture) replicas(ctx context.Context) (atHome, atAway int32) {
	GinkgoHelper()
	return f.deployment(ctx, home).Spec.Replicas, f.deployment(ctx, away).Spec.Replicas
}

// machines returns the machines of the machine deployment, the oldest first.
func (f *fixture) machines(ctx context.Context, deployment string) []machinev1alpha1.Machine {
	GinkgoHelper()
	list := &machinev1alpha1.MachineList{}
	Expect(f.List(ctx, list, client.MatchingLabels{"name": deployment})).To(Succeed())
	return list.Items
}

// scale does what the cluster-autoscaler and machine-controller-manager do when machines are needed.
func (f *fixture) scale(ctx context.Context, name string, by int32) {
	GinkgoHelper()
	f.change(ctx, name, func(d *machinev1alpha1.MachineDeployment) { d.Spec.Replicas += by })
	f.sync(ctx, name)
}

// sync does what machine-controller-manager does: it creates missing machines, and deletes those that are named.
func (f *fixture) sync(ctx context.Context, name string) {
	GinkgoHelper()
	d := f.deployment(ctx, name)
	machines := f.machines(ctx, name)
	for i := range machines {
		if machines[i].Name+"~"+d.Annotations["machine.sapcloud.io/last-deployment-replica-change-by-scaler-time"] ==
			d.Annotations["node.machine.sapcloud.io/trigger-deletion-by-mcm"] {
			Expect(f.Delete(ctx, &machines[i])).To(Succeed())
		}
	}
	f.change(ctx, name, func(d *machinev1alpha1.MachineDeployment) {
		delete(d.Annotations, "node.machine.sapcloud.io/trigger-deletion-by-mcm")
	})
	for missing := int(d.Spec.Replicas) - len(f.machines(ctx, name)); missing > 0; missing-- {
		f.created++
		m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%02d", name, f.created),
			Labels: map[string]string{"name": name}, CreationTimestamp: metav1.NewTime(f.clock.Now().Add(time.Duration(f.created) * time.Second))}}
		m.Spec.Class = d.Spec.Template.Spec.Class
		m.Status.CurrentStatus.Phase = machinev1alpha1.MachinePending
		Expect(f.Create(ctx, m)).To(Succeed())
	}
	Expect(f.machines(ctx, name)).To(HaveLen(int(d.Spec.Replicas)))
}

// runMachines lets all machines of the machine deployment run.
func (f *fixture) runMachines(ctx context.Context, name string) {
	GinkgoHelper()
	for _, m := range f.machines(ctx, name) {
		f.setPhase(ctx, m, machinev1alpha1.MachineRunning)
	}
}

func (f *fixture) setPhase(ctx context.Context, m machinev1alpha1.Machine, phase machinev1alpha1.MachinePhase) {
	GinkgoHelper()
	m.Status.CurrentStatus.Phase = phase
	Expect(f.Update(ctx, &m)).To(Succeed())
}

// exhaust lets the creation of the newest machine of the machine deployment fail.
func (f *fixture) exhaust(ctx context.Context, name string) machinev1alpha1.Machine {
	GinkgoHelper()
	machines := f.machines(ctx, name)
	m := machines[len(machines)-1]
	m.Status.CurrentStatus.Phase = machinev1alpha1.MachineCrashLoopBackOff
	m.Status.LastOperation = machinev1alpha1.LastOperation{Type: machinev1alpha1.MachineOperationCreate,
		State: machinev1alpha1.MachineStateFailed, ErrorCode: codes.ResourceExhausted.String(), Description: "no free host"}
	Expect(f.Update(ctx, &m)).To(Succeed())
	return m
}

// tryReconcile reconciles with a new reconciler, which remembers nothing.
func (f *fixture) tryReconcile(ctx context.Context) (reconcile.Result, error) {
	r := &reconciler{client: f.Client, events: eventnote.Writer{EventRecorder: f.recorder}, clock: f.clock}
	return r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: "s"}})
}

func (f *fixture) reconcile(ctx context.Context) reconcile.Result {
	GinkgoHelper()
	result, err := f.tryReconcile(ctx)
	Expect(err).NotTo(HaveOccurred())
	return result
}

// moveOne lets one machine move, and the other controllers follow.
func (f *fixture) moveOne(ctx context.Context) {
	GinkgoHelper()
	f.reconcile(ctx)
	f.sync(ctx, home)
	f.runMachines(ctx, home)
	f.reconcile(ctx)
	f.sync(ctx, away)
}
