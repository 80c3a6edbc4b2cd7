// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Demands", func() {
	profile := &v1alpha1.CloudProfileConfig{
		Sites: []v1alpha1.CloudProfileSite{
			{Name: "a", Region: "west", Zones: []v1alpha1.SiteZone{{Name: "a-1"}, {Name: "a-2"}}},
			{Name: "b", Region: "west", Zones: []v1alpha1.SiteZone{{Name: "b-1"}}},
			{Name: "east", Region: "east", Zones: []v1alpha1.SiteZone{{Name: "e-1"}}},
		},
		MachineTypes: []v1alpha1.MachineType{
			{Name: "small", Sites: []v1alpha1.SiteMachineType{
				{Name: "a", OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "a.small"}}, {Name: "b",
					OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "b.small"}},
			}},
			{Name: "only-a", Sites: []v1alpha1.SiteMachineType{{Name: "a", OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "a.only"}}}},
		},
		VolumeTypes: []v1alpha1.VolumeType{{Name: "fast",
			Sites: []v1alpha1.SiteVolumeType{{Name: "a", OpenStack: &v1alpha1.OpenStackVolumeType{Type: "ssd"}}}}},
	}
	pool := func(machineType string, minimum, maximum int32, zones []string, sites ...v1alpha1.WorkerSite) gardencorev1beta1.Worker {
		p := gardencorev1beta1.Worker{Name: "pool", Machine: gardencorev1beta1.Machine{Type: machineType}, Minimum: minimum, Maximum: maximum,
			Zones: zones}
		if sites != nil {
			p.ProviderConfig = encode(&v1alpha1.WorkerConfig{Sites: sites})
		}
		return p
	}
	demand := func(flavor string, minimum, maximum int32) OmegaMatcher {
		return And(HaveField("MachineType.OpenStack.Flavor", flavor), HaveField("Minimum", minimum), HaveField("Maximum", maximum),
			HaveField("Pool", "pool"))
	}
	of := func(hibernated bool, pools ...gardencorev1beta1.Worker) *extensionscontroller.Cluster {
		shoot := &gardencorev1beta1.Shoot{}
		shoot.Spec.Provider.Workers = pools
		if hibernated {
			shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
		}
		return &extensionscontroller.Cluster{Shoot: shoot}
	}

	DescribeTable("numbers",
		func(cluster *extensionscontroller.Cluster, a, b OmegaMatcher) {
			found := demands(cluster, profile, "west")
			Expect(found["a"]).To(a)
			Expect(found["b"]).To(b)
			Expect(found).NotTo(HaveKey("east"))
		},
		Entry("one zone", of(false, pool("small", 2, 5, []string{"b-1"})), BeEmpty(), HaveExactElements(demand("b.small", 2, 5))),
		Entry("even split over zones", of(false, pool("small", 4, 8, []string{"b-1", "a-1", "a-2"})),
			HaveExactElements(demand("a.small", 2, 5)), HaveExactElements(demand("b.small", 2, 3))),
		Entry("bounds of sites",
			of(false,
				pool("small", 4, 8, []string{"a-1", "a-2", "b-1"}, v1alpha1.WorkerSite{Name: "a", Minimum: new(int32(4)), Maximum: new(int32(6))},
					v1alpha1.WorkerSite{Name: "b", Minimum: new(int32(0)), Maximum: new(int32(8))})),
			HaveExactElements(demand("a.small", 4, 6)), HaveExactElements(demand("b.small", 0, 8))),
		Entry("bounds of a site that the pool has no zone of",
			of(false, pool("small", 1, 2, []string{"a-1"}, v1alpha1.WorkerSite{Name: "b", Minimum: new(int32(4)), Maximum: new(int32(6))})),
			HaveExactElements(demand("a.small", 1, 2)), BeEmpty()),
		Entry("a maximum below the minimum", of(false, pool("small", 3, 0, []string{"a-1"})), HaveExactElements(demand("a.small", 3, 3)),
			BeEmpty()),
		Entry("hibernated", of(true, pool("small", 4, 8, []string{"b-1", "a-1"})),
			HaveExactElements(demand("a.small", 0, 4)), HaveExactElements(demand("b.small", 0, 4))),
		Entry("a machine type that one site does not have", of(false, pool("only-a", 2, 2, []string{"a-1", "b-1"})),
			HaveExactElements(demand("a.only", 1, 1)), BeEmpty()),
		Entry("zones of other regions and nobody", of(false, pool("small", 3, 3, []string{"e-1", "x-1", "a-1"})),
			HaveExactElements(demand("a.small", 1, 1)), BeEmpty()),
		Entry("no shoot", &extensionscontroller.Cluster{}, BeEmpty(), BeEmpty()),
	)

	It("should split evenly if the providerConfig cannot be read", func() {
		p := pool("small", 2, 4, []string{"a-1", "b-1"})
		p.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"sides": []}`)}
		Expect(demands(of(false, p), profile, "west")["a"]).To(HaveExactElements(demand("a.small", 1, 2)))
	})

	It("should tell the parts of zones and the settings of the site", func() {
		settings := v1alpha1.WorkerSite{Name: "a", Minimum: new(int32(3)), Maximum: new(int32(5))}
		found := demands(of(false, pool("small", 4, 8, []string{"a-1", "b-1", "a-2"}, settings)), profile, "west")
		Expect(found["a"]).To(HaveExactElements(And(
			HaveField("MachineTypeName", "small"),
			HaveField("Settings", settings),
			HaveField("Zones",
				HaveExactElements(platform.ZoneDemand{Name: "a-1", Minimum: 2, Maximum: 3}, platform.ZoneDemand{Name: "a-2", Minimum: 1, Maximum: 2})),
		)))
		Expect(found["b"]).To(HaveExactElements(And(
			HaveField("Settings", v1alpha1.WorkerSite{}),
			HaveField("Zones", HaveExactElements(platform.ZoneDemand{Name: "b-1", Minimum: 1, Maximum: 3})),
		)))
	})

	DescribeTable("volumes",
		func(change func(*gardencorev1beta1.Worker), hasType bool, sizes ...int) {
			p := pool("small", 1, 1, []string{"a-1"})
			change(&p)
			found := demands(of(false, p), profile, "west")["a"]
			Expect(found).To(HaveLen(1))
			Expect(found[0].VolumeType != nil).To(Equal(hasType))
			Expect(found[0].VolumeSizes).To(HaveExactElements(sizes))
			Expect(found[0].Path.String()).To(Equal("spec.provider.workers[0]"))
		},
		Entry("none", func(*gardencorev1beta1.Worker) {}, false),
		Entry("a size alone is that of the flavor's disk",
			func(p *gardencorev1beta1.Worker) { p.Volume = &gardencorev1beta1.Volume{VolumeSize: "50Gi"} }, false),
		Entry("a root volume", func(p *gardencorev1beta1.Worker) {
			p.Volume = &gardencorev1beta1.Volume{Type: new("fast"), VolumeSize: "50Gi"}
		}, true, 50),
		Entry("a type that the site does not have", func(p *gardencorev1beta1.Worker) {
			p.Volume = &gardencorev1beta1.Volume{Type: new("slow"), VolumeSize: "50Gi"}
		}, false),
		Entry("data volumes", func(p *gardencorev1beta1.Worker) {
			p.Volume = &gardencorev1beta1.Volume{Type: new("fast"), VolumeSize: "50Gi"}
			p.DataVolumes = []gardencorev1beta1.DataVolume{{Name: "x", VolumeSize: "10Gi"}, {Name: "y", VolumeSize: "much"},
				{Name: "z", VolumeSize: "20Gi"}}
		}, true, 50, 10, 20),
	)
})
