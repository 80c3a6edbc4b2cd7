// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
)

var _ = Describe("Distribution", func() {
	type part struct {
		min, max, preserve int32
		surge, unavailable string
		priority           int32
	}

	shares := func(ctx SpecContext, f *fixture) []part {
		var parts []part
		for _, z := range f.resolve(ctx, toyplatform.NewMachineClasses(f.cloud), time.Minute, former{}) {
			s := z.share
			priority := int32(-1)
			if s.priority != nil {
				priority = *s.priority
			}
			parts = append(parts, part{s.minimum, s.maximum, s.autoPreserveMax, s.maxSurge.String(), s.maxUnavailable.String(), priority})
		}
		return parts
	}

	DescribeTable("the numbers of a pool with two zones on one site and one on another",
		func(ctx SpecContext, change func(*extensionsv1alpha1.WorkerPool), sites []v1alpha1.WorkerSite, expected ...part) {
			f := newFixture("shoot--p--s")
			pool := f.pool("a", "cloud-a", "rack-1", "cloud-b")
			change(pool)
			if sites != nil {
				pool.ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{Sites: sites})
			}
			Expect(shares(ctx, f)).To(Equal(expected))
		},
		Entry("are split evenly over all zones",
			func(p *extensionsv1alpha1.WorkerPool) {
				p.Minimum, p.Maximum, p.Priority = 4, 8, new(int32(3))
				p.MachineControllerManagerSettings = &gardencorev1beta1.MachineControllerManagerSettings{AutoPreserveFailedMachineMax: new(int32(2))}
			}, nil,
			part{2, 3, 1, "1", "0", 3}, part{1, 3, 1, "0", "0", 3}, part{1, 2, 0, "0", "0", 3}),
		Entry("are those of the sites, split over the zones of each",
			func(p *extensionsv1alpha1.WorkerPool) { p.Minimum, p.Maximum, p.MaxSurge = 5, 10, intstr.FromInt32(3) },
			[]v1alpha1.WorkerSite{
				{Name: "racks", Priority: new(int32(100)), Minimum: new(int32(2)), Maximum: new(int32(7))},
				{Name: "cloud", Priority: new(int32(10)), Minimum: new(int32(3)), Maximum: new(int32(9))},
			},
			part{2, 5, 0, "1", "0", 10}, part{2, 7, 0, "1", "0", 100}, part{1, 4, 0, "1", "0", 10}),
		Entry("may be priorities alone",
			func(p *extensionsv1alpha1.WorkerPool) { p.Minimum, p.Maximum, p.Priority = 3, 6, new(int32(1)) },
			[]v1alpha1.WorkerSite{{Name: "racks", Priority: new(int32(100))}},
			part{1, 2, 0, "1", "0", 1}, part{1, 2, 0, "0", "0", 100}, part{1, 2, 0, "0", "0", 1}),
		Entry("weigh percentages with the part of the zone",
			func(p *extensionsv1alpha1.WorkerPool) {
				p.Minimum, p.Maximum, p.MaxSurge, p.MaxUnavailable = 3, 4, intstr.FromString("30%"), intstr.FromString("10%")
			}, nil,
			part{1, 2, 0, "45%", "10%", -1}, part{1, 1, 0, "23%", "10%", -1}, part{1, 1, 0, "23%", "10%", -1}),
		Entry("weigh percentages with the part of the zone on its site",
			func(p *extensionsv1alpha1.WorkerPool) {
				p.Minimum, p.Maximum, p.MaxSurge, p.MaxUnavailable = 1, 4, intstr.FromString("30%"), intstr.FromString("10%")
			},
			[]v1alpha1.WorkerSite{
				{Name: "racks", Minimum: new(int32(0)), Maximum: new(int32(4))},
				{Name: "cloud", Minimum: new(int32(1)), Maximum: new(int32(3))},
			},
			part{1, 2, 0, "41%", "20%", -1}, part{0, 4, 0, "30%", "10%", -1}, part{0, 1, 0, "21%", "0%", -1}),
		Entry("have no maximum below the minimum",
			func(p *extensionsv1alpha1.WorkerPool) { p.Minimum, p.Maximum = 3, 3 },
			[]v1alpha1.WorkerSite{{Name: "racks", Minimum: new(int32(3))}, {Name: "cloud", Minimum: new(int32(0))}},
			part{0, 1, 0, "1", "0", -1}, part{3, 3, 0, "0", "0", -1}, part{0, 1, 0, "0", "0", -1}),
	)

	It("keeps the last numbers of a pool whose providerConfig cannot be read", func(ctx SpecContext) {
		f := newFixture("shoot--p--s")
		f.pool("a", "cloud-a", "rack-1").ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"broken"}`)}
		f.worker.Status.MachineDeployments = []extensionsv1alpha1.MachineDeployment{{Name: deploymentName("a", "rack-1"), Minimum: 5, Maximum: 7,
			Priority: new(int32(9))}}

		Expect(shares(ctx, f)).To(Equal([]part{{1, 2, 0, "1", "0", -1}, {5, 7, 0, "0", "0", 9}}))
	})
})
