// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

// toy are the rules of the toy platform.
type toy struct{ noRules }

func (toy) credentials() [][]string { return [][]string{{"badge"}} }

func (toy) noVolumes() string { return "does not support volumes: its machines are in memory" }

func (toy) access(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	profile := toyapi.Of[toyapi.Profile](site.Blocks)
	if profile == nil {
		return nil
	}
	return validateURL(profile.Address, []string{"https"}, fldPath.Child("toy", "address"))
}

func (toy) zone(zone *v1alpha1.SiteZone, _ *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	block := toyapi.Of[toyapi.Zone](zone.Blocks)
	if block == nil {
		return nil
	}
	return validateRequired(block.Shelf, fldPath.Child("toy", "shelf"))
}

func (toy) storageClass(class *v1alpha1.StorageClass, fldPath *field.Path) field.ErrorList {
	block := toyapi.Of[toyapi.StorageClass](class.Blocks)
	if block == nil {
		return nil
	}
	return validateOneOf(block.Medium, []string{toyapi.MediumMemory, toyapi.MediumPaper}, fldPath.Child("toy", "medium"))
}

func (toy) image(image *v1alpha1.SiteMachineImage, _ *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	block := toyapi.Of[toyapi.Image](image.Blocks)
	if block == nil {
		return nil
	}
	return validateURL(block.URL, []string{"https"}, fldPath.Child("toy", "url"))
}

func (toy) infrastructureUpdate(newSite, oldSite *v1alpha1.InfrastructureSite, fldPath *field.Path) field.ErrorList {
	after, before := toyapi.Of[toyapi.Infrastructure](newSite.Blocks), toyapi.Of[toyapi.Infrastructure](oldSite.Blocks)
	if after == nil || before == nil || after.Colour == before.Colour {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath.Child("toy", "colour"), after.Colour, "must stay the same")}
}

func (toy) worker(config *v1alpha1.WorkerSite, _ *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	block := toyapi.Of[toyapi.Worker](config.Blocks)
	if block == nil || block.Group == "" {
		return nil
	}
	return validateOneOf(block.Group, []string{toyapi.GroupTogether, toyapi.GroupApart}, fldPath.Child("toy", "group"))
}

const toyProfile = `
apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
kind: CloudProfileConfig
sites:
- name: desk
  region: west
  toy: {address: https://toys.example.com}
  storageClasses:
  - {name: boxes, toy: {}}
  zones:
  - {name: desk-1, toy: {shelf: top}}
- name: racks
  region: west
  metal: {inventory: Metal3, server: https://metal.example.com, namespace: hosts}
  zones:
  - {name: rack-1, metal: {}}
machineTypes:
- name: std
  sites:
  - {name: desk, toy: {model: car}}
  - {name: racks, metal: {}}
machineImages:
- name: linux
  versions:
  - version: 1.0.0
    capabilityFlavors:
    - capabilities: {architecture: [amd64]}
      sites:
      - {name: desk, toy: {url: https://images.example.com/linux}}
      - {name: racks, metal: {url: https://images.example.com/linux, checksum: abc}}
`

const toyInfrastructure = `
apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
kind: InfrastructureConfig
networks: {topology: Routed}
sites:
- {name: desk, nodes: [10.250.0.0/24], toy: {colour: red}}
- {name: racks, nodes: [10.250.1.0/24]}
`

const toyWorker = `
apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
kind: WorkerConfig
sites:
- {name: desk, toy: {group: Apart}}
- {name: racks}
`

