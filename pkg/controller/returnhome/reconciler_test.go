// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package returnhome

import (
	"context"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
)

var _ = Describe("Reconciler", func() {
	var f *fixture
	BeforeEach(func(ctx SpecContext) { f = newFixture(ctx) })

	expectReplicas := func(ctx context.Context, atHome, atAway int32) {
		GinkgoHelper()
		h, a := f.replicas(ctx)
		Expect([]int32{h, a}).To(Equal([]int32{atHome, atAway}))
	}
	expectAtRest := func(ctx context.Context, atHome, atAway int32) {
		GinkgoHelper()
		f.reconcile(ctx)
		expectReplicas(ctx, atHome, atAway)
	}

	It("gives the oldest machine back after its replacement is ready", func(ctx SpecContext) {
		oldest := f.machines(ctx, away)[0].Name
		before := testutil.ToFloat64(returnedMachines.WithLabelValues(namespace, "burst", "cloud", "racks"))
		Expect(f.reconcile(ctx).RequeueAfter).To(Equal(time.Minute))
		expectReplicas(ctx, 3, 2)
		Expect(f.recorder.Events).To(Receive(Equal(
			`Normal MachineReturning pool "burst": creating a machine at site "racks". A machine at site "cloud" is given back when it is ready`)))

		expectAtRest(ctx, 3, 2)
		f.sync(ctx, home)
		expectAtRest(ctx, 3, 2)
		f.runMachines(ctx, home)
		f.reconcile(ctx)
		expectReplicas(ctx, 3, 1)
		Expect(f.deployment(ctx, away).Annotations).To(And(
			HaveKeyWithValue("node.machine.sapcloud.io/trigger-deletion-by-mcm", oldest+"~2026-03-01T22:10:00Z"),
			HaveKeyWithValue("machine.sapcloud.io/last-deployment-replica-change-by-scaler-time", "2026-03-01T22:10:00Z")))
		Expect(f.deployment(ctx, home).Annotations).NotTo(HaveKey(annotationMove))
		Expect(f.recorder.Events).To(Receive(Equal(`Normal MachineReturned pool "burst": giving machine ` + oldest +
			` at site "cloud" back, because its replacement at site "racks" is ready`)))
		Expect(testutil.ToFloat64(returnedMachines.WithLabelValues(namespace, "burst", "cloud", "racks"))).To(Equal(before + 1))
		f.sync(ctx, away)
		Expect(f.machines(ctx, away)).NotTo(ContainElement(HaveField("Name", oldest)))
	})

	It("moves one machine at a time, as many per hour as are allowed", func(ctx SpecContext) {
		f.configure(ctx, &v1alpha1.ReturnHome{MachinesPerHour: new(int32(2)),
			TimeWindow: &v1alpha1.ReturnHomeTimeWindow{Begin: "000000+0000", End: "235959+0000"}})
		f.scale(ctx, away, 1)
		f.runMachines(ctx, away)
		f.clock.Step(time.Minute)
		f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) {
			w.Spec.Pools[0].Maximum, w.Status.MachineDeployments[1].Maximum = 9, 9
		})
		f.moveOne(ctx)
		f.clock.Step(10 * time.Minute)
		f.moveOne(ctx)
		expectReplicas(ctx, 4, 1)
		f.clock.Step(49 * time.Minute)
		expectAtRest(ctx, 4, 1)
		f.clock.Step(time.Minute)
		f.moveOne(ctx)
		expectReplicas(ctx, 5, 0)
		Expect(f.deployment(ctx, away).Annotations[annotationReturned]).To(Equal("2026-03-01T22:21:00Z,2026-03-01T23:11:00Z"))
	})

	It("waits until the machine that is given back is gone", func(ctx SpecContext) {
		f.configure(ctx, &v1alpha1.ReturnHome{MachinesPerHour: new(int32(60))})
		f.reconcile(ctx)
		f.sync(ctx, home)
		f.runMachines(ctx, home)
		f.reconcile(ctx)
		expectAtRest(ctx, 3, 1)
		f.sync(ctx, away)
		f.reconcile(ctx)
		expectReplicas(ctx, 4, 1)
	})

	DescribeTable("begins no move", func(ctx SpecContext, disturb func(context.Context)) {
		disturb(ctx)
		h, a := f.replicas(ctx)
		expectAtRest(ctx, h, a)
		Expect(f.recorder.Events).NotTo(Receive())
	},
		Entry("of a pool without returnHome", func(ctx context.Context) { f.configure(ctx, nil) }),
		Entry("outside the maintenance time window", func(context.Context) { f.clock.Step(50 * time.Minute) }),
		Entry("in the last 15 minutes of the maintenance time window, as Gardener", func(context.Context) { f.clock.Step(36 * time.Minute) }),
		Entry("outside its own time window", func(ctx context.Context) {
			f.configure(ctx, &v1alpha1.ReturnHome{TimeWindow: &v1alpha1.ReturnHomeTimeWindow{Begin: "223000+0000", End: "230000+0000"}})
		}),
		Entry("in a time window that is invalid", func(ctx context.Context) {
			f.configure(ctx, &v1alpha1.ReturnHome{TimeWindow: &v1alpha1.ReturnHomeTimeWindow{Begin: "22", End: "230000+0000"}})
		}),
		Entry("while a site of the pool is in quarantine", func(ctx context.Context) {
			f.setCondition(ctx, v1alpha1.ConditionSiteQuarantinedPrefix+"cloud", v1alpha1.ReasonSiteCutOff, gardencorev1beta1.ConditionTrue)
		}),
		Entry("to a site that is not available", func(ctx context.Context) {
			f.setCondition(ctx, sitehealth.ConditionPrefix+"racks", sitehealth.ReasonUnreachable, gardencorev1beta1.ConditionFalse)
		}),
		Entry("to a site whose quota is used up", func(ctx context.Context) {
			f.setCondition(ctx, sitehealth.RoomConditionPrefix+"racks", sitehealth.ReasonQuota, gardencorev1beta1.ConditionFalse)
		}),
		Entry("during a rolling update", func(ctx context.Context) {
			f.change(ctx, away, func(d *machinev1alpha1.MachineDeployment) { d.Spec.Template.Spec.Class.Name = "new" })
		}),
		Entry("while a machine does not run", func(ctx context.Context) {
			f.setPhase(ctx, f.machines(ctx, away)[1], machinev1alpha1.MachineUnknown)
		}),
		Entry("while a machine is missing", func(ctx context.Context) {
			f.change(ctx, away, func(d *machinev1alpha1.MachineDeployment) { d.Spec.Replicas++ })
		}),
		Entry("while the Worker is reconciled", func(ctx context.Context) {
			f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) {
				w.Status.LastOperation.State = gardencorev1beta1.LastOperationStateProcessing
			})
		}),
		Entry("after a failed reconciliation of the Worker", func(ctx context.Context) {
			f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) {
				w.Status.LastOperation.State = gardencorev1beta1.LastOperationStateError
			})
		}),
		Entry("of a Worker that has not been reconciled yet", func(ctx context.Context) {
			f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) { w.Generation++ })
		}),
		Entry("of a Worker that migrates", func(ctx context.Context) {
			f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) {
				w.Status.LastOperation.Type = gardencorev1beta1.LastOperationTypeMigrate
			})
		}),
		Entry("of a shoot that hibernates", func(ctx context.Context) {
			f.changeShoot(ctx, func(s *gardencorev1beta1.Shoot) {
				s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
			})
		}),
		Entry("of a shoot that wakes up", func(ctx context.Context) {
			f.changeShoot(ctx, func(s *gardencorev1beta1.Shoot) { s.Status.IsHibernated = true })
		}),
		Entry("of a shoot that is being deleted", func(ctx context.Context) {
			f.changeShoot(ctx, func(s *gardencorev1beta1.Shoot) { s.DeletionTimestamp = &metav1.Time{Time: start} })
		}),
		Entry("of a pool at its maximum", func(ctx context.Context) {
			f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) { w.Spec.Pools[0].Maximum = 4 })
		}),
		Entry("to a machine deployment at its maximum", func(ctx context.Context) {
			f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) { w.Status.MachineDeployments[1].Maximum = 2 })
		}),
		Entry("to a site at its maximum", func(ctx context.Context) {
			class := &machinev1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: home}}
			Expect(f.Get(ctx, client.ObjectKeyFromObject(class), class)).To(Succeed())
			metav1.SetMetaDataAnnotation(&class.ObjectMeta, v1alpha1.AnnotationMaximumMachines, "2")
			Expect(f.Update(ctx, class)).To(Succeed())
		}),
		Entry("from a machine deployment at its minimum", func(ctx context.Context) {
			f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) { w.Status.MachineDeployments[0].Minimum = 2 })
		}),
		Entry("between sites with the same priority", func(ctx context.Context) {
			f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) { w.Status.MachineDeployments[0].Priority = new(int32(100)) })
		}),
		Entry("while a machine deployment of the pool is not known yet", func(ctx context.Context) {
			f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) { w.Status.MachineDeployments = w.Status.MachineDeployments[1:] })
		}),
		Entry("of machines that are preserved", func(ctx context.Context) {
			for _, m := range f.machines(ctx, away) {
				metav1.SetMetaDataAnnotation(&m.ObjectMeta, "node.machine.sapcloud.io/preserve", "now")
				Expect(f.Update(ctx, &m)).To(Succeed())
			}
		}),
	)

	It("begins a move if machines of another pool wait for hosts", func(ctx SpecContext) {
		f.setCondition(ctx, sitehealth.RoomConditionPrefix+"racks", sitehealth.ReasonExhausted, gardencorev1beta1.ConditionFalse)
		f.reconcile(ctx)
		expectReplicas(ctx, 3, 2)
	})

	It("takes the machine back if the site has no room, and waits longer after each failure", func(ctx SpecContext) {
		f.configure(ctx, &v1alpha1.ReturnHome{TimeWindow: &v1alpha1.ReturnHomeTimeWindow{Begin: "000000+0000", End: "235959+0000"}})
		for _, backoff := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 80 * time.Minute, 160 * time.Minute,
			4 * time.Hour, 4 * time.Hour} {
			f.reconcile(ctx)
			expectReplicas(ctx, 3, 2)
			f.sync(ctx, home)
			exhausted := f.exhaust(ctx, home)
			f.reconcile(ctx)
			expectReplicas(ctx, 2, 2)
			Expect(f.recorder.Events).To(Receive(HavePrefix("Normal MachineReturning")))
			Expect(f.recorder.Events).To(Receive(Equal(
				`Warning ReturnHomeFailed pool "burst": no machine returns to site "racks", because it has no room: no free host. ` +
					`The next attempt is not before ` + f.clock.Now().Add(backoff).Format(time.RFC3339))))
			f.sync(ctx, home)
			Expect(f.machines(ctx, home)).NotTo(ContainElement(HaveField("Name", exhausted.Name)))
			f.clock.Step(backoff - time.Second)
			expectAtRest(ctx, 2, 2)
			f.clock.Step(time.Second)
		}
		f.moveOne(ctx)
		expectReplicas(ctx, 3, 1)
		Expect(f.deployment(ctx, home).Annotations).NotTo(HaveKey(annotationMove))
	})

	It("takes the machine back if it is not ready in time", func(ctx SpecContext) {
		f.reconcile(ctx)
		f.sync(ctx, home)
		newest := f.machines(ctx, home)[2].Name
		f.clock.Step(15*time.Minute - time.Second)
		expectAtRest(ctx, 3, 2)
		f.clock.Step(time.Second)
		f.reconcile(ctx)
		expectReplicas(ctx, 2, 2)
		f.sync(ctx, home)
		Expect(f.machines(ctx, home)).NotTo(ContainElement(HaveField("Name", newest)))
	})

	It("leaves a ready machine to the cluster-autoscaler if the others do not become ready in time", func(ctx SpecContext) {
		f.reconcile(ctx)
		f.sync(ctx, home)
		f.runMachines(ctx, home)
		f.setPhase(ctx, f.machines(ctx, away)[0], machinev1alpha1.MachineUnknown)
		expectAtRest(ctx, 3, 2)
		f.clock.Step(15 * time.Minute)
		expectAtRest(ctx, 3, 2)
		Expect(moveOf(f.deployment(ctx, home)).Begun).To(BeNil())
	})

	It("does not lower the replicas again if the cluster-autoscaler was faster", func(ctx SpecContext) {
		f.reconcile(ctx)
		f.sync(ctx, home)
		f.exhaust(ctx, home)
		f.change(ctx, home, func(d *machinev1alpha1.MachineDeployment) { d.Spec.Replicas-- })
		expectAtRest(ctx, 2, 2)
		Expect(moveOf(f.deployment(ctx, home)).Failures).To(Equal(1))
	})

	It("finishes a move after the time window", func(ctx SpecContext) {
		f.clock.Step(30 * time.Minute)
		f.reconcile(ctx)
		f.clock.Step(10 * time.Minute)
		f.sync(ctx, home)
		f.runMachines(ctx, home)
		f.reconcile(ctx)
		expectReplicas(ctx, 3, 1)
	})

	DescribeTable("gives nothing back", func(ctx SpecContext, disturb func(context.Context)) {
		f.reconcile(ctx)
		f.sync(ctx, home)
		f.runMachines(ctx, home)
		disturb(ctx)
		expectAtRest(ctx, 3, 2)
	},
		Entry("while a site of the pool is in quarantine", func(ctx context.Context) {
			f.setCondition(ctx, v1alpha1.ConditionSiteQuarantinedPrefix+"cloud", v1alpha1.ReasonSiteCutOff, gardencorev1beta1.ConditionTrue)
		}),
		Entry("while the Worker is reconciled", func(ctx context.Context) {
			f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) {
				w.Status.LastOperation.State = gardencorev1beta1.LastOperationStateProcessing
			})
		}),
		Entry("without returnHome", func(ctx context.Context) { f.configure(ctx, nil) }),
		Entry("in a shoot that hibernates", func(ctx context.Context) {
			f.changeShoot(ctx, func(s *gardencorev1beta1.Shoot) {
				s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
			})
		}),
	)

	It("gives one machine back even if it fails in between", func(ctx SpecContext) {
		f.configure(ctx, &v1alpha1.ReturnHome{MachinesPerHour: new(int32(60))})
		f.reconcile(ctx)
		f.sync(ctx, home)
		f.runMachines(ctx, home)
		f.failPatch = 2
		_, err := f.tryReconcile(ctx)
		Expect(err).To(MatchError("pool \"burst\": no patch of " + home))
		expectReplicas(ctx, 3, 1)
		f.sync(ctx, away)
		expectAtRest(ctx, 3, 1)
		Expect(f.deployment(ctx, home).Annotations).NotTo(HaveKey(annotationMove))
	})

	It("ends a move if the cluster-autoscaler has removed the machines at the less preferred site", func(ctx SpecContext) {
		f.reconcile(ctx)
		f.sync(ctx, home)
		f.runMachines(ctx, home)
		for _, m := range f.machines(ctx, away) {
			Expect(f.Delete(ctx, &m)).To(Succeed())
		}
		f.change(ctx, away, func(d *machinev1alpha1.MachineDeployment) { d.Spec.Replicas = 0 })
		expectAtRest(ctx, 3, 0)
		Expect(f.deployment(ctx, home).Annotations).NotTo(HaveKey(annotationMove))
	})

	It("does not move a machine soon that its site got after another one had moved", func(ctx SpecContext) {
		f.configure(ctx, &v1alpha1.ReturnHome{MachinesPerHour: new(int32(60)),
			TimeWindow: &v1alpha1.ReturnHomeTimeWindow{Begin: "000000+0000", End: "235959+0000"}})
		f.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) { w.Status.MachineDeployments[0].Minimum = 0 })
		f.moveOne(ctx)
		f.clock.Step(time.Minute)
		f.moveOne(ctx)
		expectReplicas(ctx, 4, 0)
		f.change(ctx, home, func(d *machinev1alpha1.MachineDeployment) { d.Spec.Replicas = 3 })
		gone := f.machines(ctx, home)[0]
		Expect(f.Delete(ctx, &gone)).To(Succeed())
		f.clock.Step(time.Minute)
		f.scale(ctx, away, 1)
		f.runMachines(ctx, away)
		f.clock.Step(3 * time.Hour)
		expectAtRest(ctx, 3, 1)
		f.clock.Step(61 * time.Minute)
		f.reconcile(ctx)
		expectReplicas(ctx, 4, 1)
	})
})
