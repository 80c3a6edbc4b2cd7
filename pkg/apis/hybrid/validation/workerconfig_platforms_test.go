// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

type (
	openStackWorker = v1alpha1.OpenStackWorker
	machineLabel    = v1alpha1.OpenStackMachineLabel
	dataVolume      = v1alpha1.WorkerDataVolume
	dataVolumeSite  = v1alpha1.WorkerDataVolumeSite
)

var _ = Describe("#ValidateWorkerConfig for platforms", func() {
	validate := func(config *v1alpha1.WorkerConfig, problems []problem) {
		GinkgoHelper()
		w, profile := newWorker(), newProfile()
		w.DataVolumes = []gardencorev1beta1.DataVolume{{Name: "logs"}, {Name: "db"}}
		profile.Sites[0].OpenStack.ServerGroupPolicies = []string{"affinity", "soft-anti-affinity"}
		Expect(ValidateWorkerConfig(config, w, profile, []string{"cloud", "racks"}, field.NewPath("c"))).To(haveProblems(problems))
	}

	It("accepts settings for an OpenStack site on that site alone", func() {
		settings := &openStackWorker{}
		validate(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "cloud", OpenStack: settings}, {Name: "racks", OpenStack: settings}}},
			[]problem{{forbidden, "c.sites[1].openstack"}})
	})

	DescribeTable("settings for an OpenStack site",
		func(settings openStackWorker, problems ...problem) {
			validate(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "cloud", OpenStack: &settings}}}, problems)
		},
		Entry("none", openStackWorker{}),
		Entry("policy of the CloudProfile", openStackWorker{ServerGroup: &v1alpha1.OpenStackServerGroup{Policy: "soft-anti-affinity"}}),
		Entry("policy that the CloudProfile does not have", openStackWorker{ServerGroup: &v1alpha1.OpenStackServerGroup{Policy: "anti-affinity"}},
			problem{notSupported, "c.sites[0].openstack.serverGroup.policy"}),
		Entry("no policy", openStackWorker{ServerGroup: &v1alpha1.OpenStackServerGroup{}},
			problem{required, "c.sites[0].openstack.serverGroup.policy"}),
		Entry("security groups", openStackWorker{AdditionalSecurityGroups: []string{"db", uuid}}),
		Entry("no name of a security group", openStackWorker{AdditionalSecurityGroups: []string{"db", ""}},
			problem{required, "c.sites[0].openstack.additionalSecurityGroups[1]"}),
		Entry("security group twice", openStackWorker{AdditionalSecurityGroups: []string{"db", "db"}},
			problem{duplicate, "c.sites[0].openstack.additionalSecurityGroups[1]"}),
		Entry("machine labels",
			openStackWorker{MachineLabels: []machineLabel{{Name: "kubernetes.io-role_a:b c", Value: "/,;"},
				{Name: strings.Repeat("a", 255), Value: strings.Repeat("a", 255)}}}),
		Entry("no name of a label", openStackWorker{MachineLabels: []machineLabel{{Value: "1"}}},
			problem{required, "c.sites[0].openstack.machineLabels[0].name"}),
		Entry("label twice", openStackWorker{MachineLabels: []machineLabel{{Name: "a"}, {Name: "a"}}},
			problem{duplicate, "c.sites[0].openstack.machineLabels[1].name"}),
		Entry("label that the API does not take", openStackWorker{MachineLabels: []machineLabel{{Name: "x/kubernetes.io-role-foo"}}},
			problem{invalid, "c.sites[0].openstack.machineLabels[0].name"}),
		Entry("long name of a label", openStackWorker{MachineLabels: []machineLabel{{Name: strings.Repeat("a", 256)}}},
			problem{invalid, "c.sites[0].openstack.machineLabels[0].name"}),
		Entry("long value of a label", openStackWorker{MachineLabels: []machineLabel{{Name: "a", Value: strings.Repeat("a", 256)}}},
			problem{tooLong, "c.sites[0].openstack.machineLabels[0].value"}),
		Entry("label of ours", openStackWorker{MachineLabels: []machineLabel{{Name: "gardener-shoot"}}},
			problem{forbidden, "c.sites[0].openstack.machineLabels[0].name"}),
	)

	ssd := &v1alpha1.OpenStackVolumeType{Type: "ssd"}
	DescribeTable("data volumes",
		func(volumes []dataVolume, problems ...problem) {
			validate(&v1alpha1.WorkerConfig{DataVolumes: volumes}, problems)
		},
		Entry("of the pool", []dataVolume{{Name: "logs", Sites: []dataVolumeSite{{Name: "cloud", OpenStack: ssd}}}, {Name: "db"}}),
		Entry("none of the pool's", []dataVolume{{Name: "tmp"}}, problem{notSupported, "c.dataVolumes[0].name"}),
		Entry("twice", []dataVolume{{Name: "db"}, {Name: "db"}}, problem{duplicate, "c.dataVolumes[1].name"}),
		Entry("on a site that the pool does not use", []dataVolume{{Name: "db", Sites: []dataVolumeSite{{Name: "far", OpenStack: ssd}}}},
			problem{notSupported, "c.dataVolumes[0].sites[0].name"}),
		Entry("on a site twice",
			[]dataVolume{{Name: "db", Sites: []dataVolumeSite{{Name: "cloud", OpenStack: ssd}, {Name: "cloud", OpenStack: ssd}}}}, problem{duplicate,
				"c.dataVolumes[0].sites[1].name"}),
		Entry("without a block", []dataVolume{{Name: "db", Sites: []dataVolumeSite{{Name: "cloud"}}}},
			problem{required, "c.dataVolumes[0].sites[0].openstack"}),
		Entry("without a type", []dataVolume{{Name: "db", Sites: []dataVolumeSite{{Name: "cloud", OpenStack: &v1alpha1.OpenStackVolumeType{}}}}},
			problem{required, "c.dataVolumes[0].sites[0].openstack.type"}),
		Entry("on a metal site", []dataVolume{{Name: "db", Sites: []dataVolumeSite{{Name: "racks", OpenStack: ssd}}}},
			problem{forbidden, "c.dataVolumes[0].sites[0]"}),
		Entry("with a block of another platform",
			[]dataVolume{{Name: "db",
				Sites: []dataVolumeSite{{Name: "cloud", OpenStack: ssd, VSphere: &v1alpha1.VSphereVolumeType{StoragePolicy: "a"}}}}},
			problem{forbidden, "c.dataVolumes[0].sites[0].vsphere"}),
	)
})