var _ = Describe("A platform that is in the table", func() {
	BeforeEach(func() {
		before, order := maps.Clone(platforms), allPlatforms
		DeferCleanup(func() { platforms, allPlatforms = before, order })
		platforms = maps.Clone(platforms)
		platforms[toyapi.Platform] = toy{}
		allPlatforms = append(slices.Clone(allPlatforms), toyapi.Platform)
		DeferCleanup(toyapi.Install())
	})

	amd64 := gardencorev1beta1.Capabilities{"architecture": {"amd64"}}
	spec := &gardencorev1beta1.CloudProfileSpec{
		MachineCapabilities: []gardencorev1beta1.CapabilityDefinition{{Name: "architecture", Values: []string{"amd64"}}},
		MachineTypes:        []gardencorev1beta1.MachineType{{Name: "std", Capabilities: amd64}},
		VolumeTypes:         []gardencorev1beta1.VolumeType{},
		MachineImages: []gardencorev1beta1.MachineImage{{Name: "linux", Versions: []gardencorev1beta1.MachineImageVersion{{
			ExpirableVersion:  gardencorev1beta1.ExpirableVersion{Version: "1.0.0"},
			CapabilityFlavors: []gardencorev1beta1.MachineImageFlavor{{Capabilities: amd64}},
		}}}},
		Regions: []gardencorev1beta1.Region{{Name: "west", Zones: []gardencorev1beta1.AvailabilityZone{{Name: "desk-1"}, {Name: "rack-1"}}}},
	}
	found := func(errs field.ErrorList) []string {
		result := make([]string, 0, len(errs))
		for _, err := range errs {
			result = append(result, string(err.Type)+" "+err.Field)
		}
		return result
	}

	DescribeTable("has its rules for CloudProfiles", func(old, changed string, problems ...string) {
		Expect(toyProfile).To(ContainSubstring(old))
		config, err := codec.DecodeBytes[v1alpha1.CloudProfileConfig]([]byte(strings.Replace(toyProfile, old, changed, 1)))
		Expect(err).NotTo(HaveOccurred())
		Expect(found(ValidateCloudProfileConfig(config, spec, field.NewPath("c")))).To(ConsistOf(problems))
	},
		Entry("nothing wrong", "", ""),
		Entry("address", "https://toys", "ftp://toys", "FieldValueInvalid c.sites[0].toy.address"),
		Entry("zone", "{shelf: top}", `{shelf: ""}`, "FieldValueRequired c.sites[0].zones[0].toy.shelf"),
		Entry("zone of another platform", "toy: {shelf: top}", "metal: {}",
			"FieldValueForbidden c.sites[0].zones[0].metal", "FieldValueRequired c.sites[0].zones[0].toy"),
		Entry("zone of the platform on a site of another", "{name: rack-1, metal: {}}", "{name: rack-1, toy: {shelf: top}}",
			"FieldValueForbidden c.sites[1].zones[0].toy"),
		Entry("storage class", "toy: {}", "toy: {medium: Stone}", "FieldValueNotSupported c.sites[0].storageClasses[0].toy.medium"),
		Entry("image", "toy: {url: https:", "toy: {url: ftp:",
			"FieldValueInvalid c.machineImages[0].versions[0].capabilityFlavors[0].sites[0].toy.url"),
		Entry("two platforms", "  toy: {address: https://toys.example.com}",
			"  toy: {address: https://toys.example.com}\n  metal: {inventory: Metal3, server: https://metal.example.com, namespace: hosts}",
			"FieldValueForbidden c.sites[0].toy"),
		Entry("no platform", "  toy: {address: https://toys.example.com}\n", "", "FieldValueRequired c.sites[0]"),
	)

	DescribeTable("has its rules for Shoots", func(infrastructure, worker string, problems ...string) {
		profile, err := codec.DecodeBytes[v1alpha1.CloudProfileConfig]([]byte(toyProfile))
		Expect(err).NotTo(HaveOccurred())
		before, err := codec.DecodeBytes[v1alpha1.InfrastructureConfig]([]byte(toyInfrastructure))
		Expect(err).NotTo(HaveOccurred())
		config, err := codec.DecodeBytes[v1alpha1.InfrastructureConfig]([]byte(infrastructure))
		Expect(err).NotTo(HaveOccurred())
		pool, err := codec.DecodeBytes[v1alpha1.WorkerConfig]([]byte(worker))
		Expect(err).NotTo(HaveOccurred())

		errs := ValidateInfrastructureConfig(config, profile, nil, "west", field.NewPath("i"))
		errs = append(errs, ValidateInfrastructureConfigUpdate(before, config, nil, field.NewPath("i"))...)
		errs = append(errs, ValidateWorkerConfig(pool, &gardencorev1beta1.Worker{Name: "a", Zones: []string{"desk-1", "rack-1"}}, profile,
			[]string{"desk", "racks"}, field.NewPath("w"))...)
		Expect(found(errs)).To(ConsistOf(problems))
	},
		Entry("nothing wrong", toyInfrastructure, toyWorker),
		Entry("change", strings.Replace(toyInfrastructure, "red", "blue", 1), toyWorker, "FieldValueInvalid i.sites[0].toy.colour"),
		Entry("block on a site of another platform",
			strings.Replace(toyInfrastructure, "[10.250.1.0/24]", "[10.250.1.0/24], toy: {}", 1), toyWorker,
			"FieldValueForbidden i.sites[1].toy"),
		Entry("pool", toyInfrastructure, strings.Replace(toyWorker, "Apart", "Alone", 1), "FieldValueNotSupported w.sites[0].toy.group"),
		Entry("pool on a site of another platform", toyInfrastructure, strings.Replace(toyWorker, "{name: racks}", "{name: racks, toy: {}}", 1),
			"FieldValueForbidden w.sites[1].toy"),
	)

	It("has its credentials and its reason for having no volumes", func() {
		data := map[string][]byte{"desk.badge": []byte("t0p-s3cret")}
		platform, ok := PlatformOfCredentials(data, "desk")
		Expect(ok).To(BeTrue())
		Expect(platform).To(Equal(toyapi.Platform))
		sites := []SiteCredentials{{Site: "desk", Platform: toyapi.Platform}}
		Expect(ValidateCredentials(data, sites, nil)).To(BeEmpty())
		Expect(found(ValidateCredentials(map[string][]byte{"desk.token": []byte("t")}, sites, field.NewPath("data")))).To(ConsistOf(
			"FieldValueNotSupported data[desk.token]", "FieldValueRequired data[desk.badge]"))
		Expect(NoVolumes(&v1alpha1.CloudProfileSite{Name: "desk", Blocks: toyapi.Blocks(&toyapi.Profile{})})).To(
			Equal(`site "desk" does not support volumes: its machines are in memory`))
	})

	It("tells where its objects are, so that they are not lost", func() {
		profile := func(place string) *v1alpha1.CloudProfileConfig {
			config, err := codec.DecodeBytes[v1alpha1.CloudProfileConfig](
				[]byte(strings.Replace(toyProfile, "toys.example.com}", "toys.example.com, place: "+place+"}", 1)))
			Expect(err).NotTo(HaveOccurred())
			return config
		}
		uses := []ProfileUse{{Shoot: "garden-dev/a", Region: "west", Sites: []string{"desk"}}}
		Expect(ValidateCloudProfileConfigUpdate(profile("floor"), profile("floor"), uses, nil)).To(BeEmpty())
		Expect(found(ValidateCloudProfileConfigUpdate(profile("attic"), profile("floor"), uses, field.NewPath("c")))).To(ConsistOf(
			"FieldValueForbidden c.sites[0].toy.place"))
	})
})

var _ = Describe("A platform that is not in the table", func() {
	It("has an unknown field", func() {
		_, err := codec.DecodeBytes[v1alpha1.CloudProfileConfig]([]byte(toyProfile))
		Expect(err).To(MatchError(And(
			ContainSubstring(`unknown field "sites[0].toy"`), ContainSubstring(`unknown field "sites[0].zones[0].toy"`))))
	})
})
