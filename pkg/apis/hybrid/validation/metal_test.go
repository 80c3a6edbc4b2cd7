// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("Bare-metal sites", func() {
	const (
		racks     = 2
		image     = "c.machineImages[0].versions[0].capabilityFlavors[0].sites[1]"
		reference = "registry.example.com:5000/os/gardenlinux:1877.3.0"
	)
	var (
		metal3   = func(*v1alpha1.MetalProfile) {}
		ironCore = func(p *v1alpha1.MetalProfile) { p.Inventory = v1alpha1.MetalInventoryIronCore }
		static   = func(p *v1alpha1.MetalProfile) { p.Inventory = v1alpha1.MetalInventoryStatic }
		debian   = &v1alpha1.MetalOSRelease{ID: "debian", VersionID: "12"}
		inCloud  = func(change func(*profile), problems []problem) {
			GinkgoHelper()
			p := newProfile()
			change(p)
			Expect(ValidateCloudProfileConfig(p, newSpec(), field.NewPath("c"))).To(haveProblems(problems))
		}
	)

	DescribeTable("images",
		func(inventory func(*v1alpha1.MetalProfile), metal v1alpha1.MetalImage, format v1alpha1.UserDataFormat, problems ...problem) {
			inCloud(func(p *profile) {
				inventory(p.Sites[racks].Metal)
				p.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[1] = v1alpha1.SiteMachineImage{Name: "racks",
					UserData: &v1alpha1.UserData{Format: format}, Metal: &metal}
				v1alpha1.SetCloudProfileConfigDefaults(p)
			}, problems)
		},
		Entry("address and checksum", metal3, v1alpha1.MetalImage{URL: "http://images/a.raw", Checksum: "abc"}, v1alpha1.UserDataFormatCloudInit),
		Entry("Ignition", metal3, v1alpha1.MetalImage{URL: "http://images/a.raw", Checksum: "abc"}, v1alpha1.UserDataFormatIgnition),
		Entry("no checksum", metal3, v1alpha1.MetalImage{URL: "http://images/a.raw"}, v1alpha1.UserDataFormatCloudInit,
			problem{required, image + ".metal.checksum"}),
		Entry("no checksum of what is booted", metal3, v1alpha1.MetalImage{URL: "http://images/a.iso", Format: "live-iso"},
			v1alpha1.UserDataFormatCloudInit),
		Entry("no checksum of an OCI image", metal3, v1alpha1.MetalImage{URL: "oci://registry/a:1"}, v1alpha1.UserDataFormatCloudInit),
		Entry("unknown words", metal3, v1alpha1.MetalImage{URL: "ftp://images", Checksum: "abc", ChecksumType: "crc", Format: "iso"},
			v1alpha1.UserDataFormatCloudInit,
			problem{invalid, image + ".metal.url"}, problem{notSupported, image + ".metal.checksumType"}, problem{notSupported,
				image + ".metal.format"}),
		Entry("no address", metal3, v1alpha1.MetalImage{Checksum: "abc"}, v1alpha1.UserDataFormatCloudInit,
			problem{required, image + ".metal.url"}),
		Entry("reference", ironCore, v1alpha1.MetalImage{URL: reference}, v1alpha1.UserDataFormatIgnition),
		Entry("reference with a scheme", ironCore, v1alpha1.MetalImage{URL: "oci://" + reference}, v1alpha1.UserDataFormatIgnition),
		Entry("reference with a digest", ironCore, v1alpha1.MetalImage{URL: "ghcr.io/os/linux_a-b@sha256:" + strings.Repeat("0a", 32)},
			v1alpha1.UserDataFormatIgnition),
		Entry("an address as reference", ironCore, v1alpha1.MetalImage{URL: "https://images/a.raw"}, v1alpha1.UserDataFormatIgnition,
			problem{invalid, image + ".metal.url"}),
		Entry("a reference without registry", ironCore, v1alpha1.MetalImage{URL: "linux:1"}, v1alpha1.UserDataFormatIgnition,
			problem{invalid, image + ".metal.url"}),
		Entry("no reference", ironCore, v1alpha1.MetalImage{}, v1alpha1.UserDataFormatIgnition, problem{required, image + ".metal.url"}),
		Entry("a checksum for IronCore", ironCore, v1alpha1.MetalImage{URL: reference, Checksum: "abc"}, v1alpha1.UserDataFormatIgnition,
			problem{forbidden, image + ".metal.checksum"}),
		Entry("cloud-init for IronCore", ironCore, v1alpha1.MetalImage{URL: reference}, v1alpha1.UserDataFormatCloudInit,
			problem{required, image + ".userData.format"}),
		Entry("an operating system for Metal3", metal3, v1alpha1.MetalImage{OSRelease: debian}, v1alpha1.UserDataFormatCloudInit,
			problem{forbidden, image + ".metal.osRelease"}),
		Entry("an operating system", static, v1alpha1.MetalImage{OSRelease: debian}, v1alpha1.UserDataFormatScript),
		Entry("no operating system", static, v1alpha1.MetalImage{}, v1alpha1.UserDataFormatScript,
			problem{required, image + ".metal.osRelease"}),
		Entry("half an operating system", static, v1alpha1.MetalImage{OSRelease: &v1alpha1.MetalOSRelease{ID: "Debian 12"}},
			v1alpha1.UserDataFormatScript, problem{invalid, image + ".metal.osRelease.id"}, problem{required, image + ".metal.osRelease.versionID"}),
		Entry("an image that nothing writes", static, v1alpha1.MetalImage{OSRelease: debian, URL: "http://images/a.raw", Checksum: "abc",
			ChecksumType: "md5", Format: "raw"}, v1alpha1.UserDataFormatScript, problem{forbidden, image + ".metal.url"},
			problem{forbidden, image + ".metal.checksum"}, problem{forbidden, image + ".metal.checksumType"},
			problem{forbidden, image + ".metal.format"}),
		Entry("cloud-init that nothing reads", static, v1alpha1.MetalImage{OSRelease: debian}, v1alpha1.UserDataFormatCloudInit,
			problem{required, image + ".userData.format"}),
		Entry("Ignition that nothing reads", static, v1alpha1.MetalImage{OSRelease: debian}, v1alpha1.UserDataFormatIgnition,
			problem{required, image + ".userData.format"}),
	)

	DescribeTable("cleaning of own hosts", func(cleaning string, problems ...problem) {
		inCloud(func(p *profile) {
			static(p.Sites[racks].Metal)
			p.Sites[racks].Metal.Cleaning = cleaning
			p.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[1] = v1alpha1.SiteMachineImage{Name: "racks",
				UserData: &v1alpha1.UserData{Format: v1alpha1.UserDataFormatScript}, Metal: &v1alpha1.MetalImage{OSRelease: debian}}
		}, problems)
	},
		Entry("by default", v1alpha1.MetalCleaningMetadata),
		Entry("disabled", v1alpha1.MetalCleaningDisabled, problem{forbidden, "c.sites[2].metal.cleaning"}),
	)

	It("has no network configuration for own hosts", func() {
		p := newProfile()
		static(p.Sites[racks].Metal)
		config := newRouted()
		config.Sites[1].Metal = &v1alpha1.MetalInfrastructure{NetworkDataTemplate: "$ADDRESS", IPAM: &v1alpha1.IPAM{}}
		Expect(ValidateInfrastructureConfig(config, p, newNetworking(), "west", field.NewPath("i"))).To(haveProblems([]problem{
			{forbidden, "i.sites[1].metal.ipam"}, {forbidden, "i.sites[1].metal.networkDataTemplate"}}))
	})

	DescribeTable("updates of the images of pools", func(inventory func(*v1alpha1.MetalProfile), change func(*worker), problems ...problem) {
		p := newProfile()
		inventory(p.Sites[racks].Metal)
		v := NewWorkerValidator(newSpec(), p, newStretched())
		before, after := newWorker(), newWorker()
		change(after)
		Expect(v.ValidateUpdate([]worker{*before}, []worker{*after}, field.NewPath("w"))).To(haveProblems(problems))
		Expect(v.ValidateUpdate(nil, []worker{*after}, field.NewPath("w"))).To(BeEmpty(), "new pools")
		for _, strategy := range []gardencorev1beta1.MachineUpdateStrategy{gardencorev1beta1.AutoInPlaceUpdate,
			gardencorev1beta1.ManualInPlaceUpdate} {
			before.UpdateStrategy, after.UpdateStrategy = &strategy, &strategy
			Expect(v.ValidateUpdate([]worker{*before}, []worker{*after}, field.NewPath("w"))).To(BeEmpty(), string(strategy))
		}
	},
		Entry("the same", static, func(w *worker) { w.Maximum++ }),
		Entry("another version", static, func(w *worker) { w.Machine.Image.Version = new("1.0.1") },
			problem{forbidden, "w[0].machine.image.version"}),
		Entry("another image", static, func(w *worker) { w.Machine.Image.Name = "debian" }, problem{forbidden, "w[0].machine.image"}),
		Entry("another version that is written", metal3, func(w *worker) { w.Machine.Image.Version = new("1.0.1") }),
		Entry("another version without hosts", static, func(w *worker) {
			w.Machine.Image.Version, w.Zones = new("1.0.1"), []string{"cloud-a"}
		}),
	)

	seconds := int64(1)
	DescribeTable("machine types and pools",
		func(inventory func(*v1alpha1.MetalProfile), selector map[string]string, tolerations []corev1.Toleration, problems ...problem) {
			hostSelector := &metav1.LabelSelector{MatchLabels: selector}
			at := func(prefix string) []problem {
				var moved []problem
				for _, p := range problems {
					moved = append(moved, problem{p.Type, prefix + p.Field})
				}
				return moved
			}
			inCloud(func(p *profile) {
				inventory(p.Sites[racks].Metal)
				site := &p.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[1]
				if p.Sites[racks].Metal.Inventory == v1alpha1.MetalInventoryIronCore {
					site.UserData.Format, site.Metal.URL, site.Metal.Checksum = v1alpha1.UserDataFormatIgnition, reference, ""
				}
				if p.Sites[racks].Metal.Inventory == v1alpha1.MetalInventoryStatic {
					site.UserData.Format, site.Metal = v1alpha1.UserDataFormatScript, &v1alpha1.MetalImage{OSRelease: debian}
				}
				p.MachineTypes[1].Sites[1].Metal = &v1alpha1.MetalMachineType{HostSelector: hostSelector, Tolerations: tolerations}
			}, at("c.machineTypes[1].sites[1].metal"))

			p := newProfile()
			inventory(p.Sites[racks].Metal)
			p.Sites[racks].Metal.PoolTolerations = tolerations
			config := &v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "racks",
				Metal: &v1alpha1.MetalWorker{HostSelector: hostSelector, Tolerations: tolerations}}}}
			Expect(ValidateWorkerConfig(config, newWorker(), p, []string{"cloud", "racks"},
				field.NewPath("w"))).To(haveProblems(at("w.sites[0].metal")))
		},
		Entry("labels", metal3, map[string]string{"rack": "r1"}, nil),
		Entry("bad labels", metal3, map[string]string{"a b": "c"}, nil, problem{invalid, ".hostSelector.matchLabels"}),
		Entry("tolerations without taints", metal3, nil, []corev1.Toleration{{Key: "a"}}, problem{forbidden, ".tolerations"}),
		Entry("tolerations", ironCore, nil,
			[]corev1.Toleration{{Key: "a", Operator: "Exists"}, {Key: "example.com/b", Operator: "Equal", Value: "1", Effect: "NoBind"},
				{Key: "c", Value: "2"}}),
		Entry("tolerations of own hosts", static, nil, []corev1.Toleration{{Key: "a", Effect: "NoBind"}}),
		Entry("no key", ironCore, nil, []corev1.Toleration{{Operator: "Exists"}}, problem{required, ".tolerations[0].key"}),
		Entry("bad key", ironCore, nil, []corev1.Toleration{{Key: "a b"}}, problem{invalid, ".tolerations[0].key"}),
		Entry("bad operator", ironCore, nil, []corev1.Toleration{{Key: "a", Operator: "Lt"}}, problem{notSupported, ".tolerations[0].operator"}),
		Entry("a value that does not count", ironCore, nil, []corev1.Toleration{{Key: "a", Operator: "Exists", Value: "1"}},
			problem{forbidden, ".tolerations[0].value"}),
		Entry("an effect of nodes", ironCore, nil, []corev1.Toleration{{Key: "a", Effect: "NoSchedule"}},
			problem{notSupported, ".tolerations[0].effect"}),
		Entry("a time", ironCore, nil, []corev1.Toleration{{Key: "a", TolerationSeconds: &seconds}},
			problem{forbidden, ".tolerations[0].tolerationSeconds"}),
	)

	DescribeTable("taints that pools may tolerate", func(allowed []corev1.Toleration, toleration corev1.Toleration, problems ...problem) {
		p := newProfile()
		ironCore(p.Sites[racks].Metal)
		p.Sites[racks].Metal.PoolTolerations = allowed
		config := &v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "racks",
			Metal: &v1alpha1.MetalWorker{Tolerations: []corev1.Toleration{toleration}}}}}
		Expect(ValidateWorkerConfig(config, newWorker(), p, []string{"cloud", "racks"}, field.NewPath("w"))).To(haveProblems(problems))
	},
		Entry("none", nil, corev1.Toleration{Key: "a"}, problem{forbidden, "w.sites[0].metal.tolerations[0]"}),
		Entry("another one", []corev1.Toleration{{Key: "b"}}, corev1.Toleration{Key: "a"}, problem{forbidden, "w.sites[0].metal.tolerations[0]"}),
		Entry("another value", []corev1.Toleration{{Key: "a", Value: "1"}}, corev1.Toleration{Key: "a", Value: "2"},
			problem{forbidden, "w.sites[0].metal.tolerations[0]"}),
		Entry("one value of all", []corev1.Toleration{{Key: "a", Value: "1"}}, corev1.Toleration{Key: "a", Operator: "Exists"},
			problem{forbidden, "w.sites[0].metal.tolerations[0]"}),
		Entry("one effect of all", []corev1.Toleration{{Key: "a", Effect: "Evict"}}, corev1.Toleration{Key: "a"},
			problem{forbidden, "w.sites[0].metal.tolerations[0]"}),
		Entry("this one", []corev1.Toleration{{Key: "b"}, {Key: "a", Value: "1"}},
			corev1.Toleration{Key: "a", Operator: "Equal", Value: "1", Effect: "NoBind"}),
		Entry("all values", []corev1.Toleration{{Key: "a", Operator: "Exists"}}, corev1.Toleration{Key: "a", Value: "1"}),
	)

	It("says in the CloudProfile what shoots may use", func() {
		inCloud(func(p *profile) {
			p.Sites[racks].Metal.PoolTolerations = []corev1.Toleration{{Key: "a"}}
			p.Sites[racks].Metal.AddressPools = []corev1.TypedLocalObjectReference{{APIGroup: new("a.b"), Kind: "A"}}
		}, []problem{{forbidden, "c.sites[2].metal.poolTolerations"}, {required, "c.sites[2].metal.addressPools[0].name"}})

		p := newProfile()
		p.Sites[racks].Metal.AddressPools = []corev1.TypedLocalObjectReference{{APIGroup: new("a.b"), Kind: "A", Name: "ours"}}
		config := newRouted()
		config.Sites[1].Metal = &v1alpha1.MetalInfrastructure{NetworkDataTemplate: "$ADDRESS",
			IPAM: &v1alpha1.IPAM{PoolRef: p.Sites[racks].Metal.AddressPools[0]}}
		Expect(ValidateInfrastructureConfig(config, p, newNetworking(), "west", field.NewPath("i"))).To(BeEmpty())
		config.Sites[1].Metal.IPAM.PoolRef.Name = "theirs"
		Expect(ValidateInfrastructureConfig(config, p, newNetworking(), "west",
			field.NewPath("i"))).To(haveProblems([]problem{{forbidden, "i.sites[1].metal.ipam.poolRef"}}))
	})

	DescribeTable("network configuration", func(pool *corev1.TypedLocalObjectReference, template string, problems ...problem) {
		config := newRouted()
		config.Sites[1].Metal = &v1alpha1.MetalInfrastructure{NetworkDataTemplate: template}
		if pool != nil {
			config.Sites[1].Metal.IPAM = &v1alpha1.IPAM{PoolRef: *pool}
		}
		Expect(ValidateInfrastructureConfig(config, newProfile(), newNetworking(), "west", field.NewPath("i"))).To(haveProblems(problems))
	},
		Entry("none", nil, ""),
		Entry("a template without a pool", nil, "[Match]\nMACAddress=$MAC\n[Network]\nDHCP=yes\nDNS=$DNS_SERVERS\n"),
		Entry("a pool", &corev1.TypedLocalObjectReference{APIGroup: new("ipam.cluster.x-k8s.io"), Kind: "InClusterIPPool", Name: "a.b"},
			"Address=${ADDRESS}/$PREFIX"),
		Entry("nothing of the pool", &corev1.TypedLocalObjectReference{}, "$ADDRESS",
			problem{required, "i.sites[1].metal.ipam.poolRef.apiGroup"}, problem{required, "i.sites[1].metal.ipam.poolRef.kind"}, problem{required,
				"i.sites[1].metal.ipam.poolRef.name"}),
		Entry("bad names of the pool", &corev1.TypedLocalObjectReference{APIGroup: new("IPAM"), Kind: "A", Name: "../a"}, "$ADDRESS",
			problem{invalid, "i.sites[1].metal.ipam.poolRef.apiGroup"}, problem{invalid, "i.sites[1].metal.ipam.poolRef.name"}),
		Entry("a pool whose addresses nobody is told", &corev1.TypedLocalObjectReference{APIGroup: new("a.b"), Kind: "A", Name: "a"}, "DHCP=yes",
			problem{required, "i.sites[1].metal.networkDataTemplate"}),
		Entry("an address without a pool", nil, "$ADDRESS", problem{required, "i.sites[1].metal.ipam"}),
		Entry("a prefix without a pool", nil, "$PREFIX", problem{required, "i.sites[1].metal.ipam"}),
		Entry("an unknown name", nil, "$IP", problem{invalid, "i.sites[1].metal.networkDataTemplate"}),
		Entry("as long as possible", nil, strings.Repeat("a", 16<<10)),
		Entry("too long", nil, strings.Repeat("a", 16<<10+1), problem{tooLong, "i.sites[1].metal.networkDataTemplate"}),
	)
})
