// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package helper_test

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Names", func() {
	DescribeTable("#MachineDeploymentName",
		func(zone, expected string) {
			Expect(MachineDeploymentName("shoot--local--hybrid", "mixed", zone)).To(Equal(expected))
		},
		Entry("cloud-a", "cloud-a", "shoot--local--hybrid-mixed-z71e"),
		Entry("cloud-b", "cloud-b", "shoot--local--hybrid-mixed-zf8a"),
		Entry("no zone", "", "shoot--local--hybrid-mixed-ze3b"),
	)
})

var _ = Describe("CloudProfileConfig", func() {
	config := &v1alpha1.CloudProfileConfig{
		Sites: []v1alpha1.CloudProfileSite{
			{Name: "east", Region: "east", Zones: []v1alpha1.SiteZone{{Name: "a"}}},
			{Name: "west", Region: "west", Zones: []v1alpha1.SiteZone{{Name: "b"}, {Name: "a"}}},
		},
		MachineTypes: []v1alpha1.MachineType{
			{Name: "small",
				Sites: []v1alpha1.SiteMachineType{{Name: "east"}, {Name: "west", OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.small"}}}},
		},
		VolumeTypes: []v1alpha1.VolumeType{
			{Name: "fast", Sites: []v1alpha1.SiteVolumeType{{Name: "west", OpenStack: &v1alpha1.OpenStackVolumeType{Type: "ssd"}}}},
		},
	}

	It("finds sites", func() {
		Expect(FindSite(config, "west")).To(BeIdenticalTo(&config.Sites[1]))
		Expect(FindSite(config, "north")).To(BeNil())
		Expect(FindSite(nil, "west")).To(BeNil())
	})

	DescribeTable("the maximum of machines is the smaller one of those of the operator and the owner",
		func(operator, owner, expected *int32) {
			profile, config := &v1alpha1.CloudProfileSite{MaximumMachines: operator}, &v1alpha1.InfrastructureSite{MaximumMachines: owner}
			Expect(MaximumMachines(profile, config)).To(Equal(expected))
		},
		Entry("none", nil, nil, nil),
		Entry("of the operator", new(int32(1)), nil, new(int32(1))),
		Entry("of the owner", nil, new(int32(0)), new(int32(0))),
		Entry("smaller of the owner", new(int32(2)), new(int32(1)), new(int32(1))),
		Entry("greater of the owner", new(int32(2)), new(int32(3)), new(int32(2))),
	)

	It("has no maximum of machines for sites that are not known", func() {
		Expect(MaximumMachines(nil, nil)).To(BeNil())
		Expect(MaximumMachines(nil, &v1alpha1.InfrastructureSite{MaximumMachines: new(int32(3))})).To(HaveValue(BeEquivalentTo(3)))
		Expect(MaximumMachines(&v1alpha1.CloudProfileSite{MaximumMachines: new(int32(3))}, nil)).To(HaveValue(BeEquivalentTo(3)))
	})

	It("finds zones of a region", func() {
		site, zone := FindZone(config, "west", "a")
		Expect(site).To(BeIdenticalTo(&config.Sites[1]))
		Expect(zone).To(BeIdenticalTo(&config.Sites[1].Zones[1]))

		for _, name := range []string{"b", ""} {
			site, zone = FindZone(config, "east", name)
			Expect(site).To(BeNil())
			Expect(zone).To(BeNil())
		}
		site, zone = FindZone(nil, "east", "a")
		Expect(site).To(BeNil())
		Expect(zone).To(BeNil())
	})

	It("finds machine types and volume types", func() {
		Expect(FindMachineType(config, "small", "west").OpenStack.Flavor).To(Equal("m1.small"))
		Expect(FindMachineType(config, "small", "north")).To(BeNil())
		Expect(FindMachineType(config, "large", "west")).To(BeNil())
		Expect(FindMachineType(nil, "small", "west")).To(BeNil())

		Expect(FindVolumeType(config, "fast", "west").OpenStack.Type).To(Equal("ssd"))
		Expect(FindVolumeType(config, "fast", "east")).To(BeNil())
		Expect(FindVolumeType(config, "slow", "west")).To(BeNil())
		Expect(FindVolumeType(nil, "fast", "west")).To(BeNil())
	})
})

var _ = Describe("Machine images", func() {
	var (
		definitions = []gardencorev1beta1.CapabilityDefinition{
			{Name: "architecture", Values: []string{"amd64", "arm64"}},
			{Name: "boot", Values: []string{"uefi", "bios"}},
		}
		amd64 = map[string][]string{"architecture": {"amd64"}}
		arm64 = map[string][]string{"architecture": {"arm64"}}
	)

	DescribeTable("#CapabilitiesFit",
		func(image map[string][]string, machine gardencorev1beta1.Capabilities, expected bool) {
			Expect(CapabilitiesFit(image, machine, definitions)).To(Equal(expected))
		},
		Entry("nothing said", nil, nil, true),
		Entry("same", amd64, gardencorev1beta1.Capabilities{"architecture": {"amd64"}}, true),
		Entry("one value in common", map[string][]string{"architecture": {"amd64", "arm64"}},
			gardencorev1beta1.Capabilities{"architecture": {"arm64"}}, true),
		Entry("none in common", amd64, gardencorev1beta1.Capabilities{"architecture": {"arm64"}}, false),
		Entry("machine says nothing", amd64, gardencorev1beta1.Capabilities{}, true),
		Entry("image has the default", amd64, gardencorev1beta1.Capabilities{"architecture": {"amd64"}, "boot": {"bios"}}, true),
		Entry("value is no default", amd64, gardencorev1beta1.Capabilities{"boot": {"network"}}, false),
		Entry("second capability differs", map[string][]string{"boot": {"bios"}},
			gardencorev1beta1.Capabilities{"architecture": {"amd64"}, "boot": {"uefi"}}, false),
		Entry("not defined", amd64, gardencorev1beta1.Capabilities{"color": {"red"}}, true),
	)

	site := func(name, id string) v1alpha1.SiteMachineImage {
		return v1alpha1.SiteMachineImage{Name: name, OpenStack: &v1alpha1.OpenStackImage{ImageID: id}}
	}
	image := func(version string, flavors ...v1alpha1.MachineImageFlavor) []v1alpha1.MachineImage {
		return []v1alpha1.MachineImage{{Name: "gardenlinux",
			Versions: []v1alpha1.MachineImageVersion{{Version: version, CapabilityFlavors: flavors}}}}
	}
	current := image("2",
		v1alpha1.MachineImageFlavor{Capabilities: map[string][]string{"architecture": {"amd64"}, "boot": {"bios"}},
			Sites: []v1alpha1.SiteMachineImage{site("cloud", "amd64-bios")}},
		v1alpha1.MachineImageFlavor{Capabilities: map[string][]string{"architecture": {"amd64"}, "boot": {"uefi"}},
			Sites: []v1alpha1.SiteMachineImage{site("cloud", "amd64-uefi")}},
		v1alpha1.MachineImageFlavor{Capabilities: arm64, Sites: []v1alpha1.SiteMachineImage{site("cloud", "arm64"), site("cloud2", "arm64-2")}},
	)
	dropped := image("1", v1alpha1.MachineImageFlavor{Capabilities: amd64, Sites: []v1alpha1.SiteMachineImage{site("cloud", "old")}})

	DescribeTable("#FindMachineImage",
		func(version, site string, capabilities gardencorev1beta1.Capabilities, expected string) {
			found := FindMachineImage(MachineImageRequest{Name: "gardenlinux", Version: version, Site: site, Capabilities: capabilities,
				Definitions: definitions}, current, dropped)
			if expected == "" {
				Expect(found).To(BeNil())
				return
			}
			Expect(found).NotTo(BeNil())
			Expect(found.Site.OpenStack.ImageID).To(Equal(expected))
		},
		Entry("the preferred of two", "2", "cloud", gardencorev1beta1.Capabilities{"architecture": {"amd64"}}, "amd64-uefi"),
		Entry("the only one that fits", "2", "cloud", gardencorev1beta1.Capabilities{"architecture": {"amd64"}, "boot": {"bios"}}, "amd64-bios"),
		Entry("another architecture", "2", "cloud", gardencorev1beta1.Capabilities{"architecture": {"arm64"}}, "arm64"),
		Entry("another site", "2", "cloud2", gardencorev1beta1.Capabilities{"architecture": {"arm64"}}, "arm64-2"),
		Entry("what the site does not have", "2", "cloud2", gardencorev1beta1.Capabilities{"architecture": {"amd64"}}, ""),
		Entry("unknown site", "2", "cloud3", nil, ""),
		Entry("what the CloudProfile dropped", "1", "cloud", gardencorev1beta1.Capabilities{"architecture": {"amd64"}}, "old"),
		Entry("unknown version", "3", "cloud", nil, ""),
	)

	It("finds nothing for other names and without sources", func() {
		Expect(FindMachineImage(MachineImageRequest{Name: "flatcar", Version: "2", Site: "cloud"}, current)).To(BeNil())
		Expect(FindMachineImage(MachineImageRequest{Name: "gardenlinux", Version: "2", Site: "cloud"})).To(BeNil())
	})

	It("adds images so that they are found again", func() {
		added := AddMachineImage(nil, "gardenlinux", "1", MachineImage{Capabilities: amd64, Site: new(site("cloud", "a"))})
		added = AddMachineImage(added, "gardenlinux", "1", MachineImage{Capabilities: amd64, Site: new(site("cloud2", "b"))})
		before := AddMachineImage(added, "gardenlinux", "1", MachineImage{Capabilities: arm64, Site: new(site("cloud", "c"))})
		after := AddMachineImage(before, "gardenlinux", "1", MachineImage{Capabilities: amd64, Site: new(site("cloud", "d"))})

		Expect(before[0].Versions[0].CapabilityFlavors[0].Sites[0].OpenStack.ImageID).To(Equal("a"))
		Expect(after).To(Equal(image("1",
			v1alpha1.MachineImageFlavor{Capabilities: amd64, Sites: []v1alpha1.SiteMachineImage{site("cloud", "d"), site("cloud2", "b")}},
			v1alpha1.MachineImageFlavor{Capabilities: arm64, Sites: []v1alpha1.SiteMachineImage{site("cloud", "c")}},
		)))
	})
})
