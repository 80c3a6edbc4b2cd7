// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"runtime"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
)

var _ = Describe("Watches", func() {
	var (
		cloud    *toyplatform.Cloud
		recorder *record.FakeRecorder
		watches  *Watches
		worker   *extensionsv1alpha1.Worker
		key      types.NamespacedName

		power = platform.Fault{Machine: "m-7", Host: "rack-07", Message: "power management error: no answer of the BMC"}
		disk  = platform.Fault{Machine: "m-7", Host: "rack-07", Message: "provisioning error: no disk"}
		other = platform.Fault{Machine: "m-8", Host: "rack-08", Message: "power management error: no answer of the BMC"}
	)

	newSite := func(name string, p v1alpha1.Platform, token string) site.Site {
		return site.Site{Name: name, Platform: p, Profile: &v1alpha1.CloudProfileSite{Name: name}, Credentials: site.Credentials{"token": token}}
	}
	racks := func() site.Site { return newSite("racks", toyplatform.Platform, "t0p-s3cret") }
	overview := func(ctx context.Context) func() Overview {
		return func() Overview { return watches.Overview(ctx, key) }
	}

	BeforeEach(func() {
		goroutines := gleak.Goroutines()
		DeferCleanup(func() { Eventually(gleak.Goroutines).ShouldNot(gleak.HaveLeaked(goroutines)) })

		cloud = toyplatform.NewCloud()
		recorder = record.NewFakeRecorder(1000)
		worker = &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "s", UID: "1"}}
		key = client.ObjectKeyFromObject(worker)
		reader := fakeclient.NewClientBuilder().WithScheme(landscape.Scheme).
			WithObjects(&machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: worker.Namespace, Name: "m-7"}}).Build()
		watches = newWatches(GinkgoLogr, platform.Registry[platform.Faults]{toyplatform.Platform: toyplatform.NewFaults(cloud)},
			&teller{recorder: recorder, reader: reader},
			timing{minDelay: 10 * time.Millisecond, maxDelay: 50 * time.Millisecond, firstAnswer: 2 * time.Second})
		started, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- watches.Start(started) }()
		DeferCleanup(func() {
			stop()
			Eventually(done).Should(Receive(BeNil()))
		})
	})

	It("tell of a fault and of its end, the Worker and the Machine that is there", func(ctx SpecContext) {
		watches.set(worker, []site.Site{racks()}, nil)
		Expect(watches.Overview(ctx, key)).To(Equal(Overview{}))
		cloud.SetFaults("racks", power)
		const note = `site "racks": host rack-07 of machine m-7: power management error: no answer of the BMC`
		Eventually(recorder.Events).Should(Receive(Equal("Warning MachineFault " + note)))
		Eventually(recorder.Events).Should(Receive(Equal("Warning MachineFault " + note)))
		Expect(watches.Overview(ctx, key).Faults).To(Equal([]string{note}))

		By("telling what is new about the machine and of another host, but nothing twice")
		cloud.SetFaults("racks", disk, other)
		Eventually(recorder.Events).Should(Receive(HaveSuffix("no disk")))
		Eventually(recorder.Events).Should(Receive(HaveSuffix("no disk")))
		Eventually(recorder.Events).Should(Receive(ContainSubstring("rack-08")))
		cloud.SetFaults("racks", other, disk)
		Eventually(overview(ctx)).Should(HaveField("Faults", HaveLen(2)))
		Consistently(recorder.Events, "100ms").ShouldNot(Receive())

		cloud.SetFaults("racks", other)
		const gone = `Normal MachineFaultGone site "racks": host rack-07 of machine m-7: there is no fault any more`
		Eventually(recorder.Events).Should(Receive(Equal(gone)))
		Eventually(recorder.Events).Should(Receive(Equal(gone)))
		Eventually(overview(ctx)).Should(HaveField("Faults", HaveLen(1)))
	})

	It("are those of the sites whose platform tells of faults", func(ctx SpecContext) {
		watches.set(worker, []site.Site{newSite("cloud", v1alpha1.PlatformOpenStack, ""), racks()}, nil)
		Eventually(cloud.Watches).Should(ConsistOf(HaveField("Site.Name", "racks")))
		Expect(watches.Overview(ctx, key)).To(Equal(Overview{}))

		watches.set(worker, []site.Site{newSite("cloud", v1alpha1.PlatformOpenStack, "")}, nil)
		Eventually(cloud.Watches).Should(BeEmpty())
		Expect(watches.Overview(ctx, key)).To(Equal(Overview{}))
	})

	It("begin again only if the site is reached in another way, and keep what they know", func(ctx SpecContext) {
		watches.set(worker, []site.Site{racks()}, nil)
		cloud.SetFaults("racks", power)
		Eventually(overview(ctx)).Should(HaveField("Faults", HaveLen(1)))
		running := cloud.Watches()
		Expect(running).To(HaveLen(1))

		watches.set(worker, []site.Site{racks()}, nil)
		Consistently(cloud.Watches, "100ms").Should(Equal(running))

		watches.set(worker, []site.Site{newSite("racks", toyplatform.Platform, "r0tated")}, nil)
		Eventually(cloud.Watches).Should(ConsistOf(HaveField("Site.Credentials", HaveKeyWithValue("token", "r0tated"))))
		Eventually(overview(ctx)).Should(HaveField("Faults", HaveLen(1)))
		Eventually(recorder.Events).Should(Receive())
		Eventually(recorder.Events).Should(Receive())
		Consistently(recorder.Events, "100ms").ShouldNot(Receive(), "the fault is told once")
	})

	It("begin again when they break, say why until then, and do not forget the faults", func(ctx SpecContext) {
		watches.set(worker, []site.Site{racks()}, nil)
		cloud.SetFaults("racks", power)
		Eventually(overview(ctx)).Should(HaveField("Faults", HaveLen(1)))

		cloud.Fail("racks", platform.NewError(platform.ClassUnauthenticated, "the token was refused"))
		cloud.BreakWatches("racks", platform.NewError(platform.ClassTransient, "connection lost"))
		Eventually(func() string { return fmt.Sprint(watches.Overview(ctx, key).Unwatched) }).
			Should(Equal(`[site "racks": the token was refused (its machines are not watched for faults)]`))
		Expect(platform.ClassOf(watches.Overview(ctx, key).Unwatched[0])).To(Equal(platform.ClassUnauthenticated))
		Expect(watches.Overview(ctx, key).Faults).To(HaveLen(1))

		cloud.Fail("racks", nil)
		Eventually(overview(ctx)).Should(HaveField("Unwatched", BeEmpty()))
		Expect(watches.Overview(ctx, key).Faults).To(HaveLen(1))
	})

	It("do not say at once that a site is not watched", func(ctx SpecContext) {
		watches.timing.grace = time.Hour
		watches.set(worker, []site.Site{racks()}, nil)
		Expect(watches.Overview(ctx, key)).To(Equal(Overview{}))
		cloud.Fail("racks", platform.NewError(platform.ClassTransient, "connection refused"))
		cloud.BreakWatches("racks", platform.NewError(platform.ClassTransient, "connection lost"))
		Eventually(cloud.Watches).Should(BeEmpty())
		Expect(watches.Overview(ctx, key)).To(Equal(Overview{}))
	})

	It("of one site that hangs delay no other, and are said to have no answer", func(ctx SpecContext) {
		release := cloud.Hang("racks")
		defer release()
		watches.set(worker, []site.Site{racks(), newSite("racks2", toyplatform.Platform, "")}, nil)
		cloud.SetFaults("racks2", other)
		Eventually(recorder.Events).Should(Receive(ContainSubstring(`site "racks2": host rack-08`)))
		Expect(watches.Overview(ctx, key).Unwatched).To(ConsistOf(MatchError(ContainSubstring(`site "racks": no answer (its machines are not watched for faults)`))))

		began := time.Now()
		Expect(watches.Overview(ctx, key).Faults).To(HaveLen(1))
		Expect(time.Since(began)).To(BeNumerically("<", time.Second), "it waits only after a start")
	})

	It("stay when the sites of the Worker are not known", func(ctx SpecContext) {
		watches.set(worker, []site.Site{racks()}, nil)
		Eventually(cloud.Watches).Should(HaveLen(1))
		watches.set(worker, nil, platform.NewError(platform.ClassConfiguration, "the CloudProfile cannot be read"))
		Consistently(cloud.Watches, "100ms").Should(HaveLen(1))
		Expect(watches.Overview(ctx, key).Unwatched).To(ConsistOf(MatchError("the CloudProfile cannot be read")))
	})

	It("are not known of a Worker that nobody has looked at", func(ctx SpecContext) {
		Expect(watches.Overview(ctx, key).Unwatched).To(ConsistOf(MatchError("the sites of the Worker are not known yet")))
		go func() {
			defer GinkgoRecover()
			watches.set(worker, []site.Site{racks()}, nil)
		}()
		Expect(watches.Overview(ctx, key)).To(Equal(Overview{}), "it waits for the Worker")
	})

	It("end with their Worker, and begin anew with one of the same name", func(ctx SpecContext) {
		watches.set(worker, []site.Site{racks()}, nil)
		cloud.SetFaults("racks", power)
		Eventually(recorder.Events).Should(Receive())
		Eventually(recorder.Events).Should(Receive())

		again := worker.DeepCopy()
		again.UID = "2"
		watches.set(again, []site.Site{racks()}, nil)
		Eventually(recorder.Events).Should(Receive())
		Eventually(cloud.Watches).Should(HaveLen(1))

		watches.remove(key)
		Eventually(cloud.Watches).Should(BeEmpty())
	})

	It("leak nothing when Workers come, change and go", func(ctx SpecContext) {
		before := runtime.NumGoroutine()
		for i := range 50 {
			w := worker.DeepCopy()
			w.Name = fmt.Sprint(i)
			for token := range 5 {
				watches.set(w, []site.Site{newSite("racks", toyplatform.Platform, fmt.Sprint(token))}, nil)
			}
		}
		Eventually(cloud.Watches).Should(HaveLen(50))
		cloud.BreakWatches("racks", platform.NewError(platform.ClassTransient, "connection lost"))
		for i := range 50 {
			watches.remove(types.NamespacedName{Namespace: worker.Namespace, Name: fmt.Sprint(i)})
		}
		Eventually(cloud.Watches).Should(BeEmpty())
		Eventually(runtime.NumGoroutine).Should(BeNumerically("<=", before))
	})

	It("are counted", func(ctx SpecContext) {
		watches.set(worker, []site.Site{racks(), newSite("down", toyplatform.Platform, "")}, nil)
		Eventually(cloud.Watches).Should(HaveLen(2))
		cloud.SetFaults("racks", power, other)
		cloud.Fail("down", platform.NewError(platform.ClassTransient, "connection refused"))
		cloud.BreakWatches("down", platform.NewError(platform.ClassTransient, "connection lost"))
		Eventually(func() []string { return gauges(watches) }).Should(ConsistOf(
			`hybrid_site_faulty_machines shoot--p--s down 0`, `hybrid_site_faulty_machines shoot--p--s racks 2`,
			`hybrid_site_watched shoot--p--s down 0`, `hybrid_site_watched shoot--p--s racks 1`,
		))
		watches.remove(key)
		Expect(gauges(watches)).To(BeEmpty())
	})

	DescribeTable("wait before they begin again", func(err error, atLeast time.Duration) {
		backoff := defaultTiming().backoff()
		var last time.Duration
		for range 20 {
			last = max(backoff.Step(), retryAfter(err))
		}
		Expect(last).To(BeNumerically(">=", atLeast))
	},
		Entry("longer and longer", platform.NewError(platform.ClassTransient, "down"), time.Minute),
		Entry("as long as the site asks", platform.InSite("racks", &platform.Error{Class: platform.ClassTransient, RetryAfter: time.Hour, Err: context.DeadlineExceeded}), time.Hour),
	)
})

// gauges returns the names, label values and values of the gauges that a scrape finds.
func gauges(collector prometheus.Collector) []string {
	registry := prometheus.NewPedanticRegistry()
	Expect(registry.Register(collector)).To(Succeed())
	families, err := registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	var gauges []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			gauge := family.GetName()
			for _, label := range metric.GetLabel() {
				gauge += " " + label.GetValue()
			}
			gauges = append(gauges, fmt.Sprintf("%s %v", gauge, metric.GetGauge().GetValue()))
		}
	}
	return gauges
}
