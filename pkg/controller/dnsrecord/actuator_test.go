// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dnsrecord

import (
	"context"
	"errors"
	"fmt"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubernetesclient "github.com/gardener/gardener/pkg/client/kubernetes"
	reconcilerutils "github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// served is a DNS service that keeps values by zone.
type served struct {
	zones   map[string][]string
	found   string
	access  dns.Access
	known   []bool
	openErr error
	// err is the error of the next change, and partial lets the change happen nevertheless.
	err     error
	partial bool
}

func (s *served) Open(_ context.Context, access dns.Access) (dns.Provider, error) {
	s.access = access
	return s, s.openErr
}

func (s *served) Zone(_ context.Context, given, name string) (string, error) {
	switch {
	case given != "":
		return given, nil
	case s.found == "":
		return "", platform.NewError(platform.ClassNotFound, "no zone for %s", name)
	}
	return s.found, nil
}

func (s *served) Ensure(_ context.Context, zone string, record dns.Record, known bool) error {
	s.known = append(s.known, known)
	err := s.err
	s.err = nil
	if err == nil || s.partial {
		if _, ok := s.zones[zone]; !ok {
			return platform.NewError(platform.ClassNotFound, "no zone %s", zone)
		}
		s.zones[zone] = record.Values
	}
	return err
}

func (s *served) Delete(_ context.Context, zone string, record dns.Record) error {
	if s.err != nil {
		return s.err
	}
	var left []string
	for _, value := range s.zones[zone] {
		if !record.SameValues([]string{value}) && !contains(record.Values, value) {
			left = append(left, value)
		}
	}
	s.zones[zone] = left
	return nil
}

func contains(values []string, value string) bool {
	for _, v := range values {
		if v == value {
			return true
		}
	}
	return false
}

var _ = Describe("Actuator", func() {
	var (
		service  *served
		record   *extensionsv1alpha1.DNSRecord
		cluster  *extensionscontroller.Cluster
		writes   int
		c        client.Client
		recorder *events.FakeRecorder
		a        *actuator
		log      = logr.Discard()
	)

	BeforeEach(func() {
		service = &served{zones: map[string][]string{"z1": nil, "z2": nil}, found: "z1"}
		record = &extensionsv1alpha1.DNSRecord{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--a--b", Name: "record"},
			Spec: extensionsv1alpha1.DNSRecordSpec{
				DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.DNSTypeRFC2136},
				SecretRef:   corev1.SecretReference{Namespace: "shoot--a--b", Name: "dns"},
				Name:        "api.example.test", RecordType: "A", Values: []string{"192.0.2.1"},
			},
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--a--b", Name: "dns"}, Data: map[string][]byte{
			"server": []byte("ns.test"), "tsigKeyName": []byte("k"), "tsigSecret": []byte("aHVzaA=="),
		}}
		cluster, writes = nil, 0
		c = fakeclient.NewClientBuilder().WithScheme(kubernetesclient.SeedScheme).WithObjects(record, secret).WithStatusSubresource(record).
			WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object,
				patch client.Patch, opts ...client.SubResourcePatchOption) error {
				writes++
				return c.SubResource(name).Patch(ctx, obj, patch, opts...)
			}}).Build()
		recorder = events.NewFakeRecorder(10)
		a = NewActuator(c, c, recorder, dns.Registry{v1alpha1.DNSTypeRFC2136: service, v1alpha1.DNSTypeDesignate: service}).(*actuator)
	})

	created := func() gardencorev1beta1.ConditionStatus {
		condition := v1beta1helper.GetCondition(record.Status.Conditions, extensionsv1alpha1.ConditionTypeCreated)
		if condition == nil {
			return ""
		}
		return condition.Status
	}
	// succeeded is what Gardener's library writes after a success.
	succeeded := func() {
		Expect(setCreated(record, gardencorev1beta1.ConditionTrue, "Success", "ok")).To(Succeed())
		Expect(c.Status().Update(context.Background(), record)).To(Succeed())
	}
	reconcile := func(ctx context.Context) {
		GinkgoHelper()
		Expect(a.Reconcile(ctx, log, record, cluster)).To(Succeed())
		succeeded()
	}

	// arrive makes the record what it is in another seed: of its status there is nothing but the state.
	arrive := func(ctx context.Context, values ...string) {
		GinkgoHelper()
		record.Spec.Values = values
		Expect(c.Update(ctx, record)).To(Succeed())
		record.Status.Conditions, record.Status.Zone = nil, nil
		Expect(c.Status().Update(ctx, record)).To(Succeed())
	}

	It("should write down what it writes before it does, and write nothing if nothing changed", func(ctx SpecContext) {
		reconcile(ctx)
		Expect(service.zones["z1"]).To(ConsistOf("192.0.2.1"))
		Expect(*record.Status.Zone).To(Equal("z1"))
		Expect(string(record.Status.State.Raw)).To(MatchJSON(`{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1",` +
			`"kind":"DNSRecordState","zones":[{"zone":"z1","values":["192.0.2.1"]}]}`))
		Expect(writes).To(Equal(1))
		writes = 0
		reconcile(ctx)
		Expect(writes).To(BeZero())
		Expect(service.known).To(Equal([]bool{false, true}))
	})

	It("should keep what may have been written when an answer is lost, so that it is deleted", func(ctx SpecContext) {
		service.err, service.partial = platform.NewError(platform.ClassTransient, "lost"), true
		Expect(a.Reconcile(ctx, log, record, cluster)).NotTo(Succeed())
		Expect(created()).To(Equal(gardencorev1beta1.ConditionUnknown))
		Expect(a.Delete(ctx, log, record, cluster)).To(Succeed())
		Expect(service.zones["z1"]).To(BeEmpty())
	})

	It("should take back what a service refused the first time, so that nothing is deleted", func(ctx SpecContext) {
		service.err = platform.NewError(platform.ClassUnauthenticated, "wrong")
		Expect(v1beta1helper.ExtractErrorCodes(a.Reconcile(ctx, log, record, cluster))).To(ConsistOf(gardencorev1beta1.ErrorInfraUnauthenticated))
		Expect(created()).To(Equal(gardencorev1beta1.ConditionFalse))
		Expect(record.Status.Zone).To(BeNil())
		reconcile(ctx)
		service.err = platform.NewError(platform.ClassUnauthenticated, "wrong")
		Expect(a.Reconcile(ctx, log, record, cluster)).NotTo(Succeed())
		Expect(created()).To(Equal(gardencorev1beta1.ConditionTrue))
		Expect(*record.Status.Zone).To(Equal("z1"))
	})

	DescribeTable("should not hold up a shoot whose record needs no change while the service does not respond",
		func(ctx SpecContext, fail func(error)) {
			reconcile(ctx)
			fail(platform.NewError(platform.ClassTransient, "down"))
			Expect(a.Reconcile(ctx, log, record, cluster)).To(Succeed())
			Expect(recorder.Events).To(Receive(ContainSubstring("RecordStays")))
			Expect(service.zones["z1"]).To(ConsistOf("192.0.2.1"))
		},
		Entry("when it is opened", func(err error) { service.openErr = err }),
		Entry("when the record is compared", func(err error) { service.err = err }),
	)

	It("should not take announced values for written ones", func(ctx SpecContext) {
		reconcile(ctx)
		record.Spec.Values = []string{"192.0.2.1", "192.0.2.2"}
		Expect(c.Update(ctx, record)).To(Succeed())
		for range 2 {
			service.err = platform.NewError(platform.ClassTransient, "down")
			Expect(a.Reconcile(ctx, log, record, cluster)).To(MatchError(ContainSubstring("down")))
		}
		reconcile(ctx)
		Expect(service.zones["z1"]).To(ConsistOf("192.0.2.1", "192.0.2.2"))
		service.err = platform.NewError(platform.ClassTransient, "down")
		Expect(a.Reconcile(ctx, log, record, cluster)).To(Succeed())
		record.Spec.Zone, service.err = new("z2"), platform.NewError(platform.ClassTransient, "down")
		Expect(c.Update(ctx, record)).To(Succeed())
		Expect(a.Reconcile(ctx, log, record, cluster)).To(MatchError(ContainSubstring("down")))
	})

	It("should not delete a record as long as the service does not respond, as its name would stay taken", func(ctx SpecContext) {
		reconcile(ctx)
		service.openErr = errors.New("down")
		Expect(a.Delete(ctx, log, record, cluster)).To(MatchError(ContainSubstring("down")))
	})

	It("should delete values that it wrote before the last change failed", func(ctx SpecContext) {
		reconcile(ctx)
		record.Spec.Values = []string{"192.0.2.2"}
		service.err = platform.NewError(platform.ClassTransient, "down")
		Expect(a.Reconcile(ctx, log, record, cluster)).NotTo(Succeed())
		service.zones["z1"] = append(service.zones["z1"], "192.0.2.66")
		Expect(a.Delete(ctx, log, record, cluster)).To(Succeed())
		Expect(service.zones["z1"]).To(ConsistOf("192.0.2.66"))
	})

	It("should move to another zone, and find a zone again that is gone", func(ctx SpecContext) {
		reconcile(ctx)
		record.Spec.Zone = new("z2")
		reconcile(ctx)
		Expect(service.zones).To(Equal(map[string][]string{"z1": nil, "z2": {"192.0.2.1"}}))
		Expect(*record.Status.Zone).To(Equal("z2"))

		record.Spec.Zone = nil
		service.zones, service.found = map[string][]string{"z3": nil}, "z3"
		reconcile(ctx)
		Expect(*record.Status.Zone).To(Equal("z3"))
		Expect(service.zones["z3"]).To(ConsistOf("192.0.2.1"))
	})

	It("should delete without a state, and nothing without a zone", func(ctx SpecContext) {
		service.zones["z1"] = []string{"192.0.2.1", "192.0.2.2"}
		Expect(a.Delete(ctx, log, record, cluster)).To(Succeed())
		Expect(service.zones["z1"]).To(ConsistOf("192.0.2.2"))
		service.found = ""
		Expect(a.Delete(ctx, log, record, cluster)).To(Succeed())
	})

	It("should change nothing to migrate, and know what came along to restore", func(ctx SpecContext) {
		reconcile(ctx)
		Expect(a.Migrate(ctx, log, record, cluster)).To(Succeed())
		Expect(service.zones["z1"]).To(ConsistOf("192.0.2.1"))
		arrive(ctx, "192.0.2.2")
		Expect(a.Restore(ctx, log, record, cluster)).To(Succeed())
		Expect(service.zones["z1"]).To(ConsistOf("192.0.2.2"))
		Expect(string(record.Status.State.Raw)).NotTo(ContainSubstring("192.0.2.1"))
	})

	DescribeTable("should delete what came along although it was never restored",
		func(ctx SpecContext, value string, openErr error) {
			reconcile(ctx)
			arrive(ctx, value)
			service.openErr = openErr
			Expect(a.Restore(ctx, log, record, cluster)).NotTo(Succeed())
			Expect(c.Get(ctx, client.ObjectKeyFromObject(record), record)).To(Succeed())
			Expect(created()).To(Equal(gardencorev1beta1.ConditionUnknown))
			Expect(service.zones["z1"]).To(ConsistOf("192.0.2.1"))
			service.openErr = nil
			Expect(a.Delete(ctx, log, record, cluster)).To(Succeed())
			Expect(service.zones["z1"]).To(BeEmpty())
		},
		Entry("because the service could not be reached", "192.0.2.1", errors.New("down")),
		Entry("because a value is wrong", "x", nil),
	)

	It("should give up a forced deletion and say so", func(ctx SpecContext) {
		reconcile(ctx)
		service.openErr = errors.New("down")
		Expect(a.Delete(ctx, log, record, cluster)).NotTo(Succeed())
		Expect(a.ForceDelete(ctx, log, record, cluster)).To(Succeed())
		Expect(recorder.Events).To(Receive(ContainSubstring("RecordLeft")))
		service.openErr = nil
		Expect(a.ForceDelete(ctx, log, record, cluster)).To(Succeed())
		Expect(service.zones["z1"]).To(BeEmpty())
	})

	It("should tell nobody of an error while a service is slow or does not answer with the record yet, and delete nothing that was not "+
		"asked for", func(ctx SpecContext) {
		service.openErr = context.DeadlineExceeded
		left := false
		slow := &turn{turns: newTurns(nil, 1), record: client.ObjectKeyFromObject(record), leave: func() { left = true }}
		ctx2 := context.WithValue(ctx, turnKey{}, slow)
		Expect(slow.at("s")).To(BeTrue())
		slow.left = 0
		_, isSlow := errors.AsType[*reconcilerutils.RequeueAfterError](a.result(ctx2, record, context.DeadlineExceeded))
		Expect(isSlow).To(BeTrue())
		Expect(left).To(BeTrue())
		Expect(created()).To(Equal(gardencorev1beta1.ConditionFalse))

		service.openErr, service.err, left = nil, platform.NewProgress("on its way"), false
		service.partial = true
		next := &turn{turns: newTurns(nil, 1), record: client.ObjectKeyFromObject(record), leave: func() { left = true }}
		ctx3 := context.WithValue(ctx, turnKey{}, next)
		err := a.Reconcile(ctx3, log, record, cluster)
		again, ok := errors.AsType[*reconcilerutils.RequeueAfterError](err)
		Expect(ok).To(BeTrue())
		Expect(again.RequeueAfter).To(Equal(nextTurn))
		Expect(left).To(BeTrue())
		Expect(created()).To(Equal(gardencorev1beta1.ConditionUnknown))
		Expect(a.Reconcile(ctx3, log, record, cluster)).To(Succeed())
		Expect(service.known).To(Equal([]bool{false, true}))
	})

	It("should wait for as long as a service asks to", func(ctx SpecContext) {
		throttled := platform.NewError(platform.ClassTransient, "throttled")
		throttled.RetryAfter = time.Minute
		service.err = throttled
		Expect(a.Reconcile(ctx, log, record, cluster)).To(Equal(&reconcilerutils.RequeueAfterError{Cause: throttled, RequeueAfter: time.Minute}))
	})

	It("should refuse wrong values, credentials and types before it asks anybody", func(ctx SpecContext) {
		for _, change := range []func(){
			func() { record.Spec.Values = []string{"x"} },
			func() { record.Spec.Values = []string{"192.0.2.1"}; record.Spec.Type = "other" },
			func() { record.Spec.Type = v1alpha1.DNSTypeDesignate },
		} {
			change()
			Expect(v1beta1helper.ExtractErrorCodes(a.Reconcile(ctx, log, record,
				cluster))).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
		}
		Expect(service.known).To(BeEmpty())
		Expect(writes).To(BeZero())
	})

	Describe("the credentials of a site", func() {
		BeforeEach(func(ctx SpecContext) {
			record.Spec.Type, record.Spec.SecretRef.Name = v1alpha1.DNSTypeDesignate, "cloudprovider"
			Expect(c.Update(ctx, record)).To(Succeed())
			Expect(c.Create(ctx,
				&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--a--b", Name: "cloudprovider"}, Data: map[string][]byte{
					"dns.site": []byte("cloud"), "cloud.applicationCredentialID": []byte("i"), "cloud.applicationCredentialSecret": []byte("s"),
					"vc.username": []byte("v"),
				}})).To(Succeed())
		})

		It("should be those of the shoot's Secret", func(ctx SpecContext) {
			profile := `{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"CloudProfileConfig","sites":[{"name":"cloud",` +
				`"region":"r","openstack":{"authURL":"https://keystone.test/v3","region":"R"}}]}`
			cluster = &extensionscontroller.Cluster{CloudProfile: &gardencorev1beta1.CloudProfile{Spec: gardencorev1beta1.CloudProfileSpec{
				ProviderConfig: &runtime.RawExtension{Raw: []byte(profile)}}}}
			reconcile(ctx)
			Expect(service.access.Credentials).To(Equal(dns.Credentials{"applicationCredentialID": "i", "applicationCredentialSecret": "s"}))
			Expect(service.access.Site.OpenStack.AuthURL).To(Equal("https://keystone.test/v3"))
			cluster.CloudProfile.Spec.ProviderConfig.Raw = []byte(`{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1",` +
				`"kind":"CloudProfileConfig"}`)
			Expect(a.Reconcile(ctx, log, record, cluster)).To(MatchError(ContainSubstring(`no site "cloud"`)))
		})

		It("should be validated again", func(ctx SpecContext) {
			profile := `{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"CloudProfileConfig","sites":[{"name":"cloud",` +
				`"region":"r","openstack":{"authURL":"https://keystone.test/v3","region":"R"}}]}`
			cluster = &extensionscontroller.Cluster{CloudProfile: &gardencorev1beta1.CloudProfile{Spec: gardencorev1beta1.CloudProfileSpec{
				ProviderConfig: &runtime.RawExtension{Raw: []byte(profile)}}}}
			secret := &corev1.Secret{}
			Expect(c.Get(ctx, client.ObjectKey{Namespace: "shoot--a--b", Name: "cloudprovider"}, secret)).To(Succeed())
			secret.Data["cloud.authURL"] = []byte("https://hush.test")
			Expect(c.Update(ctx, secret)).To(Succeed())
			err := a.Reconcile(ctx, log, record, cluster)
			Expect(err).To(MatchError(And(ContainSubstring("data[cloud.authURL]"), Not(ContainSubstring("hush")))))
			Expect(service.known).To(BeEmpty())
		})

		It("should refuse the networks of the seed and the shoot", func(ctx SpecContext) {
			record.Spec.Type, record.Spec.SecretRef.Name = v1alpha1.DNSTypeRFC2136, "dns"
			cluster = &extensionscontroller.Cluster{
				Seed: &gardencorev1beta1.Seed{Spec: gardencorev1beta1.SeedSpec{Networks: gardencorev1beta1.SeedNetworks{
					Nodes: new("10.0.0.0/16"), Pods: "10.1.0.0/16", Services: "fd00::/64", BlockCIDRs: []string{"169.254.169.254/32"},
				}}},
				Shoot: &gardencorev1beta1.Shoot{
					Spec:   gardencorev1beta1.ShootSpec{Networking: &gardencorev1beta1.Networking{Pods: new("10.2.0.0/16")}},
					Status: gardencorev1beta1.ShootStatus{Networking: &gardencorev1beta1.NetworkingStatus{Nodes: []string{"10.250.0.0/22"}}},
				},
			}
			reconcile(ctx)
			Expect(fmt.Sprint(service.access.Refused)).To(Equal("[10.1.0.0/16 fd00::/64 169.254.169.254/32 10.0.0.0/16 10.2.0.0/16 10.250.0.0/22]"))
		})

		It("should need a shoot", func(ctx SpecContext) {
			Expect(a.Reconcile(ctx, log, record, cluster)).To(MatchError(ContainSubstring("there is no shoot")))
		})
	})
})
