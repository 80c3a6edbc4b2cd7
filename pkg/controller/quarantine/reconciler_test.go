// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package quarantine

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const namespace = "shoot--p--s"

var _ = Describe("The reconciler", func() {
	var (
		ctx      = context.Background()
		c        client.WithWatch
		clock    *testclock.FakeClock
		recorder *events.FakeRecorder
		r        *reconciler
		shoot    *gardencorev1beta1.Shoot
		profile  *v1alpha1.CloudProfileConfig
		patched  []string
		infraKey = client.ObjectKey{Namespace: namespace, Name: "s"}
	)

	reconciled := func() reconcile.Result {
		GinkgoHelper()
		result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: infraKey})
		Expect(err).NotTo(HaveOccurred())
		return result
	}
	infra := func() *extensionsv1alpha1.Infrastructure {
		GinkgoHelper()
		current := &extensionsv1alpha1.Infrastructure{}
		Expect(c.Get(ctx, infraKey, current)).To(Succeed())
		return current
	}
	condition := func(site string) *gardencorev1beta1.Condition {
		GinkgoHelper()
		return v1beta1helper.GetCondition(infra().Status.Conditions,
			gardencorev1beta1.ConditionType(v1alpha1.ConditionSiteQuarantinedPrefix+site))
	}
	reason := func(site string) string {
		GinkgoHelper()
		if current := condition(site); current != nil {
			return current.Reason
		}
		return ""
	}
	deployment := func(name string) *machinev1alpha1.MachineDeployment {
		GinkgoHelper()
		current := &machinev1alpha1.MachineDeployment{}
		Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, current)).To(Succeed())
		return current
	}
	set := func(name string) *machinev1alpha1.MachineSet {
		GinkgoHelper()
		current := &machinev1alpha1.MachineSet{}
		Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, current)).To(Succeed())
		return current
	}
	until := func(class string) string {
		GinkgoHelper()
		current := &machinev1alpha1.MachineClass{}
		Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: class}, current)).To(Succeed())
		return current.Annotations[v1alpha1.AnnotationQuarantinedUntil]
	}
	// setReady lets the kubelets of machines report, be silent, or report again.
	setReady := func(status corev1.ConditionStatus, machines ...string) {
		GinkgoHelper()
		for _, name := range machines {
			m := &machinev1alpha1.Machine{}
			Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, m)).To(Succeed())
			m.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status,
				LastTransitionTime: metav1.NewTime(clock.Now())}}
			Expect(c.Update(ctx, m)).To(Succeed())
		}
	}
	setCluster := func() {
		GinkgoHelper()
		raw, err := codec.Encode(profile)
		Expect(err).NotTo(HaveOccurred())
		cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		Expect(client.IgnoreNotFound(c.Delete(ctx, cluster))).To(Succeed())
		cluster = &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: extensionsv1alpha1.ClusterSpec{
			CloudProfile: runtime.RawExtension{Object: &gardencorev1beta1.CloudProfile{
				TypeMeta: metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "CloudProfile"},
				Spec:     gardencorev1beta1.CloudProfileSpec{ProviderConfig: raw}}},
			Shoot: runtime.RawExtension{Object: shoot},
		}}
		Expect(c.Create(ctx, cluster)).To(Succeed())
	}
	template := func(site, class string) machinev1alpha1.MachineSpec {
		spec := machinev1alpha1.MachineSpec{Class: machinev1alpha1.ClassSpec{Name: class}}
		spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: site}
		spec.MachineConfiguration = &machinev1alpha1.MachineConfiguration{MachineHealthTimeout: &metav1.Duration{Duration: 5 * time.Minute}}
		return spec
	}

	BeforeEach(func() {
		clock = testclock.NewFakeClock(now)
		patched = nil
		profile = &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{{Name: "racks"}, {Name: "cloud"}}}
		shoot = &gardencorev1beta1.Shoot{TypeMeta: metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Shoot"}}
		config, err := codec.Encode(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "racks",
			ClusterAutoscaler: &v1alpha1.SiteClusterAutoscaler{ScaleDownUnreadyTime: &metav1.Duration{Duration: 2 * time.Hour}}}}})
		Expect(err).NotTo(HaveOccurred())
		pool := extensionsv1alpha1.WorkerPool{Name: "a", ProviderConfig: config, ClusterAutoscaler: &extensionsv1alpha1.ClusterAutoscalerOptions{
			ScaleDownUnreadyTime: &metav1.Duration{Duration: time.Hour}}}
		available := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}}
		available.Status.Conditions = []gardencorev1beta1.Condition{
			{Type: sitehealth.ConditionPrefix + "racks", Status: gardencorev1beta1.ConditionTrue, Reason: sitehealth.ReasonAvailable}}
		objects := []client.Object{
			available,
			&extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"},
				Spec: extensionsv1alpha1.WorkerSpec{Pools: []extensionsv1alpha1.WorkerPool{pool}}},
		}
		for _, site := range []string{"racks", "cloud"} {
			d := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: site,
				Labels:      map[string]string{v1beta1constants.LabelWorkerPool: "a"},
				Annotations: map[string]string{extensionsv1alpha1.ScaleDownUnreadyTimeAnnotation: "1h0m0s"}}}
			d.Spec.Template.Spec = template(site, site)
			old := &machinev1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: site + "-old",
				Labels: map[string]string{"name": site}}}
			old.Spec.Template.Spec = template(site, site+"-old")
			objects = append(objects, d, old)
			for _, class := range []string{site, site + "-old"} {
				objects = append(objects, &machinev1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: class,
					Labels: map[string]string{v1alpha1.LabelSite: site}}})
			}
			for i := range 3 {
				m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", site, i)}}
				m.Spec = template(site, site)
				if i == 0 {
					m.Spec.Class.Name = site + "-old"
				}
				m.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}
				objects = append(objects, m)
			}
		}
		c = interceptor.NewClient(fakeclient.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(objects...).
			WithStatusSubresource(&extensionsv1alpha1.Infrastructure{}).Build(), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, o ...client.PatchOption) error {
				patched = append(patched, fmt.Sprintf("%T/%s", object, object.GetName()))
				return c.Patch(ctx, object, patch, o...)
			},
		})
		setCluster()
		recorder = events.NewFakeRecorder(20)
		r = &reconciler{client: c, events: eventnote.Writer{EventRecorder: recorder}, clock: clock}
	})

	cut := func() {
		GinkgoHelper()
		setReady(corev1.ConditionUnknown, "racks-0", "racks-1", "racks-2")
	}

	It("should do nothing while all machines are well", func() {
		Expect(reconciled()).To(Equal(reconcile.Result{}))
		Expect(infra().Status.Conditions).To(HaveLen(1))
		Expect(patched).To(BeEmpty())
	})

	It("should still let a dead host be replaced", func() {
		setReady(corev1.ConditionUnknown, "racks-1")
		Expect(reconciled()).To(Equal(reconcile.Result{}))
		Expect(reason("racks")).To(BeEmpty())
		Expect(patched).To(BeEmpty())
	})

	It("should record a quarantine, hold all that belongs to the site, and restore it", func() {
		cut()
		Expect(reconciled().RequeueAfter).To(Equal(resync))
		Expect(condition("racks")).To(And(HaveField("Status", gardencorev1beta1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonSiteCutOff),
			HaveField("LastTransitionTime.Time", BeTemporally("==", now))))
		Expect(infra().Status.Conditions).To(HaveLen(2), "those of others stay")
		for range 2 { // the Infrastructure and the Worker
			Expect(recorder.Events).To(Receive(HavePrefix(`Warning SiteCutOff Site "racks" is cut off`)))
		}

		held := deployment("racks")
		Expect(held.Spec.Template.Spec.DisableHealthTimeout).To(HaveValue(BeTrue()))
		Expect(held.Spec.Template.Spec.MachineHealthTimeout).NotTo(BeNil())
		Expect(held.Spec.Paused).To(BeTrue())
		Expect(held.Annotations).To(And(HaveKeyWithValue(extensionsv1alpha1.ScaleDownUnreadyTimeAnnotation, "24h0m0s"),
			HaveKeyWithValue(extensionsv1alpha1.ScaleDownUnneededTimeAnnotation, "24h0m0s")))
		Expect(set("racks-old").Spec.Template.Spec.DisableHealthTimeout).To(HaveValue(BeTrue()))
		Expect([]string{until("racks"), until("racks-old")}).To(HaveEach("2026-11-25T12:00:00Z"))
		Expect(until("cloud")).To(BeEmpty())
		Expect(deployment("cloud").Spec.Template.Spec.DisableHealthTimeout).To(BeNil())
		Expect(patched).To(HaveLen(4))

		By("doing that once")
		clock.Step(time.Minute)
		reconciled()
		Expect(patched).To(HaveLen(4))
		Expect(recorder.Events).NotTo(Receive())

		By("ending it one health timeout after the last machine is back")
		clock.Step(time.Hour)
		setReady(corev1.ConditionTrue, "racks-0", "racks-1")
		Expect(reconciled().RequeueAfter).To(Equal(resync))
		Expect(reason("racks")).To(Equal(v1alpha1.ReasonSiteRecovering))
		Expect(recorder.Events).To(Receive(HavePrefix("Normal SiteRecovering")))
		clock.Step(4*time.Minute + 50*time.Second)
		Expect(reconciled().RequeueAfter).To(Equal(10 * time.Second))
		clock.Step(10 * time.Second)
		Expect(reconciled()).To(Equal(reconcile.Result{}))
		Expect(condition("racks")).To(And(HaveField("Status", gardencorev1beta1.ConditionFalse),
			HaveField("Reason", v1alpha1.ReasonQuarantineRecovered)))
		restored := deployment("racks")
		Expect(restored.Spec.Template.Spec.DisableHealthTimeout).To(BeNil())
		Expect(restored.Spec.Paused).To(BeFalse())
		Expect(restored.Annotations).To(Equal(map[string]string{extensionsv1alpha1.ScaleDownUnreadyTimeAnnotation: "2h0m0s"}),
			"the pool's setting for the site")
		Expect(set("racks-old").Spec.Template.Spec.DisableHealthTimeout).To(BeNil())
		Expect(set("racks-old").Annotations).To(BeEmpty())
		Expect([]string{until("racks"), until("racks-old")}).To(HaveEach(BeEmpty()))
		Expect(patched).To(HaveLen(8))

		By("not beginning again with what is still lost")
		Expect(reconciled()).To(Equal(reconcile.Result{}))
		Expect(patched).To(HaveLen(8))
	})

	It("should restore what the pool says", func() {
		worker := &extensionsv1alpha1.Worker{}
		Expect(c.Get(ctx, infraKey, worker)).To(Succeed())
		worker.Spec.Pools[0].MachineControllerManagerSettings = &gardencorev1beta1.MachineControllerManagerSettings{
			DisableHealthTimeout: new(true)}
		worker.Spec.Pools[0].ClusterAutoscaler, worker.Spec.Pools[0].ProviderConfig = nil, nil
		Expect(c.Update(ctx, worker)).To(Succeed())
		cut()
		reconciled()
		setReady(corev1.ConditionTrue, "racks-0", "racks-1", "racks-2")
		reconciled()
		clock.Step(5 * time.Minute)
		reconciled()
		Expect(reason("racks")).To(Equal(v1alpha1.ReasonQuarantineRecovered))
		Expect(deployment("racks").Spec.Template.Spec.DisableHealthTimeout).To(HaveValue(BeTrue()))
		Expect(set("racks-old").Spec.Template.Spec.DisableHealthTimeout).To(HaveValue(BeTrue()))
		Expect(deployment("racks").Annotations).To(BeEmpty())
	})

	It("should go on after a restart, from the condition alone", func() {
		cut()
		reconciled()
		clock.Step(10 * time.Hour)
		r = &reconciler{client: c, events: r.events, clock: clock}
		d := deployment("racks")
		d.Annotations, d.Spec.Template.Spec.MachineConfiguration = nil, nil // written by a reconciliation that did not know of the quarantine
		Expect(c.Update(ctx, d)).To(Succeed())
		Expect(reconciled().RequeueAfter).To(Equal(resync))
		Expect(condition("racks").LastTransitionTime.Time).To(BeTemporally("==", now))
		Expect(deployment("racks").Spec.Template.Spec.DisableHealthTimeout).To(HaveValue(BeTrue()))
		Expect(until("racks")).To(Equal("2026-11-25T12:00:00Z"))

		By("expiring")
		clock.Step(14*time.Hour - 30*time.Second)
		Expect(reconciled().RequeueAfter).To(Equal(30 * time.Second))
		clock.Step(30 * time.Second)
		Expect(reconciled()).To(Equal(reconcile.Result{}))
		Expect(reason("racks")).To(Equal(v1alpha1.ReasonQuarantineExpired))
		Expect(until("racks")).To(BeEmpty())
	})

	It("should quarantine all sites if all are cut off, also small ones", func() {
		setReady(corev1.ConditionUnknown, "racks-0", "racks-1", "racks-2", "cloud-0")
		for _, name := range []string{"cloud-1", "cloud-2"} {
			Expect(c.Delete(ctx, &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})).To(Succeed())
		}
		reconciled()
		Expect([]string{reason("racks"), reason("cloud")}).To(HaveEach(v1alpha1.ReasonSiteCutOff))
		Expect(until("cloud")).NotTo(BeEmpty())
	})

	It("should take the site's API for the second witness of a small site", func() {
		for _, name := range []string{"racks-1", "racks-2"} {
			Expect(c.Delete(ctx, &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})).To(Succeed())
		}
		setReady(corev1.ConditionUnknown, "racks-0")
		reconciled()
		Expect(reason("racks")).To(BeEmpty())
		current := infra()
		current.Status.Conditions[0].Status, current.Status.Conditions[0].Reason = gardencorev1beta1.ConditionFalse, sitehealth.ReasonUnreachable
		Expect(c.Status().Update(ctx, current)).To(Succeed())
		reconciled()
		Expect(reason("racks")).To(Equal(v1alpha1.ReasonSiteCutOff))
	})

	DescribeTable("should lift a quarantine, and not begin another", func(off, on func(), why string) {
		cut()
		off()
		setCluster()
		reconciled()
		Expect(reason("racks")).To(BeEmpty())
		on()
		setCluster()
		reconciled()
		Expect(reason("racks")).To(Equal(v1alpha1.ReasonSiteCutOff))
		off()
		setCluster()
		Expect(reconciled()).To(Equal(reconcile.Result{}))
		Expect(condition("racks")).To(And(HaveField("Status", gardencorev1beta1.ConditionFalse), HaveField("Message", ContainSubstring(why))))
		Expect(until("racks")).To(BeEmpty())
		Expect(deployment("racks").Spec.Template.Spec.DisableHealthTimeout).To(BeNil())
	},
		Entry("hibernation", func() { shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)} },
			func() { shoot.Spec.Hibernation = nil }, "the shoot is hibernated"),
		Entry("deletion", func() { shoot.DeletionTimestamp = new(metav1.NewTime(now)) }, func() { shoot.DeletionTimestamp = nil },
			"the shoot is being deleted"),
		Entry("annotation", func() { shoot.Annotations = map[string]string{v1alpha1.AnnotationEndQuarantine: "cloud, racks"} },
			func() { shoot.Annotations = map[string]string{v1alpha1.AnnotationEndQuarantine: "cloud"} }, "annotation"),
		Entry("share of zero", func() { profile.Sites[0].Quarantine = &v1alpha1.Quarantine{Share: new(int32(0))} },
			func() { profile.Sites[0].Quarantine = nil }, "the CloudProfile disables it"),
	)

	It("should leave a migrated or deleted Infrastructure as it is", func() {
		cut()
		current := infra()
		current.Annotations = map[string]string{v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationMigrate}
		current.Finalizers = []string{"test/finalizer"}
		Expect(c.Update(ctx, current)).To(Succeed())
		Expect(reconciled()).To(Equal(reconcile.Result{}))
		Expect(reason("racks")).To(BeEmpty())
		current = infra()
		current.Annotations = nil
		Expect(c.Update(ctx, current)).To(Succeed())
		Expect(c.Delete(ctx, current)).To(Succeed())
		Expect(reconciled()).To(Equal(reconcile.Result{}))
		Expect(reason("racks")).To(BeEmpty())
		infraKey := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: "gone"}}
		Expect(r.Reconcile(ctx, infraKey)).To(Equal(reconcile.Result{}))
	})

	It("should keep the condition of a site that the CloudProfile does not have any more, with the defaults", func() {
		profile.Sites = profile.Sites[1:]
		setCluster()
		cut()
		reconciled()
		Expect(reason("racks")).To(Equal(v1alpha1.ReasonSiteCutOff))
		for i := range 3 {
			Expect(c.Delete(ctx, &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
				Name: fmt.Sprintf("racks-%d", i)}})).To(Succeed())
		}
		reconciled()
		clock.Step(5 * time.Minute)
		reconciled()
		Expect(reason("racks")).To(Equal(v1alpha1.ReasonQuarantineRecovered))
		reconciled()
		Expect(reason("racks")).To(BeEmpty(), "no machine can be lost")
	})

	It("should hold nothing before it is recorded, and record nothing over changes of others", func() {
		cut()
		conflict := apierrors.NewConflict(extensionsv1alpha1.Resource("infrastructures"), "s", errors.New("changed"))
		r.client = interceptor.NewClient(c, interceptor.Funcs{SubResourcePatch: func(_ context.Context, _ client.Client, _ string,
			object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
			data, err := patch.Data(object)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(data)).To(ContainSubstring("resourceVersion"))
			return conflict
		}})
		_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: infraKey})
		Expect(err).To(MatchError(conflict))
		Expect(patched).To(BeEmpty())
		Expect(recorder.Events).NotTo(Receive())
	})

	It("should try all objects although one fails", func() {
		cut()
		r.client = interceptor.NewClient(c, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, object client.Object,
			patch client.Patch, o ...client.PatchOption) error {
			if _, ok := object.(*machinev1alpha1.MachineDeployment); ok {
				return errors.New("no")
			}
			return c.Patch(ctx, object, patch, o...)
		}})
		_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: infraKey})
		Expect(err).To(MatchError("no"))
		Expect(until("racks")).NotTo(BeEmpty())
	})

	It("should be added to a manager", func() {
		mgr, err := manager.New(&rest.Config{Host: "https://127.0.0.1:1"},
			manager.Options{Scheme: landscape.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(AddToManagerWithOptions(mgr, setup.Options{})).To(Succeed())
	})

	DescribeTable("should see a machine", func(change func(*machinev1alpha1.Machine), sees bool) {
		before := &machinev1alpha1.Machine{}
		before.Status.CurrentStatus.Phase = machinev1alpha1.MachineRunning
		after := before.DeepCopy()
		change(after)
		Expect(contactChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(sees))
	},
		Entry("whose node changes", func(m *machinev1alpha1.Machine) {
			m.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		}, true),
		Entry("whose phase changes", func(m *machinev1alpha1.Machine) { m.Status.CurrentStatus.Phase = machinev1alpha1.MachineUnknown }, true),
		Entry("that is deleted", func(m *machinev1alpha1.Machine) { m.DeletionTimestamp = new(metav1.NewTime(now)) }, true),
		Entry("but not whose labels change", func(m *machinev1alpha1.Machine) { m.Labels = map[string]string{"a": "b"} }, false),
	)
})
