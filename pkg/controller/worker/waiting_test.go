// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardenworker "github.com/gardener/gardener/extensions/pkg/controller/worker"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/gardener/gardener/pkg/utils/retry"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// playedGeneric is a generic actuator that does what play says.
type playedGeneric struct {
	gardenworker.Actuator

	play func(ctx context.Context, w *extensionsv1alpha1.Worker) error
}

func (g playedGeneric) Reconcile(ctx context.Context, _ logr.Logger, w *extensionsv1alpha1.Worker, _ *extensionscontroller.Cluster) error {
	return g.play(ctx, w)
}

// errTimeout is what the generic actuator returns when it has waited for 5 minutes.
func errTimeout(reason error) error {
	err := retry.NewError(reason, errors.New("Waiting until machines are available (1/2 desired machine(s) available)..."))
	return v1beta1helper.NewErrorWithCodes(fmt.Errorf("failed while waiting for all machine deployments to be ready: %w", err))
}

// waitOut waits until the context ends, as the generic actuator does if that is before its 5 minutes.
func waitOut(ctx context.Context) error {
	<-ctx.Done()
	return errTimeout(ctx.Err())
}

var _ = Describe("Patience with slow machines", func() {
	var (
		f        *fixture
		a        *actuator
		objects  []client.Object
		recorder *events.FakeRecorder
		calls    int
	)

	machine := func(name, pool, zone, site string, phase machinev1alpha1.MachinePhase, since time.Duration,
		description string) *machinev1alpha1.Machine {
		m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: f.worker.Namespace,
			Labels: map[string]string{gardenworker.LabelKeyMachineDeploymentName: deploymentName(pool, zone)},
		}}
		m.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: site}
		m.Status.CurrentStatus = machinev1alpha1.CurrentStatus{Phase: phase, LastUpdateTime: metav1.NewTime(time.Now().Add(-since))}
		m.Status.LastOperation.Description = description
		return m
	}
	booting := func() *machinev1alpha1.Machine {
		return machine("m-rack", "a", "rack-1", "racks", machinev1alpha1.MachinePending, time.Hour, "Creating machine on cloud provider")
	}
	// reconcile reconciles with a generic actuator that does in its nth call what the nth of plays says, and the last ever after.
	reconcile := func(ctx context.Context, timeout time.Duration, plays ...func(context.Context, *extensionsv1alpha1.Worker) error) error {
		GinkgoHelper()
		f.encode()
		c := fake.NewClientBuilder().WithScheme(landscape.Scheme).WithStatusSubresource(&extensionsv1alpha1.Worker{}).
			WithObjects(f.worker, f.secret, f.user).WithObjects(objects...).Build()
		recorder = events.NewFakeRecorder(100)
		a = &actuator{
			client: c, reader: c, events: eventnote.Writer{EventRecorder: recorder},
			resolver:   resolver{machineClasses: f.platforms(), timeout: time.Minute},
			waitPolicy: waitPolicy{timeout: timeout, pollInterval: 10 * time.Millisecond, gracePeriod: time.Minute},
		}
		calls = 0
		a.newGeneric = func(*delegate) gardenworker.Actuator {
			return playedGeneric{play: func(ctx context.Context, w *extensionsv1alpha1.Worker) error {
				play := plays[min(calls, len(plays)-1)]
				calls++
				return play(ctx, w)
			}}
		}
		return a.Reconcile(ctx, logr.Discard(), f.worker, f.cluster)
	}
	returns := func(err error) func(context.Context, *extensionsv1alpha1.Worker) error {
		return func(context.Context, *extensionsv1alpha1.Worker) error { return err }
	}
	waitsOut := func(ctx context.Context, _ *extensionsv1alpha1.Worker) error { return waitOut(ctx) }

	BeforeEach(func() {
		f = newFixture(newNamespace())
		f.pool("a", "rack-1", "cloud-a")
		objects = nil
	})

	It("should wait on while machines boot, tell of them once, and succeed when they run", func(ctx SpecContext) {
		objects = []client.Object{booting()}
		Expect(reconcile(ctx, time.Minute, returns(errTimeout(context.DeadlineExceeded)), returns(nil))).To(Succeed())
		Expect(calls).To(Equal(2))
		Expect(recorder.Events).To(Receive(And(HavePrefix("Normal MachinesSlow"),
			ContainSubstring(`site "racks": pool "a": machine "m-rack" is Pending`))))
		Expect(recorder.Events).NotTo(Receive())
	})

	It("should wait on for a machine that has just begun to run", func(ctx SpecContext) {
		objects = []client.Object{machine("m", "a", "rack-1", "racks", machinev1alpha1.MachineRunning, time.Second, "")}
		Expect(reconcile(ctx, time.Minute, returns(errTimeout(context.DeadlineExceeded)), returns(nil))).To(Succeed())
		Expect(calls).To(Equal(2))
	})

	It("should say what it waited for when its patience ends, and not before", func(ctx SpecContext) {
		objects = []client.Object{
			booting(),
			machine("m-cloud", "a", "cloud-a", "cloud", machinev1alpha1.MachineTerminating, time.Hour, "draining"),
			machine("m-old", "gone", "cloud-a", "cloud", "", time.Hour, ""),
			machine("m-well", "a", "cloud-a", "cloud", machinev1alpha1.MachineRunning, time.Hour, ""),
		}
		begin := time.Now()
		err := reconcile(ctx, time.Second, returns(errTimeout(context.DeadlineExceeded)), waitsOut)
		Expect(time.Since(begin)).To(BeNumerically(">=", time.Second))
		Expect(calls).To(Equal(2))
		Expect(err).To(MatchError(And(
			MatchRegexp(`^machines are not ready after \d+s: `+
				`site "cloud": machine "m-old" is new, `+
				`site "cloud": pool "a": machine "m-cloud" is Terminating \(draining\), `+
				`site "racks": pool "a": machine "m-rack" is Pending \(Creating machine on cloud provider\): failed while waiting`),
			HaveSuffix("(1/2 desired machine(s) available)..."),
		)))
	})

	DescribeTable("should not wait on", func(ctx SpecContext, prepare func(), first error, message string) {
		prepare()
		err := reconcile(ctx, time.Minute, returns(first), returns(nil))
		Expect(err).To(MatchError(ContainSubstring(message)))
		Expect(calls).To(Equal(1))
		Expect(recorder.Events).NotTo(Receive(ContainSubstring("MachinesSlow")))
	},
		Entry("if a machine failed", func() { objects = []client.Object{booting()} },
			errors.New(`machine(s) failed: "m": no host`), "no host"),
		Entry("if something else is wrong", func() { objects = []client.Object{booting()} },
			fmt.Errorf("listing: %w", context.DeadlineExceeded), "listing"),
		Entry("if no machine is on its way", func() {
			objects = []client.Object{machine("m", "a", "rack-1", "racks", machinev1alpha1.MachineRunning, time.Hour, "")}
		}, errTimeout(context.DeadlineExceeded), "failed while waiting"),
		Entry("if a zone could not be resolved", func() {
			objects = []client.Object{booting()}
			f.cloud.Fail("cloud", platform.NewError(platform.ClassUnauthenticated, "401"))
		}, errTimeout(context.DeadlineExceeded), `pool "a" in zone "cloud-a" has no machines yet: site "cloud": 401`),
	)

	It("should not wait on if the extension ends", func(ctx SpecContext) {
		objects = []client.Object{booting()}
		ending, end := context.WithCancel(ctx)
		Expect(reconcile(ending, time.Minute, func(ctx context.Context, _ *extensionsv1alpha1.Worker) error { end(); return waitOut(ctx) })).
			To(MatchError(HavePrefix("failed while waiting")))
		Expect(calls).To(Equal(1))
	})

	Describe("and a Worker that changes meanwhile", func() {
		// changes changes the Worker and waits as long as it may.
		changes := func(change func(*extensionsv1alpha1.Worker)) func(context.Context, *extensionsv1alpha1.Worker) error {
			return func(ctx context.Context, w *extensionsv1alpha1.Worker) error {
				now := &extensionsv1alpha1.Worker{}
				Expect(a.client.Get(ctx, client.ObjectKeyFromObject(w), now)).To(Succeed())
				change(now)
				Expect(a.client.Update(ctx, now)).To(Succeed())
				return waitOut(ctx)
			}
		}
		annotated := func(operation, timestamp string) func(*extensionsv1alpha1.Worker) {
			return func(w *extensionsv1alpha1.Worker) {
				w.Annotations = map[string]string{"gardener.cloud/operation": operation, "gardener.cloud/timestamp": timestamp}
			}
		}

		BeforeEach(func() {
			f.worker.Generation = 1
			objects = []client.Object{booting(), f.clusterObject()}
		})

		DescribeTable("should be reconciled as it is then", func(ctx SpecContext, change func(*extensionsv1alpha1.Worker)) {
			var seen *extensionsv1alpha1.Worker
			Expect(reconcile(ctx, time.Minute, changes(change), func(_ context.Context, w *extensionsv1alpha1.Worker) error {
				seen = w.DeepCopy()
				return nil
			})).To(Succeed())

			now := &extensionsv1alpha1.Worker{}
			Expect(a.client.Get(ctx, client.ObjectKeyFromObject(f.worker), now)).To(Succeed())
			Expect(calls).To(Equal(2))
			Expect(triggerOf(seen)).To(Equal(triggerOf(now)))
			Expect(triggerOf(f.worker)).To(Equal(triggerOf(now)), "so that its generation is the observed one")
			Expect(now.Status.LastError).To(BeNil())
		},
			Entry("with a new generation", func(w *extensionsv1alpha1.Worker) { w.Generation = 2 }),
			Entry("with a request to reconcile", annotated("reconcile", "2026-01-01T00:00:01Z")),
			Entry("with a new timestamp alone", annotated("", "2026-01-01T00:00:01Z")),
		)

		DescribeTable("should be left to the controller", func(ctx SpecContext, change func(*extensionsv1alpha1.Worker)) {
			err := reconcile(ctx, time.Minute, changes(change))
			result, err := reconciler.ReconcileErr(err)
			Expect(err).NotTo(HaveOccurred())
			Expect(result.RequeueAfter).To(Equal(time.Second))
			Expect(calls).To(Equal(1))
		},
			Entry("if it is to be migrated", annotated("migrate", "2026-01-01T00:00:01Z")),
			Entry("if it is to be restored", annotated("wait-for-state", "2026-01-01T00:00:01Z")),
		)

		It("should be left to the controller if it is being deleted", func(ctx SpecContext) {
			f.worker.Finalizers = []string{gardenworker.FinalizerName}
			err := reconcile(ctx, time.Minute, func(ctx context.Context, w *extensionsv1alpha1.Worker) error {
				Expect(a.client.Delete(ctx, w.DeepCopy())).To(Succeed())
				return waitOut(ctx)
			})
			Expect(reconciler.ReconcileErr(err)).To(HaveField("RequeueAfter", time.Second))
		})

		It("should be left to the controller if that would end too early", func(ctx SpecContext) {
			limited, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			err := reconcile(limited, time.Minute, changes(annotated("reconcile", "2026-01-01T00:00:01Z")))
			Expect(reconciler.ReconcileErr(err)).To(HaveField("RequeueAfter", time.Second))
		})

		It("should not be disturbed when the operation that is done is taken from it", func(ctx SpecContext) {
			annotated("reconcile", "2026-01-01T00:00:00Z")(f.worker)
			err := reconcile(ctx, time.Second, changes(func(w *extensionsv1alpha1.Worker) { delete(w.Annotations, "gardener.cloud/operation") }))
			Expect(err).To(MatchError(MatchRegexp(`^machines are not ready after \d+s: `)))
			Expect(calls).To(Equal(1))
		})
	})

	It("should know the timeout of Gardener's generic actuator, and write no error of an earlier attempt again", func(ctx SpecContext) {
		f.create(ctx)
		f.worker.Status.LastError = &gardencorev1beta1.LastError{Description: "machines are not ready after 9m30s"}
		Expect(apiServer.Status().Update(ctx, f.worker)).To(Succeed())
		pending := booting()
		status := pending.Status
		Expect(apiServer.Create(ctx, pending)).To(Succeed())
		pending.Status = status
		Expect(apiServer.Status().Update(ctx, pending)).To(Succeed())

		// The generic actuator polls as it does in production, so that no request to the API server is in progress at the end.
		fast := retry.UntilTimeout
		DeferCleanup(func() { retry.UntilTimeout = fast })
		retry.UntilTimeout = retry.DefaultOps().UntilTimeout
		impatient := f.actuator(time.Minute).(*actuator)
		impatient.waitPolicy.timeout = 8 * time.Second // it polls every 5 s, and deploys before
		w := f.worker.DeepCopy()
		Expect(impatient.Reconcile(ctx, logr.Discard(), w, f.cluster)).To(MatchError(And(
			// How long that took is rounded to seconds, and more on a busy machine.
			MatchRegexp(`^machines are not ready after \d+s: `+
				`site "racks": pool "a": machine "m-rack" is Pending \(Creating machine on cloud provider\): `),
			ContainSubstring("context deadline exceeded"),
		)))
		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(w), w)).To(Succeed())
		Expect(w.Status.LastError).To(BeNil())
	})

	request := func(timestamp string) {
		metav1.SetMetaDataAnnotation(&f.worker.ObjectMeta, "gardener.cloud/timestamp", timestamp)
	}
	written := metav1.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC)

	DescribeTable("should let gardenlet wait although the last reconciliation failed",
		func(ctx SpecContext, prepare func(), expected bool) {
			prepare()
			f.worker.Status.LastError = &gardencorev1beta1.LastError{Description: "machines are not ready after 9m30s", LastUpdateTime: &written}
			f.encode()
			c := fake.NewClientBuilder().WithScheme(landscape.Scheme).WithStatusSubresource(&extensionsv1alpha1.Worker{}).WithObjects(f.worker,
				f.secret, f.user).Build()
			d := f.delegate(ctx, c)
			Expect(clearLastError(ctx, d.call, d.zones)).To(Succeed())

			Expect(c.Get(ctx, client.ObjectKeyFromObject(f.worker), f.worker)).To(Succeed())
			Expect(f.worker.Status.LastError == nil).To(Equal(expected))
		},
		Entry("now that nothing is wrong", func() {}, true),
		Entry("unless that was for the same request", func() { request("2026-01-01T00:00:00.5Z") }, false),
		Entry("now that something else is requested", func() { request("2026-01-01T00:00:02Z") }, true),
		Entry("unless something is wrong now", func() { f.cloud.Fail("cloud", platform.NewError(platform.ClassTransient, "503")) }, false),
	)
})
