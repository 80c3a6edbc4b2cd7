// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	gardenworker "github.com/gardener/gardener/extensions/pkg/controller/worker"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

type worker = gardencorev1beta1.Worker

// The names of these zones have the same hash in the names of machine deployments.
const (
	clashingZone1 = "zone-7"
	clashingZone2 = "zone-48"
)

// providerConfig sets the providerConfig of a pool.
func providerConfig(json string) func(*worker) {
	return func(w *worker) {
		w.ProviderConfig = &runtime.RawExtension{
			Raw: []byte(`{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"WorkerConfig",` + json + `}`)}
	}
}

var _ = Describe("#ValidateWorkers", func() {
	validate := func(change func(*worker), problems ...problem) {
		w := newWorker()
		change(w)
		Expect(ValidateWorkers([]worker{*newWorker(), *w}, newSpec(), newProfile(), newStretched(),
			field.NewPath("w"))).To(haveProblems(problems))
	}

	It("accepts nil", func() {
		Expect(ValidateWorkers(nil, nil, nil, nil, nil)).To(BeEmpty())
		Expect(ValidateWorkers([]worker{{}}, nil, nil, nil, field.NewPath("w"))).To(haveProblems([]problem{{required, "w[0].zones"}}))
		Expect(ValidateWorkers([]worker{*newWorker()}, nil, newProfile(), nil, field.NewPath("w"))).To(HaveLen(3))
		Expect(func() { ValidateWorkers([]worker{*newWorker()}, nil, nil, newStretched(), nil) }).NotTo(Panic())
	})

	DescribeTable("zones", validate,
		Entry("of several sites", func(*worker) {}),
		Entry("none", func(w *worker) { w.Zones = nil }, problem{required, "w[1].zones"}),
		Entry("unknown", func(w *worker) { w.Zones[1] = "moon-1" }, problem{notSupported, "w[1].zones[1]"}),
		Entry("of a site that the Shoot does not use", func(w *worker) { w.Zones[1] = "vc-1" }, problem{invalid, "w[1].zones[1]"}),
		Entry("duplicate", func(w *worker) { w.Zones[1] = "rack-1" }, problem{duplicate, "w[1].zones[1]"}),
	)

	It("says which zones there are", func() {
		w := newWorker()
		w.Zones = []string{"moon-1"}
		errs := ValidateWorkers([]worker{*w}, newSpec(), newProfile(), newStretched(), nil)
		Expect(errs.ToAggregate()).To(MatchError(ContainSubstring(`supported values: "cloud-a", "cloud-b", "rack-1"`)))
	})

	It("refuses a zone that would go on with the machine deployment of another", func() {
		before, after := newWorker(), newWorker()
		before.Zones, after.Zones = []string{"rack-1", clashingZone1}, []string{"rack-1", clashingZone2}
		v := NewWorkerValidator(newSpec(), newProfile(), newStretched())
		Expect(v.ValidateUpdate([]worker{*before}, []worker{*after}, field.NewPath("w"))).To(haveProblems([]problem{{invalid, "w[0].zones[1]"}}))
		after.Zones = []string{"rack-1"}
		Expect(v.ValidateUpdate([]worker{*before}, []worker{*after}, field.NewPath("w"))).To(BeEmpty())
	})

	It("refuses zones of one pool whose machine deployments would have the same name", func() {
		Expect(helper.ZoneHash(clashingZone1)).To(Equal(helper.ZoneHash(clashingZone2)))
		p := newProfile()
		p.Sites[0].Zones[0].Name, p.Sites[0].Zones[1].Name = clashingZone1, clashingZone2
		first, second := newWorker(), newWorker()
		first.Zones, second.Zones = []string{clashingZone1}, []string{clashingZone2}
		Expect(ValidateWorkers([]worker{*first, *second}, newSpec(), p, newStretched(), field.NewPath("w"))).To(BeEmpty())
		first.Zones = []string{clashingZone1, clashingZone2}
		Expect(ValidateWorkers([]worker{*first, *second}, newSpec(), p, newStretched(),
			field.NewPath("w"))).To(haveProblems([]problem{{invalid, "w[0].zones[1]"}}))
	})

	DescribeTable("machines", validate,
		Entry("type that one site does not have", func(w *worker) { w.Machine.Type = "std" }, problem{invalid, "w[1].machine.type"}),
		Entry("type that the pool's site has", func(w *worker) { w.Machine.Type, w.Zones = "std", []string{"cloud-a"} }),
		Entry("type that no site has", func(w *worker) { w.Machine.Type = "huge" }, problem{invalid, "w[1].machine.type"},
			problem{invalid, "w[1].machine.type"}),
		Entry("no image", func(w *worker) { w.Machine.Image = nil }),
		Entry("no version", func(w *worker) { w.Machine.Image.Version = nil }),
		Entry("image that no site has", func(w *worker) { w.Machine.Image.Name = "flatcar" }, problem{invalid, "w[1].machine.image"},
			problem{invalid, "w[1].machine.image"}),
		Entry("version that no site has", func(w *worker) { w.Machine.Image.Version = new("2.0.0") }, problem{invalid, "w[1].machine.image"},
			problem{invalid, "w[1].machine.image"}),
	)

	It("refuses an image that one site does not have, or not for the machine type", func() {
		p, s := newProfile(), newSpec()
		flavor := &p.MachineImages[0].Versions[0].CapabilityFlavors[0]
		flavor.Sites = flavor.Sites[1:]
		errs := ValidateWorkers([]worker{*newWorker()}, s, p, newStretched(), field.NewPath("w"))
		Expect(errs).To(haveProblems([]problem{{invalid, "w[0].machine.image"}}))
		Expect(errs.ToAggregate()).To(MatchError(ContainSubstring(`site "cloud"`)))

		p = newProfile()
		s.MachineTypes[1].Capabilities = gardencorev1beta1.Capabilities{"architecture": {"arm64"}}
		Expect(ValidateWorkers([]worker{*newWorker()}, s, p, newStretched(),
			field.NewPath("w"))).To(haveProblems([]problem{{invalid, "w[0].machine.image"}, {invalid, "w[0].machine.image"}}))
	})

	It("says which machine types and images a site has", func() {
		w := newWorker()
		w.Machine.Type, w.Machine.Image.Version, w.Zones = "huge", new("2.0.0"), []string{"cloud-a"}
		errs := ValidateWorkers([]worker{*w}, newSpec(), newProfile(), newStretched(), nil)
		Expect(errs.ToAggregate()).To(MatchError(And(ContainSubstring(`["std" "any"]`), ContainSubstring(`["gardenlinux 1.0.0"]`))))
	})

	DescribeTable("volumes and labels", validate,
		Entry("volume without type", func(w *worker) { w.Volume = &gardencorev1beta1.Volume{VolumeSize: "50Gi"} }),
		Entry("type that one site does not have", func(w *worker) { w.Volume = &gardencorev1beta1.Volume{Type: new("fast")} },
			problem{invalid, "w[1].volume.type"}),
		Entry("type that the pool's site has", func(w *worker) {
			w.Volume, w.Zones = &gardencorev1beta1.Volume{Type: new("fast")}, []string{"cloud-a"}
		}),
		Entry("encrypted", func(w *worker) { w.Volume = &gardencorev1beta1.Volume{Encrypted: new(true)} },
			problem{forbidden, "w[1].volume.encrypted"}),
		Entry("not encrypted", func(w *worker) { w.Volume = &gardencorev1beta1.Volume{Encrypted: new(false)} }),
		Entry("data volume without type", func(w *worker) {
			w.DataVolumes, w.Zones = []gardencorev1beta1.DataVolume{{Name: "a"}}, []string{"cloud-a"}
		}),
		Entry("data volume on a metal site", func(w *worker) { w.DataVolumes = []gardencorev1beta1.DataVolume{{Name: "a"}} },
			problem{forbidden, "w[1].dataVolumes"}),
		Entry("data volume of a type that one site does not have", func(w *worker) {
			w.DataVolumes = []gardencorev1beta1.DataVolume{{Name: "a"}, {Name: "b", Type: new("fast")}}
		},
			problem{invalid, "w[1].dataVolumes[1].type"}, problem{forbidden, "w[1].dataVolumes"}),
		Entry("encrypted data volume", func(w *worker) {
			w.DataVolumes, w.Zones = []gardencorev1beta1.DataVolume{{Name: "a", Encrypted: new(true)}}, []string{"cloud-a"}
		}, problem{forbidden, "w[1].dataVolumes[0].encrypted"}),
		Entry("label", func(w *worker) { w.Labels = map[string]string{"a": "b"} }),
		Entry("labels of ours", func(w *worker) { w.Labels = map[string]string{v1alpha1.LabelSite: "a", v1alpha1.LabelPlatform: "b"} },
			problem{forbidden, "w[1].labels[" + v1alpha1.LabelSite + "]"}, problem{forbidden, "w[1].labels[" + v1alpha1.LabelPlatform + "]"}),
	)

	DescribeTable("providerConfig", validate,
		Entry("valid", providerConfig(`"sites":[{"name":"cloud","minimum":2,"maximum":5},{"name":"racks","minimum":1,"maximum":10}]`)),
		Entry("validated", providerConfig(`"sites":[{"name":"vc"}]`), problem{notSupported, "w[1].providerConfig.sites[0].name"}),
		Entry("unknown field", providerConfig(`"zones":[]`), problem{invalid, "w[1].providerConfig"}),
		Entry("empty", func(w *worker) { w.ProviderConfig = &runtime.RawExtension{} }, problem{invalid, "w[1].providerConfig"}),
	)
})

