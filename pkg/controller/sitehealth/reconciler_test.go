// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"encoding/json"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("Reconciler", func() {
	const namespace = "shoot--p--s"
	var (
		c        client.Client
		played   *playedSites
		recorder *events.FakeRecorder
		// faultRecorder has the events about machines.
		faultRecorder *record.FakeRecorder
		r             *reconciler
		infra         *extensionsv1alpha1.Infrastructure
		cluster       *extensionsv1alpha1.Cluster
		shoot         *gardencorev1beta1.Shoot
	)

	reconcileOnce := func(ctx context.Context) {
		GinkgoHelper()
		_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(infra)})
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Get(ctx, client.ObjectKeyFromObject(infra), infra)).To(Succeed())
	}
	reasonOfSite := func(name string) string {
		condition := v1beta1helper.GetCondition(infra.Status.Conditions, gardencorev1beta1.ConditionType(ConditionPrefix+name))
		if condition == nil {
			return ""
		}
		return condition.Reason
	}
	// answered waits until the sites answered, and reconciles then.
	answered := func(ctx context.Context, names ...string) {
		GinkgoHelper()
		reconcileOnce(ctx)
		Eventually(func() map[string]answer { return r.probers.answers(client.ObjectKeyFromObject(infra)) }).Should(HaveLen(len(names)))
		reconcileOnce(ctx)
	}
	updateCluster := func(ctx context.Context) {
		cluster.Spec.Shoot = marshal(shoot)
		Expect(c.Update(ctx, cluster)).To(Succeed())
	}

	BeforeEach(func(ctx SpecContext) {
		played = &playedSites{answers: map[string]error{}, asked: map[string]int{}, hanging: map[string]bool{},
			faults: map[string][]platform.Fault{}}
		profile := &gardencorev1beta1.CloudProfile{Spec: gardencorev1beta1.CloudProfileSpec{ProviderConfig: encode(
			&v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{
				{Name: "racks", Metal: &v1alpha1.MetalProfile{}, Zones: []v1alpha1.SiteZone{{Name: "rack-1"}}}, {Name: "hall",
					Metal: &v1alpha1.MetalProfile{}},
			}})}}
		shoot = &gardencorev1beta1.Shoot{}
		shoot.Spec.Provider.ControlPlaneConfig = encode(&v1alpha1.ControlPlaneConfig{DefaultSite: "racks"})
		cluster = &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		for object, kind := range map[runtime.Object]string{profile: "CloudProfile", shoot: "Shoot"} {
			object.GetObjectKind().SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind(kind))
		}
		cluster.Spec = extensionsv1alpha1.ClusterSpec{CloudProfile: marshal(profile), Shoot: marshal(shoot)}
		infra = &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}}
		infra.Spec.Type = v1alpha1.ProviderType
		infra.Spec.SecretRef = corev1.SecretReference{Namespace: namespace, Name: "cloudprovider"}
		infra.Spec.ProviderConfig = encode(&v1alpha1.InfrastructureConfig{
			Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
			Sites: []v1alpha1.InfrastructureSite{{Name: "racks", Nodes: []string{"10.250.0.0/18"}},
				{Name: "hall", Nodes: []string{"10.250.64.0/18"}}},
		})
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloudprovider"},
			Data:       map[string][]byte{"racks.token": []byte("1"), "hall.token": []byte("1")},
		}
		c = fakeclient.NewClientBuilder().WithScheme(landscape.Scheme).WithStatusSubresource(infra,
			&extensionsv1alpha1.Worker{}).WithObjects(infra, cluster, secret).Build()
		Expect(c.Get(ctx, client.ObjectKeyFromObject(infra), infra)).To(Succeed())

		recorder, faultRecorder = events.NewFakeRecorder(10), record.NewFakeRecorder(10)
		asking := newProbers(logr.Discard(), platform.Registry[platform.Probe]{v1alpha1.PlatformMetal: played},
			timing{interval: 10 * time.Millisecond, refused: 10 * time.Millisecond, timeout: time.Second}, func(types.NamespacedName) {})
		stopped, stop := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = asking.Start(stopped) }()
		DeferCleanup(func() { stop(); Eventually(ended).Should(BeClosed()) })
		comparing := newInspectors(logr.Discard(), nil, 0, nil)
		r = &reconciler{
			client: c, events: eventnote.Writer{EventRecorder: recorder}, faultEvents: faultRecorder,
			clock: testclock.NewFakeClock(time.Unix(1_700_000_000, 0)), probers: asking, inspectors: comparing,
		}
	})

	It("says whether sites have what the CloudProfile says, once that is known, until the shoot hibernates", func(ctx SpecContext) {
		offers := &playedOffers{zones: map[string][]string{"racks": {"rack-1"}}, hanging: map[string]bool{"hall": true}}
		r.inspectors = begun(offers, 10*time.Millisecond, nil)
		inSync := func(name string) *gardencorev1beta1.Condition {
			return v1beta1helper.GetCondition(infra.Status.Conditions, gardencorev1beta1.ConditionType(SyncConditionPrefix+name))
		}
		awaited := func(reason string) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				reconcileOnce(ctx)
				g.Expect(inSync("racks")).To(HaveValue(HaveField("Reason", reason)))
			}).Should(Succeed())
		}
		awaited(ReasonInSync)
		Expect(inSync("hall")).To(BeNil())
		offers.set("racks")
		awaited(ReasonDrift)
		Expect(inSync("racks").Status).To(Equal(gardencorev1beta1.ConditionFalse))
		Expect(inSync("racks").Message).To(Equal(`site "racks": zone rack-1: zone "rack-1" is not found.`))

		shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
		updateCluster(ctx)
		reconcileOnce(ctx)
		Expect(inSync("racks")).To(BeNil())
		Expect(testutil.CollectAndCount(r.inspectors)).To(BeZero())
	})

	It("writes a condition for each site, and an event when one changes", func(ctx SpecContext) {
		answered(ctx, "racks", "hall")
		Expect(reasonOfSite("racks")).To(Equal(ReasonAvailable))
		Expect(reasonOfSite("hall")).To(Equal(ReasonAvailable))
		Expect(recorder.Events).NotTo(Receive())

		played.say("hall/1", in("hall", platform.ClassTransient, "refused"))
		Eventually(func() error { return r.probers.answers(client.ObjectKeyFromObject(infra))["hall"].err }).Should(HaveOccurred())
		reconcileOnce(ctx)
		Expect(reasonOfSite("hall")).To(Equal(ReasonUnreachable))
		Expect(recorder.Events).To(Receive(Equal(`Warning SiteUnreachable site "hall": refused`)))
		Expect(v1beta1helper.GetCondition(infra.Status.Conditions,
			gardencorev1beta1.ShootControlPlaneHealthy).Status).To(Equal(gardencorev1beta1.ConditionProgressing))

		played.say("hall/1", nil)
		Eventually(func() error { return r.probers.answers(client.ObjectKeyFromObject(infra))["hall"].err }).Should(Succeed())
		reconcileOnce(ctx)
		Expect(reasonOfSite("hall")).To(Equal(ReasonAvailable))
		Expect(recorder.Events).To(Receive(Equal(`Normal SiteAvailable site "hall": The site answers.`)))
	})

	It("takes what machines wait for, unless the site itself says what is wrong", func(ctx SpecContext) {
		waiting := machine("m", "racks", "CrashLoopBackOff", "Create", noHost)
		Expect(c.Create(ctx, &waiting)).To(Succeed())
		answered(ctx, "racks", "hall")
		Expect(reasonOfSite("racks")).To(Equal(ReasonAvailable))
		Expect(reasonOfSite("hall")).To(Equal(ReasonAvailable))
		for name, reason := range map[string]string{"racks": ReasonExhausted, "hall": ReasonHasRoom} {
			Expect(v1beta1helper.GetCondition(infra.Status.Conditions,
				gardencorev1beta1.ConditionType(RoomConditionPrefix+name)).Reason).To(Equal(reason), name)
		}

		played.say("racks/1", in("racks", platform.ClassTransient, "refused"))
		Eventually(func() error { return r.probers.answers(client.ObjectKeyFromObject(infra))["racks"].err }).Should(HaveOccurred())
		reconcileOnce(ctx)
		Expect(reasonOfSite("racks")).To(Equal(ReasonUnreachable))
		Expect(v1beta1helper.GetCondition(infra.Status.Conditions,
			gardencorev1beta1.ShootControlPlaneHealthy).Status).To(Equal(gardencorev1beta1.ConditionFalse), "it is the default site")
	})

	It("tells of a site until all of its objects are deleted", func(ctx SpecContext) {
		setState := func(sites ...v1alpha1.SiteState) {
			infra.Status.State = encode(&v1alpha1.InfrastructureState{Sites: sites})
			Expect(c.Status().Update(ctx, infra)).To(Succeed())
		}
		everyNodeReady := func() gardencorev1beta1.ConditionStatus {
			return v1beta1helper.GetCondition(infra.Status.Conditions, gardencorev1beta1.ShootEveryNodeReady).Status
		}
		racks := v1alpha1.SiteState{Name: "racks", Metal: &v1alpha1.MetalState{}}
		setState(racks, v1alpha1.SiteState{Name: "old", Metal: &v1alpha1.MetalState{}})
		answered(ctx, "racks", "hall")
		Expect(everyNodeReady()).To(Equal(gardencorev1beta1.ConditionProgressing))

		setState(racks)
		reconcileOnce(ctx)
		Expect(everyNodeReady()).To(Equal(gardencorev1beta1.ConditionTrue))
	})

	Describe("with a Worker", func() {
		var (
			worker *extensionsv1alpha1.Worker
			power  = platform.Fault{Shoot: namespace, Machine: "m-7", Host: "rack-07", Message: "no answer of the BMC"}
		)
		const note = `site "racks": host rack-07 of machine m-7: no answer of the BMC`

		everyNodeReady := func(ctx context.Context) *gardencorev1beta1.Condition {
			GinkgoHelper()
			Expect(c.Get(ctx, client.ObjectKeyFromObject(worker), worker)).To(Succeed())
			return v1beta1helper.GetCondition(worker.Status.Conditions, gardencorev1beta1.ShootEveryNodeReady)
		}
		faults := func() []platform.Fault {
			return r.probers.answers(client.ObjectKeyFromObject(infra))["racks"].observed.Faults
		}

		BeforeEach(func(ctx SpecContext) {
			worker = &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "w"}}
			worker.Spec.Type = v1alpha1.ProviderType
			worker.Spec.Pools = []extensionsv1alpha1.WorkerPool{{Zones: []string{"unknown", "rack-1", "rack-1"}}}
			Expect(c.Create(ctx, worker)).To(Succeed())
			m := machine("m-7", "racks", "Running", "Create", "")
			Expect(c.Create(ctx, &m)).To(Succeed())
		})

		It("tells of faults and of their ends, the Worker and the Machine that is there", func(ctx SpecContext) {
			played.fault("racks", power)
			answered(ctx, "racks", "hall")
			Expect(everyNodeReady(ctx)).To(And(HaveField("Status", gardencorev1beta1.ConditionFalse), HaveField("Message", note+".")))
			Expect(faultRecorder.Events).To(Receive(Equal("Warning MachineFault " + note)))
			Expect(faultRecorder.Events).To(Receive(Equal("Warning MachineFault " + note)))
			reconcileOnce(ctx)
			Expect(faultRecorder.Events).NotTo(Receive())

			played.fault("racks")
			Eventually(faults).Should(BeEmpty())
			reconcileOnce(ctx)
			Expect(everyNodeReady(ctx)).To(And(HaveField("Status", gardencorev1beta1.ConditionTrue),
				HaveField("Message", "All health checks successful")))
			Expect(faultRecorder.Events).To(Receive(Equal(`Normal MachineFaultGone site "racks": host rack-07 of machine m-7: the fault is ` +
				`resolved`)))
			Expect(faultRecorder.Events).To(Receive())

			played.fault("racks", platform.Fault{Shoot: namespace, Machine: "gone", Host: "rack-07", Message: "no power"})
			Eventually(faults).ShouldNot(BeEmpty())
			reconcileOnce(ctx)
			Expect(faultRecorder.Events).To(Receive(ContainSubstring("machine gone")))
			Expect(faultRecorder.Events).NotTo(Receive(), "there is no such Machine")
		})

		It("says nothing before the sites answered", func(ctx SpecContext) {
			played.hanging["racks/1"] = true
			reconcileOnce(ctx)
			Expect(everyNodeReady(ctx)).To(BeNil())
			Expect(infra.Status.Conditions).NotTo(BeEmpty())
		})

		It("says that a shoot is hibernated", func(ctx SpecContext) {
			played.fault("racks", power)
			answered(ctx, "racks", "hall")
			shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
			updateCluster(ctx)
			reconcileOnce(ctx)
			Expect(everyNodeReady(ctx)).To(And(HaveField("Status", gardencorev1beta1.ConditionTrue), HaveField("Message", "Shoot is hibernated")))
		})

		DescribeTable("leaves alone a Worker",
			func(ctx SpecContext, change func(context.Context)) {
				change(ctx)
				played.fault("racks", power)
				answered(ctx, "racks", "hall")
				Expect(everyNodeReady(ctx)).To(BeNil())
				Expect(faultRecorder.Events).NotTo(Receive())
				Expect(r.probers.faults(client.ObjectKeyFromObject(infra))).To(BeEmpty())
			},
			Entry("of another provider", func(ctx context.Context) {
				worker.Spec.Type = "other"
				Expect(c.Update(ctx, worker)).To(Succeed())
			}),
			Entry("that is deleted", func(ctx context.Context) {
				worker.Finalizers = []string{"test/finalizer"}
				Expect(c.Update(ctx, worker)).To(Succeed())
				Expect(c.Delete(ctx, worker)).To(Succeed())
			}),
			Entry("that moves to another seed", func(ctx context.Context) {
				metav1.SetMetaDataAnnotation(&worker.ObjectMeta, v1beta1constants.GardenerOperation, v1beta1constants.GardenerOperationMigrate)
				Expect(c.Update(ctx, worker)).To(Succeed())
			}),
		)
	})

	It("asks nobody for a shoot that is hibernated, and says nothing", func(ctx SpecContext) {
		answered(ctx, "racks", "hall")
		shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
		updateCluster(ctx)
		reconcileOnce(ctx)
		Expect(infra.Status.Conditions).To(BeEmpty())
		Expect(r.probers.probers).To(BeEmpty())
	})

	DescribeTable("asks nobody any more",
		func(ctx SpecContext, change func(context.Context)) {
			answered(ctx, "racks", "hall")
			change(ctx)
			_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(infra)})
			Expect(err).NotTo(HaveOccurred())
			Expect(r.probers.probers).To(BeEmpty())
		},
		Entry("when the Infrastructure is gone", func(ctx context.Context) { Expect(c.Delete(ctx, infra)).To(Succeed()) }),
		Entry("when it is deleted", func(ctx context.Context) {
			infra.Finalizers = []string{"test/finalizer"}
			Expect(c.Update(ctx, infra)).To(Succeed())
			Expect(c.Delete(ctx, infra)).To(Succeed())
		}),
		Entry("when it moves to another seed", func(ctx context.Context) {
			metav1.SetMetaDataAnnotation(&infra.ObjectMeta, v1beta1constants.GardenerOperation, v1beta1constants.GardenerOperationMigrate)
			Expect(c.Update(ctx, infra)).To(Succeed())
		}),
		Entry("when it has moved", func(ctx context.Context) {
			infra.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeMigrate}
			Expect(c.Status().Update(ctx, infra)).To(Succeed())
		}),
	)

	It("returns what is wrong with the documents", func(ctx SpecContext) {
		infra.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1",` +
			`"kind":"InfrastructureConfig","odd":1}`)}
		Expect(c.Update(ctx, infra)).To(Succeed())
		_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(infra)})
		Expect(err).To(MatchError(ContainSubstring("spec.providerConfig")))
	})
})

func encode[T any, P codec.Object[T]](document P) *runtime.RawExtension {
	raw, err := codec.Encode[T, P](document)
	Expect(err).NotTo(HaveOccurred())
	return raw
}

func marshal(object runtime.Object) runtime.RawExtension {
	data, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return runtime.RawExtension{Raw: data}
}
