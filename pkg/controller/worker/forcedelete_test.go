// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

var _ = Describe("ForceDelete", func() {
	var f *fixture

	BeforeEach(func(ctx SpecContext) {
		f = newFixture(newNamespace())
		f.pool("a", "cloud-a", "rack-1")
		f.create(ctx)
	})

	// machine creates a machine on the site, and its object if it has a class. machineAt does it in a place of the site.
	spec := func(site, place string) *v1alpha1.MachineProviderSpec {
		return &v1alpha1.MachineProviderSpec{Site: site, Shoot: technicalID,
			Blocks: toyapi.Blocks(&toyapi.MachineSpec{Connection: toyapi.Connection{Place: place}})}
	}
	machineAt := func(ctx context.Context, site, place, name, class string) {
		machines := toyplatform.NewMachines(f.cloud)
		created, err := machines.Create(ctx, platform.MachineRequest{Name: name, Spec: spec(site, place)})
		Expect(err).NotTo(HaveOccurred())
		if class != "" {
			Expect(apiServer.Create(ctx, &machinev1alpha1.Machine{
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.worker.Namespace},
				Spec: machinev1alpha1.MachineSpec{ProviderID: created.ProviderID,
					Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: class}},
			})).To(Succeed())
		}
	}
	machine := func(ctx context.Context, site, name, class string) { machineAt(ctx, site, "", name, class) }
	classAt := func(ctx context.Context, name, site, place string) {
		Expect(apiServer.Create(ctx, &machinev1alpha1.MachineClass{
			ObjectMeta:   metav1.ObjectMeta{Name: name, Namespace: f.worker.Namespace},
			ProviderSpec: *mustEncode(spec(site, place)),
		})).To(Succeed())
	}
	class := func(ctx context.Context, name, site string) { classAt(ctx, name, site, "") }
	forceDelete := func(ctx context.Context, timeout time.Duration) []v1alpha1.Orphan {
		GinkgoHelper()
		f.encode()
		a := f.actuator(time.Second).(*actuator)
		a.forceDeleter.timeout = timeout
		Expect(a.ForceDelete(ctx, logr.Discard(), f.worker.DeepCopy(), f.cluster)).To(Succeed())

		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(f.worker), f.worker)).To(Succeed())
		status, err := codec.Decode[v1alpha1.WorkerStatus](f.worker.Status.ProviderStatus)
		Expect(err).NotTo(HaveOccurred())
		return status.Orphans
	}

	It("deletes all machines, also those that nobody remembers and those of a site that left the shoot", func(ctx SpecContext) {
		class(ctx, "known", "cloud")
		class(ctx, "gone", "gone")
		machine(ctx, "cloud", "m1", "known")
		machine(ctx, "racks", "m2", "")
		machine(ctx, "gone", "m3", "gone")
		for i := range 25 {
			machine(ctx, "racks", fmt.Sprintf("many-%d", i), "")
		}

		Expect(forceDelete(ctx, time.Minute)).To(BeEmpty())
		for _, site := range []string{"cloud", "racks", "gone"} {
			Expect(f.cloud.Machines(site)).To(BeEmpty(), site)
		}
		Expect(f.classes(ctx)).To(HaveLen(2), "are gardenlet's")
	})

	It("deletes the machines of all places of a site", func(ctx SpecContext) {
		f.cloud.Spread("racks", "east", "west")
		machineAt(ctx, "racks", "east", "m1", "")
		machineAt(ctx, "racks", "west", "m2", "")

		Expect(forceDelete(ctx, time.Minute)).To(BeEmpty())
		Expect(f.cloud.Machines("racks")).To(BeEmpty())
	})

	It("looks for the machines of a site that left the shoot where each of its machine classes says", func(ctx SpecContext) {
		for _, name := range []string{"east-1", "east-2"} {
			classAt(ctx, name, "gone", "east")
		}
		classAt(ctx, "west", "gone", "west")
		machineAt(ctx, "gone", "east", "m1", "east-1")
		machineAt(ctx, "gone", "west", "m2", "")

		Expect(forceDelete(ctx, time.Minute)).To(BeEmpty())
		Expect(f.cloud.Machines("gone")).To(BeEmpty())
	})

	It("deletes the known machines of a place that only their machine class knows, or says that it cannot", func(ctx SpecContext) {
		classAt(ctx, "south", "racks", "south")
		machineAt(ctx, "racks", "south", "m1", "south")
		f.cloud.Keep("racks", platform.NewError(platform.ClassConflict, "locked"))
		Expect(forceDelete(ctx, time.Minute)).To(HaveExactElements(And(HaveField("Name", "m1"), HaveField("Reason", ContainSubstring("locked")))))

		f.cloud.Keep("racks", nil)
		Expect(forceDelete(ctx, time.Minute)).To(BeEmpty())
		Expect(f.cloud.Machines("racks")).To(BeEmpty())
	})

	It("deletes the machines of the places that it can look at, and says that there may be more in the others", func(ctx SpecContext) {
		class(ctx, "racks", "racks")
		f.cloud.Spread("racks", "east", "west")
		machineAt(ctx, "racks", "east", "m1", "racks")
		machineAt(ctx, "racks", "west", "m2", "racks")
		f.cloud.FailAt("racks", "west", platform.NewError(platform.ClassForbidden, "403"))

		Expect(forceDelete(ctx, time.Minute)).To(HaveExactElements(And(HaveField("Name", "m2"), HaveField("Reason", ContainSubstring("403")))))
		Expect(f.cloud.Machines("racks")).To(Equal([]string{"m2"}))
	})

	DescribeTable("succeeds, deletes what it can and writes down the rest if a site",
		func(ctx SpecContext, breakSite func(), timeout time.Duration, reason string) {
			class(ctx, "racks", "racks")
			machine(ctx, "cloud", "m1", "")
			machine(ctx, "racks", "m2", "racks")
			breakSite()
			Expect(forceDelete(ctx, timeout)).To(HaveExactElements(And(
				HaveField("Site", "racks"), HaveField("Kind", "machine"), HaveField("Name", "m2"), HaveField("ID",
					"toy:///racks/m2"), HaveField("Reason", ContainSubstring(reason)),
			)))
			Expect(f.cloud.Machines("cloud")).To(BeEmpty())
			Eventually(f.warnings).WithContext(ctx).WithArguments(reasonOrphansLeft).Should(HaveExactElements(
				And(HavePrefix(`Site "racks" still has 1 machine(s): machine m2 toy:///racks/m2 (`), ContainSubstring(reason))))
		},
		Entry("refuses the credentials", func() { f.cloud.Fail("racks", platform.NewError(platform.ClassUnauthenticated, "401")) },
			time.Minute, "401"),
		Entry("hangs", func() { DeferCleanup(f.cloud.Hang("racks")) }, time.Second, "no answer"),
		Entry("does not get done in time", func() { f.cloud.Keep("racks", platform.NewError(platform.ClassTransient, "the host is cleaned")) },
			5*time.Second, "cleaned"),
		Entry("deletes nothing", func() { f.cloud.Keep("racks", platform.NewError(platform.ClassConflict, "locked")) }, time.Minute, "locked"),
	)

	It("tells of each site that keeps machines", func(ctx SpecContext) {
		for _, site := range []string{"cloud", "racks"} {
			machine(ctx, site, "m-"+site, "")
			f.cloud.Keep(site, platform.NewError(platform.ClassConflict, "locked"))
		}
		Expect(forceDelete(ctx, time.Minute)).To(HaveLen(2))
		Eventually(f.warnings).WithContext(ctx).WithArguments(reasonOrphansLeft).WithTimeout(10 * time.Second).Should(ConsistOf(
			HavePrefix(`Site "cloud" still has 1 machine(s): machine m-cloud `),
			HavePrefix(`Site "racks" still has 1 machine(s): machine m-racks `)))
	})

	It("waits for machines that take a while, and through errors that pass", func(ctx SpecContext) {
		machine(ctx, "racks", "m1", "")
		f.cloud.Keep("racks", platform.NewError(platform.ClassTransient, "the host is cleaned"))
		done := time.AfterFunc(time.Second, func() {
			f.cloud.Keep("racks", nil)
			f.cloud.Fail("racks", platform.NewError(platform.ClassTransient, "503"))
		})
		DeferCleanup(done.Stop)
		well := time.AfterFunc(3*time.Second, func() { f.cloud.Fail("racks", nil) })
		DeferCleanup(well.Stop)
		Expect(forceDelete(ctx, time.Minute)).To(BeEmpty())
		Expect(f.cloud.Machines("racks")).To(BeEmpty())
	})

	It("says that a site may have machines if it can neither be looked at nor is any known", func(ctx SpecContext) {
		f.cloud.Fail("racks", platform.NewError(platform.ClassUnauthenticated, "401"))
		Expect(forceDelete(ctx, time.Minute)).To(HaveExactElements(v1alpha1.Orphan{
			Site: "racks", Kind: "machine", Reason: `machines of the site cannot be listed: site "racks": 401`,
		}))
	})

	It("keeps what else the status has, and succeeds without credentials", func(ctx SpecContext) {
		f.worker.Status.ProviderStatus = mustEncode(&v1alpha1.WorkerStatus{MachineImages: f.profile.MachineImages})
		Expect(apiServer.Status().Update(ctx, f.worker)).To(Succeed())
		Expect(apiServer.Delete(ctx, f.secret)).To(Succeed())
		Expect(forceDelete(ctx, time.Minute)).To(BeEmpty())
		status, err := codec.Decode[v1alpha1.WorkerStatus](f.worker.Status.ProviderStatus)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.MachineImages).To(HaveLen(1))
	})

	It("keeps its event short", func(ctx SpecContext) {
		for i := range 40 {
			machine(ctx, "racks", fmt.Sprintf("machine-%02d", i), "")
		}
		f.cloud.Keep("racks", platform.NewError(platform.ClassConflict, "locked"))
		Expect(forceDelete(ctx, time.Minute)).To(HaveLen(40))
		Eventually(f.warnings).WithContext(ctx).WithArguments(reasonOrphansLeft).Should(HaveExactElements(
			MatchRegexp(`^Site "racks" still has 40 machine\(s\): machine machine-00 .* and \d+ more$`)))
	})
})