var _ = Describe("#ValidateWorkerConfig", func() {
	site := func(name string, minimum, maximum, priority *int32) v1alpha1.WorkerSite {
		return v1alpha1.WorkerSite{Name: name, Minimum: minimum, Maximum: maximum, Priority: priority}
	}
	n := func(value int32) *int32 { return &value }

	It("accepts nil", func() {
		Expect(ValidateWorkerConfig(nil, newWorker(), nil, nil, nil)).To(BeEmpty())
		Expect(ValidateWorkerConfig(&v1alpha1.WorkerConfig{}, nil, nil, nil, nil)).To(BeEmpty())
		Expect(ValidateWorkerConfig(&v1alpha1.WorkerConfig{}, newWorker(), nil, nil, nil)).To(BeEmpty())
	})

	DescribeTable("sites of a pool of 3 to 10 machines on cloud and racks",
		func(sites []v1alpha1.WorkerSite, problems ...problem) {
			Expect(ValidateWorkerConfig(&v1alpha1.WorkerConfig{Sites: sites}, newWorker(), newProfile(), []string{"cloud", "racks"},
				field.NewPath("c"))).To(haveProblems(problems))
		},
		Entry("none", nil),
		Entry("all", []v1alpha1.WorkerSite{site("cloud", n(0), n(10), n(1)), site("racks", n(3), n(3), n(2))}),
		Entry("names alone", []v1alpha1.WorkerSite{site("cloud", nil, nil, nil)}),
		Entry("unknown", []v1alpha1.WorkerSite{site("vc", nil, nil, nil)}, problem{notSupported, "c.sites[0].name"}),
		Entry("no name", []v1alpha1.WorkerSite{site("", nil, nil, nil)}, problem{required, "c.sites[0].name"}),
		Entry("duplicate", []v1alpha1.WorkerSite{site("cloud", nil, nil, nil), site("cloud", nil, nil, nil)},
			problem{duplicate, "c.sites[1].name"}),
		Entry("minima add up to less", []v1alpha1.WorkerSite{site("cloud", n(1), n(5), nil), site("racks", n(1), n(5), nil)},
			problem{invalid, "c.sites"}),
		Entry("minima add up to more", []v1alpha1.WorkerSite{site("cloud", n(2), n(5), nil), site("racks", n(2), n(5), nil)},
			problem{invalid, "c.sites"}),
		Entry("negative minimum", []v1alpha1.WorkerSite{site("cloud", n(-1), n(5), nil), site("racks", n(4), n(5), nil)},
			problem{invalid, "c.sites[0].minimum"}),
		Entry("maximum below minimum", []v1alpha1.WorkerSite{site("cloud", n(2), n(1), nil), site("racks", n(1), n(5), nil)},
			problem{invalid, "c.sites[0].maximum"}),
		Entry("maximum of the pool", []v1alpha1.WorkerSite{site("cloud", n(2), n(10), nil), site("racks", n(1), n(10), nil)}),
		Entry("maximum above the pool's", []v1alpha1.WorkerSite{site("cloud", n(2), n(11), nil), site("racks", n(1), n(10), nil)},
			problem{invalid, "c.sites[0].maximum"}),
		Entry("minimum alone", []v1alpha1.WorkerSite{site("cloud", n(2), nil, nil), site("racks", n(1), n(10), nil)},
			problem{required, "c.sites[0].maximum"}),
		Entry("maximum alone", []v1alpha1.WorkerSite{site("cloud", n(3), n(3), nil), site("racks", nil, n(10), nil)},
			problem{required, "c.sites[1].minimum"}),
		Entry("limits for one of two", []v1alpha1.WorkerSite{site("cloud", n(3), n(5), nil), site("racks", nil, nil, nil)},
			problem{required, "c.sites[1].minimum"}),
		Entry("limits for one, the other left out", []v1alpha1.WorkerSite{site("cloud", n(3), n(5), nil)}, problem{required, "c.sites"}),
		Entry("priorities", []v1alpha1.WorkerSite{site("cloud", nil, nil, n(0)), site("racks", nil, nil, n(100))}),
		Entry("negative priority", []v1alpha1.WorkerSite{site("cloud", nil, nil, n(-1)), site("racks", nil, nil, n(1))},
			problem{invalid, "c.sites[0].priority"}),
		Entry("priority for one of two", []v1alpha1.WorkerSite{site("cloud", nil, nil, n(1)), site("racks", nil, nil, nil)},
			problem{required, "c.sites[1].priority"}),
		Entry("priority for one, the other left out", []v1alpha1.WorkerSite{site("cloud", nil, nil, n(1))}, problem{required, "c.sites"}),
	)

	DescribeTable("settings of the cluster-autoscaler for a site",
		func(options v1alpha1.SiteClusterAutoscaler, problems ...problem) {
			config := &v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "cloud", ClusterAutoscaler: &options}}}
			Expect(ValidateWorkerConfig(config, newWorker(), newProfile(), []string{"cloud", "racks"},
				field.NewPath("c"))).To(haveProblems(problems))
		},
		Entry("none", v1alpha1.SiteClusterAutoscaler{}),
		Entry("the smallest", v1alpha1.SiteClusterAutoscaler{
			ScaleDownUtilizationThreshold: new("0"), ScaleDownGpuUtilizationThreshold: new("0.0"), ScaleDownUnneededTime: &metav1.Duration{},
			ScaleDownUnreadyTime: &metav1.Duration{}, MaxNodeProvisionTime: &metav1.Duration{},
		}),
		Entry("the largest", v1alpha1.SiteClusterAutoscaler{
			ScaleDownUtilizationThreshold: new("1"), ScaleDownGpuUtilizationThreshold: new("1.0"),
		}),
		Entry("shares that are none", v1alpha1.SiteClusterAutoscaler{
			ScaleDownUtilizationThreshold: new("50%"), ScaleDownGpuUtilizationThreshold: new("NaN"),
		}, problem{invalid, "c.sites[0].clusterAutoscaler.scaleDownUtilizationThreshold"},
			problem{invalid, "c.sites[0].clusterAutoscaler.scaleDownGpuUtilizationThreshold"}),
		Entry("shares out of range", v1alpha1.SiteClusterAutoscaler{
			ScaleDownUtilizationThreshold: new("-0.1"), ScaleDownGpuUtilizationThreshold: new("1.1"),
		}, problem{invalid, "c.sites[0].clusterAutoscaler.scaleDownUtilizationThreshold"},
			problem{invalid, "c.sites[0].clusterAutoscaler.scaleDownGpuUtilizationThreshold"}),
		Entry("negative durations", v1alpha1.SiteClusterAutoscaler{
			ScaleDownUnneededTime: &metav1.Duration{Duration: -1}, ScaleDownUnreadyTime: &metav1.Duration{Duration: -1},
			MaxNodeProvisionTime: &metav1.Duration{Duration: -1},
		}, problem{invalid, "c.sites[0].clusterAutoscaler.scaleDownUnneededTime"},
			problem{invalid, "c.sites[0].clusterAutoscaler.scaleDownUnreadyTime"},
			problem{invalid, "c.sites[0].clusterAutoscaler.maxNodeProvisionTime"}),
	)

	It("distributes the limits of a pool over its sites like Gardener", func() {
		v := NewWorkerValidator(newSpec(), newProfile(), newStretched())
		w := newWorker()
		w.Zones = []string{"cloud-a", "rack-1", "cloud-b", "moon-1"}
		w.Minimum, w.Maximum = 5, 10
		Expect(v.LimitsBySite(w)).To(Equal(map[string]Limits{"cloud": {Minimum: 3, Maximum: 5}, "racks": {Minimum: 1, Maximum: 3}}))
		for i, zone := range w.Zones[:2] {
			Expect(gardenworker.DistributeOverZones(int32(i), w.Maximum, 4)).To(BeEquivalentTo(3), zone)
		}

		providerConfig(`"sites":[{"name":"cloud","minimum":2,"maximum":7},{"name":"racks"},{"name":"vc","maximum":9}]`)(w)
		Expect(v.LimitsBySite(w)).To(Equal(map[string]Limits{"cloud": {Minimum: 2, Maximum: 7}, "racks": {Minimum: 1, Maximum: 3}}))
		w.ProviderConfig = &runtime.RawExtension{Raw: []byte("{")}
		Expect(v.LimitsBySite(w)).To(HaveKeyWithValue("cloud", Limits{Minimum: 3, Maximum: 5}))
		w.Zones = nil
		Expect(v.LimitsBySite(w)).To(BeEmpty())
	})

	DescribeTable("return home",
		func(home v1alpha1.ReturnHome, priorities []*int32, problems ...problem) {
			sites := []v1alpha1.WorkerSite{{Name: "cloud", Priority: priorities[0]}, {Name: "racks", Priority: priorities[1]}}
			Expect(ValidateWorkerConfig(&v1alpha1.WorkerConfig{Sites: sites, ReturnHome: &home}, newWorker(), newProfile(),
				[]string{"cloud", "racks"}, field.NewPath("c"))).To(haveProblems(problems))
		},
		Entry("defaults", v1alpha1.ReturnHome{}, []*int32{n(1), n(2)}),
		Entry("least rate", v1alpha1.ReturnHome{MachinesPerHour: n(1)}, []*int32{n(1), n(2)}),
		Entry("greatest rate", v1alpha1.ReturnHome{MachinesPerHour: n(60)}, []*int32{n(1), n(2)}),
		Entry("no rate", v1alpha1.ReturnHome{MachinesPerHour: n(0)}, []*int32{n(1), n(2)}, problem{invalid, "c.returnHome.machinesPerHour"}),
		Entry("rate too high", v1alpha1.ReturnHome{MachinesPerHour: n(61)}, []*int32{n(1), n(2)},
			problem{invalid, "c.returnHome.machinesPerHour"}),
		Entry("window", v1alpha1.ReturnHome{TimeWindow: &v1alpha1.ReturnHomeTimeWindow{Begin: "220000+0100", End: "040000+0100"}},
			[]*int32{n(1), n(2)}),
		Entry("invalid window", v1alpha1.ReturnHome{TimeWindow: &v1alpha1.ReturnHomeTimeWindow{Begin: "22:00", End: ""}},
			[]*int32{n(1), n(2)}, problem{invalid, "c.returnHome.timeWindow.begin"}, problem{invalid, "c.returnHome.timeWindow.end"}),
		Entry("empty window", v1alpha1.ReturnHome{TimeWindow: &v1alpha1.ReturnHomeTimeWindow{Begin: "220000+0100", End: "210000+0000"}},
			[]*int32{n(1), n(2)}, problem{invalid, "c.returnHome.timeWindow.end"}),
		Entry("equal priorities", v1alpha1.ReturnHome{}, []*int32{n(1), n(1)}, problem{forbidden, "c.returnHome"}),
		Entry("no priorities", v1alpha1.ReturnHome{}, []*int32{nil, nil}, problem{forbidden, "c.returnHome"}),
	)

	DescribeTable("node template",
		func(template v1alpha1.NodeTemplate, problems ...problem) {
			Expect(ValidateWorkerConfig(&v1alpha1.WorkerConfig{NodeTemplate: &template}, newWorker(), nil, nil,
				field.NewPath("c"))).To(haveProblems(problems))
		},
		Entry("nothing", v1alpha1.NodeTemplate{}),
		Entry("capacity",
			v1alpha1.NodeTemplate{Capacity: corev1.ResourceList{"cpu": resource.MustParse("2")},
				VirtualCapacity: corev1.ResourceList{"example.com/license": resource.MustParse("1")}}),
		Entry("negative capacity", v1alpha1.NodeTemplate{Capacity: corev1.ResourceList{"cpu": resource.MustParse("-2")}},
			problem{invalid, "c.nodeTemplate.capacity[cpu]"}),
		Entry("negative virtual capacity",
			v1alpha1.NodeTemplate{VirtualCapacity: corev1.ResourceList{"example.com/license": resource.MustParse("-1")}}, problem{invalid,
				"c.nodeTemplate.virtualCapacity[example.com/license]"}),
		Entry("virtual capacity that is none", v1alpha1.NodeTemplate{VirtualCapacity: corev1.ResourceList{"cpu": resource.MustParse("1")}},
			problem{invalid, "c.nodeTemplate.virtualCapacity[cpu]"}),
	)
})