var _ = Describe("WorkerValidator#ValidateUpdate", func() {
	encode := func(config *v1alpha1.WorkerConfig) *runtime.RawExtension {
		raw, err := codec.Encode(config)
		Expect(err).NotTo(HaveOccurred())
		return raw
	}
	group := func(policy string) *v1alpha1.WorkerConfig {
		return &v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "cloud",
			OpenStack: &openStackWorker{ServerGroup: &v1alpha1.OpenStackServerGroup{Policy: policy}}}}}
	}

	DescribeTable("pools that are updated in place",
		func(change func(*worker), problems ...problem) {
			before := newWorker()
			before.DataVolumes = []gardencorev1beta1.DataVolume{{Name: "logs", VolumeSize: "10Gi"}}
			before.ProviderConfig = encode(group("affinity"))
			after := before.DeepCopy()
			change(after)
			v := NewWorkerValidator(newSpec(), newProfile(), newStretched())
			Expect(v.ValidateUpdate([]worker{*before}, []worker{*after}, field.NewPath("w"))).To(BeEmpty(), "rolling updates")

			before.UpdateStrategy, after.UpdateStrategy = new(gardencorev1beta1.ManualInPlaceUpdate), new(gardencorev1beta1.ManualInPlaceUpdate)
			Expect(v.ValidateUpdate([]worker{*before}, []worker{*after}, field.NewPath("w"))).To(haveProblems(problems))
			Expect(v.ValidateUpdate(nil, []worker{*after}, field.NewPath("w"))).To(BeEmpty(), "new pools")
		},
		Entry("the same", func(*worker) {}),
		Entry("numbers", func(w *worker) { w.Maximum = 20 }),
		Entry("data volumes", func(w *worker) { w.DataVolumes[0].VolumeSize = "20Gi" }, problem{invalid, "w[0].dataVolumes"}),
		Entry("types of data volumes", func(w *worker) {
			config := group("affinity")
			config.DataVolumes = []dataVolume{{Name: "logs", Sites: []dataVolumeSite{{Name: "cloud"}}}}
			w.ProviderConfig = encode(config)
		}, problem{invalid, "w[0].providerConfig.dataVolumes"}),
		Entry("policy", func(w *worker) { w.ProviderConfig = encode(group("anti-affinity")) },
			problem{invalid, "w[0].providerConfig.sites[0].openstack.serverGroup"}),
		Entry("server group removed", func(w *worker) {
			w.ProviderConfig = encode(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "cloud"}}})
		}, problem{invalid, "w[0].providerConfig.sites[0].openstack.serverGroup"}),
		Entry("configuration of the site removed", func(w *worker) {
			w.ProviderConfig = encode(&v1alpha1.WorkerConfig{})
		}, problem{invalid, "w[0].providerConfig.sites"}),
		Entry("all configuration removed", func(w *worker) { w.ProviderConfig = nil }, problem{invalid, "w[0].providerConfig.sites"}),
		Entry("site removed, with all machines there", func(w *worker) { w.ProviderConfig, w.Zones = nil, []string{"rack-1"} }),
		Entry("security groups", func(w *worker) {
			config := group("affinity")
			config.Sites[0].OpenStack.AdditionalSecurityGroups = []string{"db"}
			w.ProviderConfig = encode(config)
		}),
	)

	It("lets a pool that is updated in place begin with a server group on a site that is new to it", func() {
		before, after := newWorker(), newWorker()
		before.UpdateStrategy, after.UpdateStrategy = new(gardencorev1beta1.ManualInPlaceUpdate), new(gardencorev1beta1.ManualInPlaceUpdate)
		before.Zones, after.ProviderConfig = []string{"rack-1"}, encode(group("affinity"))
		v := NewWorkerValidator(newSpec(), newProfile(), newStretched())
		Expect(v.ValidateUpdate([]worker{*before}, []worker{*after}, field.NewPath("w"))).To(BeEmpty())
	})
})
